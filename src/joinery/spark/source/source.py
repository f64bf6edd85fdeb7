"""What a query reads of its sources, the raw streams that come of it, and what is still to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from joinery.capture.spool import SpoolFolder
from joinery.errors import SpecError
from joinery.model.batch import BatchLimit, Bound, Counts
from joinery.model.warning import RunWarning
from joinery.place.place import Place, local
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.watermark import ordered
from joinery.project.captured import CAPTURED, as_files, spool_of
from joinery.project.kafka import is_named
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.run import RunSpec
from joinery.vault.erasure import erasures_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a source, as its relations name it.

    Attributes:
        source: The source's name.
        name: The topic, or `pattern:` and a regular expression.
    """

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class RawStream:
    """The raw records of one source.

    Attributes:
        frame: Columns topic (a number), major and minor (the place in the log), file, key,
            value, error (why the record is a dead letter, else null), name (the topic's own,
            where the number does not tell it) and logged (when the log took it, in microseconds
            since 1970, else null).
        topics: For each number, the topics it stands for, as relations name them.
        lost: By topic, the records that the log lost before they were read.
        warnings: What someone should look at.
    """

    frame: DataFrame
    topics: tuple[tuple[str, ...], ...]
    lost: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()


KINDS = ("files", "kafka", *CAPTURED)


class SourceNotThereError(SpecError):
    """A source that this version cannot read."""

    code = "RUN_SOURCE"


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A source and what a query reads of it.

    Attributes:
        relations: The names of the relations that read each topic.
        in_order: Topics of files of which one task reads a batch, since what becomes of a row
            depends on those before it.
    """

    source: SourceSpec
    relations: Mapping[str, tuple[str, ...]]
    in_order: tuple[str, ...] = ()

    def readers(self, topic: str) -> tuple[str, ...]:
        """Return the relations that read a topic, by its name or by a pattern."""
        found = [each for named, each in self.relations.items() if is_named(named, topic)]
        return tuple(name for names in found for name in names)

    def lost(self, records: Counts) -> dict[str, int]:
        """Return, by relation, what was lost by topic."""
        lost: dict[str, int] = {}
        for topic, count in records.items():
            lost |= {name: lost.get(name, 0) + count for name in self.readers(topic)}
        return lost


def sources_of(spec: ProjectSpec, products: Sequence[Product]) -> tuple[SourceRead, ...]:
    """Return the sources that a query reads, by name.

    Raises:
        SourceNotThereError: A source is not there.
    """
    relations = tuple(dict.fromkeys(each for one in products for each in one.relations))
    names = sorted({each.source for each in relations})
    by_order = [relation for each in products for relation in ordered(each.form)]
    reads = tuple(_source_read(spec, name, relations, by_order) for name in names)
    personal = [each.name for each in relations if each.personal is not None]
    return (*reads, _erasures_read(spec, personal)) if personal else reads


ERASURES = "erasures (joinery)"
"""The source of what was erased; its topics are relations."""


def _erasures_read(spec: ProjectSpec, relations: Sequence[str]) -> SourceRead:
    """Return the source of erasures, which come last and are no records of their relations."""
    folder = erasures_folder(local(spec.checkpoint, "a relation with personal columns"))
    source = SourceSpec(ERASURES, "files", (("path", str(folder)),))
    return SourceRead(source, dict.fromkeys(relations, ()))


def _source_read(
    spec: ProjectSpec, name: str, relations: Sequence[Relation], ordered: Sequence[Relation]
) -> SourceRead:
    source = next((each for each in spec.sources if each.name == name), None)
    if source is None:
        raise SourceNotThereError(
            "the project has no source", hint="Add sources: {changes: {files: {path: data}}}."
        )
    if source.kind not in KINDS:
        raise SourceNotThereError(
            f'source "{source.name}" is of kind "{source.kind}", which is not supported yet',
            hint=f"Use {' or '.join(KINDS)}.",
        )
    read: dict[str, tuple[str, ...]] = {}
    for relation in relations:
        if relation.source == name:
            read[relation.topic] = (*read.get(relation.topic, ()), relation.name)
    in_order = dict.fromkeys(each.topic for each in ordered if each.source == name)
    if source.kind in CAPTURED:
        source = _spooled(spec, source)
    return SourceRead(source, read, tuple(in_order))


def _spooled(spec: ProjectSpec, source: SourceSpec) -> SourceSpec:
    """Return the files that a database's changes are captured into, and which spool they are."""
    files, spool = as_files(spec, source), SpoolFolder(spool_of(spec, source)).identity
    return replace(files, options=(*files.options, ("spool", spool.id if spool else "")))


_SETTINGS = 1  # the second line of an entry in Spark's offset log
_PER_MS = 1000


@dataclass(frozen=True, slots=True)
class BatchLabel:
    """What a batch is called.

    Attributes:
        query_id: Of Spark's checkpoint.
        number: Of the batch.
        epoch: Of the run that holds the lease.
    """

    query_id: str
    number: int
    epoch: int


def batch_time_us(checkpoint: Place, number: int) -> int:
    """Return the time of a batch in microseconds: the same when it runs again, and its own.

    Spark logs a batch with its time in milliseconds before it runs; the batch's number fills
    the rest, so that no two batches share a time.
    """
    text = (checkpoint / "offsets" / str(number)).read_text(encoding="utf-8")
    told = json.loads(text.splitlines()[_SETTINGS])
    return int(told["batchTimestampMs"]) * _PER_MS + number % _PER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRoom:
    """What a batch of a query may count on, where the project leaves its size to us.

    Attributes:
        memory_share: Of the memory of Spark's tasks, which all queries use at once.
        most_rows: Where a batch goes through Python, which holds all of it; None sets no bound.
        most_bytes: The same.
        paced: Somebody waits for what each batch sends, so none should last long.
        rest_ms: How long a source may rest within a look of Spark's while nothing comes.
    """

    memory_share: float = 1.0
    most_rows: int | None = None
    most_bytes: int | None = None
    paced: bool = True
    rest_ms: int = 0


def batch_options(run: RunSpec, room: BatchRoom) -> dict[str, str]:
    """Return what bounds the batches of one source, as options of the kernel's sources.

    Example:
        >>> batch_options(RunSpec(max_rows_per_batch=7), BatchRoom())
        {'maxRowsPerBatch': '7'}
        >>> batch_options(RunSpec(trigger_ms=500), BatchRoom(memory_share=0.5))
        {'maxRowsPerBatch': '0', 'triggerMillis': '500', 'memoryShare': '0.5'}
    """
    bytes_ = run.max_bytes_per_batch
    if run.max_rows_per_batch is not None:
        told: dict[str, object] = {"maxRowsPerBatch": run.max_rows_per_batch or None}
    else:
        told = {
            "maxRowsPerBatch": 0,
            "triggerMillis": run.trigger_ms,
            "memoryShare": room.memory_share,
            "mostRowsPerBatch": room.most_rows,
            "paced": None if room.paced else "false",
        }
        bytes_ = min((each for each in (bytes_, room.most_bytes) if each), default=None)
    told["maxBytesPerBatch"] = bytes_
    told["restMillis"] = room.rest_ms or None
    return {name: str(value) for name, value in told.items() if value is not None}


Positions = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is still to be read.

    Attributes:
        bytes: By relation, where the source counts bytes.
        rows: By relation, where it counts records.
        lag: Records by topic and partition.
        limits: By source, how much a batch may take, where that fits the backlog.
    """

    bytes: Counts = field(default_factory=dict)
    rows: Counts = field(default_factory=dict)
    lag: Positions = field(default_factory=dict)
    limits: Mapping[str, BatchLimit] = field(default_factory=dict)

    def plus(self, other: Backlog) -> Backlog:
        """Return both as one; a relation reads one source."""
        return Backlog(
            bytes={**self.bytes, **other.bytes},
            rows={**self.rows, **other.rows},
            lag={**self.lag, **other.lag},
            limits={**self.limits, **other.limits},
        )


def limit_of(read: SourceRead, metrics: Mapping[str, str]) -> Backlog:
    """Return how much of a source a batch may take, from the source's metrics."""
    if "batch.rows" not in metrics:
        return Backlog()
    limit = BatchLimit(
        rows=int(metrics["batch.rows"]),
        bytes=int(metrics["batch.bytes"]),
        bound=cast(Bound, metrics["batch.bound"]),
    )
    return Backlog(limits={read.source.name: limit})


def files_backlog(read: SourceRead, metrics: Mapping[str, str]) -> Backlog:
    """Return the bytes that each topic of a files source still has, from its metrics."""
    left: dict[str, int] = {}
    for topic, size in remaining_bytes(metrics).items():
        left |= dict.fromkeys(read.relations.get(topic, (topic,)), size)
    return Backlog(bytes=left)


def remaining_bytes(metrics: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes that each topic still has to read, from the source's metrics.

    Example:
        >>> remaining_bytes({"user.bytes": "70", "user.bytesRead": "50", "user.files": "2"})
        {'user': 20}
    """
    read = {
        name.removesuffix(".bytesRead"): int(value)
        for name, value in metrics.items()
        if name.endswith(".bytesRead")
    }
    # In real time more is read than complete files have.
    known = {topic: int(metrics.get(f"{topic}.bytes", size)) for topic, size in read.items()}
    return {topic: max(0, known[topic] - size) for topic, size in read.items()}


def kafka_backlog(read: SourceRead, end: str | None, latest: str | None) -> Backlog:
    """Return the records that each partition of a Kafka source still has.

    Args:
        read: The source, and what is read of it.
        end: Where the batch ended, as Spark writes it: by topic and partition.
        latest: The ends of the topics, likewise.
    """
    ends, found = positions(end), positions(latest)
    lag = {
        topic: {each: max(0, to - ends.get(topic, {}).get(each, 0)) for each, to in parts.items()}
        for topic, parts in found.items()
    }
    rows: dict[str, int] = {}
    for relation in (each for every in read.relations.values() for each in every):
        rows[relation] = 0
    for topic, parts in lag.items():
        for relation in read.readers(topic):
            rows[relation] += sum(parts.values())
    return Backlog(rows=rows, lag=lag)


def positions(told: str | None) -> Positions:
    """Return offsets by topic and partition from Spark's text of them.

    Example:
        >>> positions('{"user":{"0":7}}')
        {'user': {'0': 7}}
    """
    try:
        found = json.loads(told or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
