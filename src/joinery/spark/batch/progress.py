"""What a run tells of itself: counts and times of its batches, warnings, what operators watch.

Invariant: each batch is told once, in the order its query ran it. Nothing here holds up a
batch or fails a run that has started.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.capture.place_log import spool_log
from joinery.errors import JoineryError, PlanError
from joinery.model.audit import AuditProgress
from joinery.model.batch import BatchProgress, Counts
from joinery.model.frontier import SourceFrontier
from joinery.model.marks import KeptMarks
from joinery.model.progress import Progress, Silence, Waiting
from joinery.model.warning import RunWarning, Warnings
from joinery.observe.http import RunEndpoints
from joinery.observe.lineage import Dataset, Job, Lineage
from joinery.observe.wait import wait_for
from joinery.plan.product import Plan, Product, Sink
from joinery.project.kind import SourceSpec
from joinery.project.kinds import SINKS, SOURCES, Registry
from joinery.project.part import part_data
from joinery.project.product import ProjectSpec
from joinery.project.source_warning import spec_warnings
from joinery.spark.kernel import progress_log
from joinery.spark.source.kafka_groups import KafkaGroups
from joinery.spark.source.source import (
    Backlog,
    SourceRead,
    files_backlog,
    kafka_backlog,
    limit_of,
    sources_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FLUSH_MS = 2000


class ProgressBoard:
    """The progress of a run, written by its queries and read by anyone.

    Args:
        on_batch: Called for each batch once its times are known.
        on_wait: Called with the target of a sink, and what is waited for; None once it is back.
        warnings: Takes what someone should look at.
    """

    def __init__(
        self,
        on_batch: Callable[[BatchProgress], None] = lambda batch: None,
        on_wait: Callable[[str, Waiting | Silence | None], None] = lambda target, waiting: None,
        warnings: Warnings | None = None,
    ) -> None:
        self._on_batch = on_batch
        self._on_wait = on_wait
        self._mutex = threading.Lock()
        self._progress = Progress()
        self._warnings = warnings or Warnings()
        self._untimed: dict[tuple[str, int], BatchProgress] = {}

    @property
    def progress(self) -> Progress:
        """The run as it stands."""
        return replace(self._progress, warnings=self._warnings.known)

    def begin(self, partitions: Counts) -> None:
        """Tell in how many partitions queries keep their state."""
        with self._mutex:
            self._progress = replace(self._progress, partitions=partitions)

    def build(self, query: str, products: Sequence[str]) -> None:
        """Tell which products the first batch of a query builds."""
        with self._mutex:
            building = {**self._progress.building, query: tuple(products)}
            self._progress = replace(self._progress, building=building)

    def add(self, batch: BatchProgress) -> None:
        """Count a batch whose documents the sinks have."""
        with self._mutex:
            self._progress = self._progress.plus(batch)
            self._untimed[batch.query, batch.batch_id] = batch

    def time(
        self,
        query: str,
        batch_id: int,
        durations_ms: Mapping[str, int],
        backlog: Backlog,
        state_bytes: int | None = None,
    ) -> None:
        """Tell where the time of a batch went, what is still to read, and how much is kept."""
        with self._mutex:
            counted = self._untimed.pop((query, batch_id), None)
            if counted is None:
                return
            durations = {**counted.durations_ms, **durations_ms}
            batch = replace(
                counted,
                durations_ms=durations,
                remaining=backlog.bytes,
                remaining_rows=backlog.rows,
                limits=backlog.limits,
                lag=backlog.lag,
                state_bytes=state_bytes,
                seconds=durations_ms.get("triggerExecution", counted.seconds * 1000) / 1000,
            )
            self._progress = self._progress.timed(batch)
        self._on_batch(batch)

    def tick(self, batch: BatchProgress) -> None:
        """Count what happened within a batch that goes on."""
        with self._mutex:
            self._progress = self._progress.plus(batch)
        self._on_batch(batch)

    def wait(self, target: str, waiting: Waiting | Silence | None) -> None:
        """Tell what the sink of `target` is waited for; None once it is back."""
        with self._mutex:
            self._progress = self._progress.waits(target, waiting)
        self._on_wait(target, waiting)

    def audit(self, told: AuditProgress) -> None:
        """Tell what comparing documents has found by now."""
        with self._mutex:
            self._progress = self._progress.audited(told)

    def mark(self, marks: Mapping[str, KeptMarks]) -> None:
        """Tell, by query, the earlier batches whose state is kept."""
        with self._mutex:
            self._progress = replace(self._progress, marks=marks)

    def reach(self, frontiers: Mapping[str, tuple[SourceFrontier, ...]]) -> None:
        """Tell, by query, up to where everything of its sources is applied and sent."""
        with self._mutex:
            self._progress = replace(self._progress, frontiers=frontiers)

    def warn(self, warning: RunWarning) -> None:
        """Tell, once, of something that someone should look at."""
        self._warnings.add(warning)

    def lose(self, lost: Counts) -> None:
        """Count, by relation, records that a log lost while it was read."""
        with self._mutex:
            self._progress = self._progress.losing(lost)

    def ignore(self, added: Counts) -> None:
        """Tell, by relation, how many bytes were added to files after they were seen."""
        with self._mutex:
            known = self._progress.ignored_bytes
            self._progress = replace(self._progress, ignored_bytes={**known, **added})

    def flush(self) -> None:
        """Tell the batches whose times never came."""
        with self._mutex:
            left, self._untimed = list(self._untimed.values()), {}
        for batch in left:
            self._on_batch(batch)


class BatchTimes:
    """Takes Spark's times and positions of each batch to the board.

    A listener in the JVM remembers them: one in Python is asked for every field by a call of
    its own, which took more processor time than a small batch.

    Args:
        spark: The session whose queries are heard.
        board: Notified of them.
        reads: What each query reads, in the order of its streams.
        groups: Called with the read positions.
    """

    def __init__(
        self,
        spark: SparkSession,
        board: ProgressBoard,
        reads: Mapping[str, Sequence[SourceRead]],
        groups: KafkaGroups,
    ) -> None:
        self._board = board
        self._reads = reads
        self._groups = groups
        self._context: Any = spark.sparkContext._jsc
        self._streams = spark._jsparkSession.streams()
        self._log = progress_log(spark)
        self._streams.addListener(self._log)

    def take(self) -> None:
        """Tell the board what has come since the last time."""
        for told in json.loads(self._log.take()):
            self._tell(told)

    def close(self) -> None:
        """Take what Spark has still to tell, and listen no more."""
        # Times are a courtesy: a listener that lags must not fail a run that is done.
        with contextlib.suppress(Exception):
            self._context.sc().listenerBus().waitUntilEmpty(_FLUSH_MS)
        self.take()
        self._streams.removeListener(self._log)
        self._groups.close()

    def _tell(self, told: Mapping[str, Any]) -> None:
        query: str = told["query"] or ""
        backlog = Backlog()
        for read, source in zip(self._reads.get(query, ()), told["sources"], strict=False):
            if read.source.kind == "kafka":
                backlog = backlog.plus(kafka_backlog(read, source["end"], source["latest"]))
                self._groups.note(query, read.source.name, source["end"])
            else:
                backlog = backlog.plus(files_backlog(read, source["metrics"] or {}))
            backlog = backlog.plus(limit_of(read, source["metrics"] or {}))
        self._board.time(query, told["batch"], told["durations"], backlog, told["state"])


log = logging.getLogger("joinery.run")


class RunObserver:
    """Tells operators of one run.

    Args:
        spec: Says where endpoints and lineage events go, if anywhere.
        queries: The products of each query.
        progress: Returns the run as it stands.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        queries: Mapping[str, Sequence[Product]],
        progress: Callable[[], Progress],
    ) -> None:
        self._spec = spec
        self._queries = queries
        self._progress = progress
        address = spec.run.http
        self._endpoints = RunEndpoints(address, progress, self._wait) if address else None
        self._lineage = Lineage(part_data(spec.run.lineage)) if spec.run.lineage else None

    def open(self) -> None:
        """Serve the endpoints.

        Raises:
            HttpError: Their address cannot be used.
        """
        if self._endpoints is not None:
            address = self._endpoints.open()
            log.info("endpoints are served", extra={"address": address})

    def _wait(self, product: str, positions: Sequence[str], timeout: str) -> None:
        planned = [each for products in self._queries.values() for each in products]
        wait_for(self._spec, planned, product, positions, timeout=timeout, captured=spool_log)

    def started(self) -> None:
        """Tell that all queries have started."""
        facts = {"project": self._spec.name, "queries": [*self._queries]}
        partitions = dict(self._progress().partitions)
        log.info("run started", extra={**facts, "partitions": partitions})
        if self._endpoints is not None:
            self._endpoints.started.set()
        if self._lineage is not None:
            self._lineage.start([_job(self._spec, *each) for each in self._queries.items()])

    def batch(self, batch: BatchProgress) -> None:
        """Tell of one batch."""
        log.info("batch committed", extra=batch.to_json())
        if batch.dead:
            log.warning("dead letters were kept", extra=_dead_letters(batch))
        if self._lineage is not None:
            self._lineage.batch(batch.query)

    def abandon(self) -> None:
        """Stop serving, for a run that never started."""
        if self._endpoints is not None:
            self._endpoints.close()

    def close(self, failure: Exception | None) -> None:
        """Tell how the run ended, and stop serving."""
        if failure is not None:
            code = failure.code if isinstance(failure, JoineryError) else ""
            log.error("run failed", extra={"code": code, "why": str(failure)})
        else:
            log.info("run ended", extra={"project": self._spec.name})
        if self._lineage is not None:
            self._lineage.end(failed=failure is not None)
        if self._endpoints is not None:
            self._endpoints.close()


def _dead_letters(batch: BatchProgress) -> dict[str, object]:
    found = {name: counts["dead"] for name, counts in batch.relations.items() if counts.get("dead")}
    facts = {"query": batch.query, "batch": batch.batch_id, "dead": batch.dead}
    return {**facts, "relations": found, "hint": "See joinery dlq list."}


def _job(spec: ProjectSpec, query: str, products: Sequence[Product]) -> Job:
    folder = spec.path_of(".")
    declared = {each.name: each for each in spec.sources}
    inputs = [
        _dataset(declared[each.source.name], topic, SOURCES, folder)
        for each in sources_of(spec, products)
        if each.source.name in declared
        for topic in each.relations
    ]
    outputs = [
        _dataset(sink, product.name, SINKS, folder)
        for product in products
        for sink in product.sinks
    ]
    return Job(query, inputs, outputs)


def _dataset(part: SourceSpec | Sink, name: str, kinds: Registry, folder: Path) -> Dataset:
    """Return the namespace and name of what is read or written (OpenLineage's), no secrets."""
    target = kinds.target(part.kind, dict(part.options), name, folder)
    if target is None:
        return Dataset(part.kind, name)
    match target.kind:
        case "kafka":
            return Dataset(f"kafka://{target.address}", target.name)
        case "files":
            return Dataset("file", f"{target.address}/{target.name}")
        case "sqlite":
            return Dataset("file", str(target.address))
        case other:
            return Dataset(other, target.name)


def start_warnings(
    spec: ProjectSpec, plan: Plan, names: Collection[str] = ()
) -> Iterator[RunWarning]:
    """Yield what can be seen before anything is read, of the products named, or of all."""
    involved = _with_read(spec, names) if names else None
    for each in plan.warnings:
        if involved is None or _is_of(each, involved):
            yield _declared(each)
    yield from spec_warnings(spec, involved)


def _with_read(spec: ProjectSpec, names: Collection[str]) -> set[str]:
    """Return the names, and those of the streams that their streams read."""
    found, left = set(names), list(names)
    reads = {each.name: each.reads for each in spec.streams}
    while left:
        read = reads.get(left.pop(), frozenset()) - found
        found |= read
        left += read
    return found


def _is_of(warning: JoineryError, names: Collection[str]) -> bool:
    """Return whether a warning is about one of the products and streams, or about a relation."""
    declared = warning.declared if isinstance(warning, PlanError) else ()
    return declared[:1] not in (("products",), ("streams",)) or declared[1] in names


def batch_warnings(batch: BatchProgress) -> Iterator[RunWarning]:
    """Yield what a batch counted that someone should look at."""
    for relation, counts in batch.relations.items():
        if wrong := counts.get("wrong_format"):
            yield _wrong_format(relation, wrong, counts.get("read", wrong))
        for counter, (code, message, hint) in _COUNTED.items():
            if counts.get(counter):
                about = f'relation "{relation}"'
                yield RunWarning(code=code, about=about, message=f"{about}: {message}", hint=hint)


def stale_warnings(progress: Progress) -> Iterator[RunWarning]:
    """Yield the relations nearly all of whose latest changes were stale."""
    for relation, each in progress.staleness.items():
        if each.nearly_all:
            about = f'relation "{relation}"'
            yield RunWarning(
                code="WARN_MOSTLY_STALE",
                about=about,
                message=f"{about}: nearly all of its changes are stale",
                detail="By position they are older than what is stored, so they are ignored.",
                hint=_STALE_HINT,
            )


_STALE_HINT = (
    "If its database was restored or replaced, or its topic was given more partitions, positions"
    " started over: rebuild the documents (joinery run --rebuild). If an old part of the log is"
    " read again, there is nothing to do."
)


def _wrong_format(relation: str, wrong: int, read: int) -> RunWarning:
    about = f'relation "{relation}"'
    return RunWarning(
        code="WARN_FORMAT",
        about=about,
        message=f"{about}: {wrong:,} of {read:,} records look like debezium-json, not json",
        detail="They are dead letters with reason wrong_format.",
        hint=f"Write format: debezium-json under {about}, or under defaults; then joinery run"
        " --rebuild reads everything again.",
    )


_COUNTED = {
    "truncates": (
        "WARN_TRUNCATED",
        "its table was truncated at the source, which a change stream cannot replay; its rows"
        " stay in the documents",
        "Delete them there one by one, or start with a fresh checkpoint.",
    ),
    "unavailable_values": (
        "WARN_VALUES_UNAVAILABLE",
        "a change of key left out large values, which are null now",
        "Run ALTER TABLE … REPLICA IDENTITY FULL at the source, then update these rows.",
    ),
}


def _declared(error: JoineryError) -> RunWarning:
    exact = error.location is not None and error.location.column > 0
    return RunWarning(
        code=error.code,
        about=str(error.location) if exact else error.message,
        message=error.message,
        detail=error.detail,
        hint=error.hint,
        location=error.location,
    )
