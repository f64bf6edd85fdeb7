"""What documents are compared with: the database of their source, another one, or their logs.

| the source | `database` | compared with | a verdict is |
| --- | --- | --- | --- |
| `postgres` | left out, or a standby | the database, at a place in its log | a proof |
| files, Kafka | named | the database | probable: a change may not be in the logs yet |
| files, Kafka | left out | the logs themselves | a proof, but of what the logs say |

Of a database as a source there is one; files and Kafka may stand beside each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

from joinery.app.logs import Logs, WhyError
from joinery.audit.applied import SpoolApplied
from joinery.audit.database import SourceDatabase
from joinery.audit.error import DiffError
from joinery.audit.log_applied import LogApplied
from joinery.audit.log_truth import LogTruth
from joinery.audit.protocol import Applied, Truth
from joinery.audit.truth import DatabaseTruth
from joinery.capture.spool import CapturePosition, SpoolFolder
from joinery.clients.kafka_reader import read_ends
from joinery.dead_letters.open import source_brokers
from joinery.delivery.query_paths import QueryPaths
from joinery.model.change import Change
from joinery.observe.frontier import Position
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.project.captured import CAPTURED, as_files, spool_of
from joinery.project.kafka import REPLAY
from joinery.project.kind import SourceSpec
from joinery.project.postgres import postgres_options, slot_of
from joinery.project.product import ProjectSpec

_DELAY_S = 5.0
_RECORDS = 1_000_000
_SUFFIX = ".jsonl"
_UNFINISHED = (".", "_")


@dataclass(frozen=True, slots=True)
class Against:
    """What documents are compared with; a context that closes it.

    Attributes:
        truth: What documents should be.
        applied: How far the product has come.
        shown: In words.
        frontier: Whether a verdict is a proof.
        close: Releases it.
    """

    truth: Truth
    applied: Applied
    shown: str
    frontier: Literal["exact", "probable"]
    close: Callable[[], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def against_of(
    spec: ProjectSpec,
    product: Product,
    url: str,
    *,
    wait_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> Against:
    """Return what a product's documents are compared with.

    Args:
        spec: The project.
        product: Whose documents.
        url: Of a database; empty for the source's own.
        wait_s: How long the run, and a standby, are given.
        pause: Waits for them.

    Raises:
        DiffError: It cannot be compared with that.
        DatabaseError: The database does not let us in.
    """
    source = captured_source(spec, product)
    if source is None and not url:
        return _logs(spec, product, wait_s, pause)
    given = url if source is None else url or postgres_options(source).url
    database = SourceDatabase(given, product.relations)
    database.open()
    try:
        if source is not None:
            applied: Applied = _captured(spec, product, source, database, wait_s, pause)
        else:
            ends = partial(_ends, spec, product)
            checkpoint = _checkpoint(spec, product)
            applied = LogApplied(ends, checkpoint, delay_s=_DELAY_S, wait_s=wait_s, pause=pause)
    except BaseException:
        database.close()
        raise
    truth = DatabaseTruth(
        product,
        database,
        max_document_bytes=spec.run.max_document_bytes,
        wait_s=wait_s,
        pause=pause,
    )
    shown = f"{len(database.tables)} tables of {database.shown}"
    frontier: Literal["exact", "probable"] = "probable" if source is None else "exact"
    return Against(truth, applied, shown, frontier, database.close)


def captured_source(spec: ProjectSpec, product: Product) -> SourceSpec | None:
    """Return the source of a product where that is a database; None for files and Kafka.

    Raises:
        DiffError: It reads a database and another source.
    """
    sources = _sources(spec, product)
    captured = next((each for each in sources.values() if each.kind == "postgres"), None)
    if captured is not None and len(sources) > 1:
        raise DiffError(
            f'product "{product.name}" cannot be compared: it reads of {" and ".join(sources)}',
            detail="No position orders a database and another source.",
        )
    return captured


def _sources(spec: ProjectSpec, product: Product) -> dict[str, SourceSpec]:
    names = {each.source for each in product.relations}
    return {each.name: each for each in spec.sources if each.name in names}


def _checkpoint(spec: ProjectSpec, product: Product) -> Place:
    return QueryPaths.of(spec.checkpoint, product.query).checkpoint


def _captured(
    spec: ProjectSpec,
    product: Product,
    source: SourceSpec,
    database: SourceDatabase,
    wait_s: float,
    pause: Callable[[float], None],
) -> Applied:
    spool = SpoolFolder(spool_of(spec, source))
    known = spool.identity
    if known is not None and known.system and (known.system, known.database) != database.identity:
        raise DiffError(
            f"{database.shown} is another database than the one whose changes {spool.path} has"
        )
    return SpoolApplied(
        source.name,
        spool,
        [each.topic for each in product.relations],
        _checkpoint(spec, product),
        log=SlotLog(database, slot_of(spec, source)),
        wait_s=wait_s,
        pause=pause,
    )


@dataclass(frozen=True, slots=True)
class SlotLog:
    """The log of a database as one slot gives it."""

    database: SourceDatabase
    slot: str

    def mark(self) -> None:
        """Write a mark."""
        self.database.mark()

    def is_silent(self, after: CapturePosition, place: int) -> bool:
        """Return whether no captured table changed between two places."""
        return self.database.is_silent(self.slot, after, place)


def _logs(
    spec: ProjectSpec, product: Product, wait_s: float, pause: Callable[[float], None]
) -> Against:
    ends = partial(_ends, spec, product)
    truth = LogTruth(
        product,
        partial(_changes, spec, product),
        ends,
        max_document_bytes=spec.run.max_document_bytes,
    )
    applied = LogApplied(ends, _checkpoint(spec, product), delay_s=0.0, wait_s=wait_s, pause=pause)
    return Against(truth, applied, "its logs", "exact", lambda: None)


def _changes(spec: ProjectSpec, product: Product) -> Sequence[Change]:
    """Return all changes of a product's logs, in their order.

    Raises:
        DiffError: The logs cannot be read, or are too long.
    """
    try:
        logs = Logs.of(spec, product, records=_RECORDS)
    except WhyError as error:
        raise DiffError(
            f'product "{product.name}" cannot be compared with its logs: {error.message}',
            hint="Name the database: --database URL.",
        ) from error
    if logs.left:
        raise DiffError(
            f"the logs of {', '.join(logs.left)} have more than {_RECORDS:,} records",
            hint="Name the database: --database URL.",
        )
    if logs.gone:
        told = "; ".join(f"{gone} of {name}" for name, gone in logs.gone.items())
        raise DiffError(
            f'product "{product.name}" cannot be compared with its logs: they no longer have all'
            " that was read",
            detail=f"They lack {told}.",
            hint=_anew(spec, product),
        )
    return logs.changes


def _anew(spec: ProjectSpec, product: Product) -> str:
    """Return what helps where logs do not have all."""
    captured = [name for name, each in _sources(spec, product).items() if each.kind in CAPTURED]
    if captured:
        return f"Run joinery source read-again {captured[0]}: the tables are read once more."
    return "Name the database: --database URL."


def _ends(spec: ProjectSpec, product: Product) -> tuple[Position, ...]:
    """Return the last record of each partition, or each file as a whole."""
    sources = _sources(spec, product)
    topics = sorted({(each.source, each.topic) for each in product.relations})
    return tuple(end for name, topic in topics for end in _ends_of(spec, sources[name], topic))


def _ends_of(spec: ProjectSpec, source: SourceSpec, topic: str) -> Iterator[Position]:
    if source.kind == "kafka":
        brokers = source_brokers(source)
        for each in (topic, f"{topic}{REPLAY}"):
            for partition, end in sorted(read_ends(brokers, each).items()):
                yield Position(source.name, each, str(partition), end - 1)
        return
    files = as_files(spec, source) if source.kind in CAPTURED else source
    folder = spec.path_of(str(dict(files.options)["path"])) / topic
    names = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else ()
    for name in names:
        if name.endswith(_SUFFIX) and not name.startswith(_UNFINISHED):
            yield Position(source.name, topic, name, None)
