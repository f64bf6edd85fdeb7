"""The stores of a run's queries: opened before Spark starts, closed after it.

What a store is called stands in `joinery.store.json`, beside the checkpoint it belongs to: a
rebuild's has a name of its own, so that it is built beside the standing one.

A store-backed solution, opened, used and closed in one thread of its own.

Spark calls a query's batches from threads that come and go; a database's connection belongs
to one.

A batch through a store: changes decoded by the kernel, documents by the store's solution.

What it stages is what the kernel stages for `spark-state`: lines by product, dead letters,
counts. Invariant: a batch that runs again after its store acknowledged it stages the same.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import DataFrame

from joinery.delivery.held_row import told_line
from joinery.files import write_whole
from joinery.model.progress import Waiting
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.semantics.document import text_hash
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.spark_state.fingerprint import SPARK_STATE
from joinery.solutions.stored.groups import key_text
from joinery.solutions.stored.patient import PatientSolution
from joinery.solutions.stored.reading import not_collecting
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    Emitted,
    Owner,
    StoreSolution,
    WrappingSolution,
)
from joinery.solutions.trigger.custom import own_statements
from joinery.solutions.trigger.options import TriggerOptions
from joinery.spark.source.feed import ChangeFeed
from joinery.spark.source.source import BatchLabel, Topic, batch_time_us

if TYPE_CHECKING:
    from joinery.spark.real_time.uncommitted import PendingRoots


_T = TypeVar("_T")


class StoreThread(WrappingSolution):
    """A solution that any thread may call.

    Args:
        make: Opens the solution.

    Raises:
        StoreError: The store cannot be used.
    """

    def __init__(self, make: Callable[[], StoreSolution]) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="joinery-store")
        try:
            self._solution = self._executor.submit(make).result()
        except BaseException:
            self._executor.shutdown()
            raise

    def _reach(self, act: Callable[[StoreSolution], _T]) -> _T:
        return self._executor.submit(act, self._solution).result()

    def close(self) -> None:
        """Close the solution, after the batch that is under way."""
        super().close()
        self._executor.shutdown()


FILE_NAME = "joinery.store.json"
FOLDER = "store"
METADATA = "metadata"  # of Spark, which notes a query's id there


def solution_of(products: Sequence[Product]) -> str:
    """Return the solution of a query, which its products share."""
    return products[0].solution


def statements_of(products: Sequence[Product]) -> str:
    """Return the user's own statements that make the documents of a query; empty without any."""
    options = TriggerOptions.of(products[0])
    return "" if options is None else own_statements(options.sql)


def is_store_backed(products: Sequence[Product]) -> bool:
    """Return whether a query's join state is in a store."""
    return solution_of(products) != SPARK_STATE and not products[0].outbox


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWait:
    """How the run of a query waits for its store.

    Attributes:
        check: Raises once another run has taken over.
        ended: True once the run is to end; a wait ends then.
        tell: Called by target with what is waited for, and None once that is over.
    """

    check: Callable[[], None]
    ended: Callable[[], bool]
    tell: Callable[[str, Waiting | None], None]


def open_store(
    spec: ProjectSpec,
    query: str,
    products: Sequence[Product],
    checkpoint: Path,
    *,
    beside: bool,
    wait: StoreWait | None = None,
) -> StoreThread:
    """Open the store of a query; one that is not there is opened with the first batch.

    Args:
        spec: The project.
        query: The query's name.
        products: Of the query.
        checkpoint: That the store belongs to; it is there.
        beside: Give a store that is new a name that no other has.
        wait: How an outage is waited for; without it one is an error.

    Raises:
        StoreError: The store cannot be used.
    """
    place = place_of(spec, query, checkpoint, beside=beside)
    place.folder.mkdir(parents=True, exist_ok=True)
    options = dict(products[0].solution_options)
    make = partial(open_solution, solution_of(products), products, options, place)
    return StoreThread(make if wait is None else partial(_patient, make, query, wait))


def place_of(spec: ProjectSpec, query: str, checkpoint: Path, *, beside: bool) -> SolutionPlace:
    """Return where the store of a query's checkpoint stands, and what it is called.

    Args:
        spec: The project.
        query: The query's name.
        checkpoint: That the store belongs to.
        beside: It is built beside the one that stands.
    """
    return SolutionPlace(
        folder=checkpoint / FOLDER,
        query=store_name(checkpoint, query, beside=beside),
        project=spec.path_of("."),
        max_document_bytes=spec.run.max_document_bytes,
        owner=owner_of(spec, checkpoint),
        beside=beside,
    )


def _patient(make: Callable[[], StoreSolution], query: str, wait: StoreWait) -> StoreSolution:
    target = f"the store of {query}"
    tell = partial(wait.tell, target)
    return PatientSolution(make, query, target, check=wait.check, ended=wait.ended, tell=tell)


def owner_of(spec: ProjectSpec, checkpoint: Path) -> Owner:
    """Return whose the store of a checkpoint is."""
    root = spec.checkpoint.resolve()
    file = checkpoint / METADATA
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return Owner(f"{spec.name}, whose checkpoints are in {root}", known.get("id"))


def store_name(checkpoint: Path, query: str, *, beside: bool) -> str:
    """Return what the store of a checkpoint is called; a new one `beside` another is unlike it."""
    file = checkpoint / FILE_NAME
    if file.is_file():
        return str(json.loads(file.read_text(encoding="utf-8"))["name"])
    name = f"{query}_{secrets.token_hex(3)}" if beside else query
    write_whole(file, json.dumps({"name": name}) + "\n", synced=False)
    return name


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORGET_EVERY = 100
_COUNTERS = {"tombstones_ignored": "tombstones"}
_UNTOLD = "applied"
_PART = "part-00000.jsonl"

Counts = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True, slots=True)
class StoreKernel:
    """The kernel of one query whose join state is in a store.

    Attributes:
        feed: Decodes records.
        store: Turns changes into documents.
        products: Of the query.
        checkpoint: Of the query.
        retention_us: How long deletes are remembered.
    """

    feed: ChangeFeed
    store: StoreThread
    products: Sequence[Product]
    checkpoint: Path
    retention_us: int

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return the decoded changes; to be given to `stage`."""
        return self.feed.chain(raw, topics, pending)

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> Mapping[str, Any]:
        """Run a batch once, through the store, and write what sinks receive below `folder`."""
        if label is None:
            raise ValueError("a store must know which batch it is given")
        counts: Counts = self.feed.stage(batch, folder)
        time_us = batch_time_us(self.checkpoint, label.number)
        at = Batch(label.query_id, label.number, label.epoch, time_us)
        with not_collecting():
            outcome = self.store.apply(self.feed.changes(folder), at)
            write_outcome(outcome, self.products, folder, time_us=time_us)
        if label.number % _FORGET_EVERY == _FORGET_EVERY - 1:
            self.store.forget(time_us - self.retention_us)
        return {**counted(counts, outcome, folder), "store": dict(outcome.usage)}


def write_outcome(
    outcome: BatchResult, products: Sequence[Product], folder: Path, *, time_us: int
) -> None:
    """Write documents as lines of the files sink, a folder per product, and dead letters.

    Args:
        outcome: What a batch gave.
        products: Those of the query.
        folder: Where the batch is staged.
        time_us: The time of the batch, which is that of its dead letters.
    """
    letters: list[str] = []
    at = (_EPOCH + timedelta(microseconds=time_us)).isoformat().replace("+00:00", "Z")
    for product in products:
        emitted = outcome.emitted.get(product.name, Emitted())
        text, before = key_text(product), emitted.before
        if emitted.documents:
            _write(
                folder / product.name / _PART,
                (
                    told_line(
                        f'{{"key":{text(key)},'
                        f'"value":{sent.text or "null"},"version":{sent.version}}}\n',
                        before.get(key),
                        text_hash(sent.text) if before else None,
                    )
                    for key, sent in emitted.documents.items()
                ),
            )
        for key, (reason, detail) in emitted.dead.items():
            told = {"reason": reason, "detail": detail, "time": at, "product": product.name}
            told["key"] = text(key)
            letters.append(json.dumps(told, ensure_ascii=False) + "\n")
    if letters:
        _write(folder / "dead_letters" / "part-store.jsonl", letters)


def counted(counts: Counts, outcome: BatchResult, folder: Path) -> Counts:
    """Return the feed's counts with those of the store, whose lines are below `folder`."""
    documents = {
        name: {
            "upserts": sum(each.text is not None for each in emitted.documents.values()),
            "tombstones": sum(each.text is None for each in emitted.documents.values()),
            "bytes": (folder / name / _PART).stat().st_size,
        }
        for name, emitted in outcome.emitted.items()
        if emitted.documents
    }
    relations = {name: dict(each) for name, each in counts.get("relations", {}).items()}
    for name, told in outcome.relations.items():
        mine = relations.setdefault(name, {})
        for counter, count in told.items():
            if counter != _UNTOLD:
                counter = _COUNTERS.get(counter, counter)
                mine[counter] = mine.get(counter, 0) + count
    counters = {name: dict(each) for name, each in outcome.counters.items()}
    return {**counts, "documents": documents, "relations": relations, "counters": counters}


def _write(file: Path, lines: Iterable[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="\n") as text:
        text.writelines(lines)
