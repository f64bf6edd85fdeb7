"""Starts the queries of a run in a session, in batches or in real-time mode."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from joinery.model.warning import RunWarning
from joinery.place.place import Place, local_only
from joinery.plan.stream import Stream
from joinery.project.captured import CAPTURED
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.joining import relations_of
from joinery.spark.batch.ending import EndingKernel, LogsEnded
from joinery.spark.batch.mode import RunMode
from joinery.spark.batch.query import QueryRun
from joinery.spark.batch.query_kernel import open_batch_kernel, open_level_kernel
from joinery.spark.batch.ready import Ends
from joinery.spark.batch.stopping import stop_query
from joinery.spark.batch.store_kernel import StoreKernel
from joinery.spark.batch.store_thread import StoreThread
from joinery.spark.batch.timers import TICK_MS, has_timers, running_timers
from joinery.spark.kernel import Kernel, PartsApart
from joinery.spark.real_time.rules import kafka_topics
from joinery.spark.real_time.run import RealTimeRun
from joinery.spark.real_time.uncommitted import RealTimeMark
from joinery.spark.recovery.checkpoint import (
    begin_empty_batch,
    committed_positions,
    ended_batch,
    last_batch,
    positions_after,
    untold,
)
from joinery.spark.recovery.isolate import Quarantine
from joinery.spark.source.again import LogGoneError, logs_again, open_again
from joinery.spark.source.feed import open_change_feed
from joinery.spark.source.kafka_again import edges_in
from joinery.spark.source.kafka_memory import KafkaMemory
from joinery.spark.source.open import open_sources
from joinery.spark.source.source import BatchRoom, SourceRead, sources_of
from joinery.spark.streams.kernel import StreamKernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from joinery.spark.kernel import BatchKernel
    from joinery.vault.door import VaultDoor

_STORE_ROWS = 200_000
_STORE_BYTES = 128 << 20
_REST_MS = 500  # of a source that looks by itself meanwhile, and wakes the query


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStarter:
    """Starts any query of one run, the first time and after an outage.

    Attributes:
        spark: The session.
        spec: The project.
        mode: Where the queries are kept.
        stores: By query, the store that keeps its join state, where Spark does not.
        real_time: The real-time side of the run, if it has one.
        memory_share: Of the memory of Spark's tasks, what one query may count on.
        once: Whether a query ends at the end that its logs have when it starts.
        memories: By query, what it remembers of topics.
        warn: Takes what someone should look at.
        vault: The door at which tasks ask for keys; None where nothing is personal.
        ended: By query, the end of its logs, where the run is to close what is open then.
    """

    spark: SparkSession
    spec: ProjectSpec
    mode: RunMode
    stores: Mapping[str, StoreThread]
    real_time: RealTimeRun | None
    memory_share: float
    once: bool
    memories: Mapping[str, KafkaMemory]
    warn: Callable[[RunWarning], None]
    vault: VaultDoor | None = None
    ended: Mapping[str, LogsEnded] = field(default_factory=dict)

    def start_all(self, queries: Sequence[QueryRun]) -> dict[str, StreamingQuery]:
        """Start all queries, or none."""
        started: dict[str, StreamingQuery] = {}
        try:
            for query in queries:
                started[query.name] = self.start(query)
        except BaseException:
            for each in started.values():
                stop_query(each)
            raise
        return started

    def start(self, query: QueryRun) -> StreamingQuery:
        """Start a query from its checkpoint."""
        if self.real_time is None:
            return self._start_batches(query, self._batch_kernel(query), at_end=self.once)
        kernel = open_level_kernel(self.spark, query.lowered, self.spec, query.lookups)
        return self.real_time.start(
            self.spark,
            query.name,
            kernel,
            checkpoint=self.mode.paths(query.name).checkpoint,
            lease=query.lease,
            times=query.times,
            sent=query.note_sent,
            sender=query,
            memory=self.memories[query.name],
            catch_up=partial(self._start_batches, query, kernel, at_end=True),
        )

    def _batch_kernel(self, query: QueryRun) -> BatchKernel:
        store = self.stores.get(query.name)
        if store is None:
            kernel = open_batch_kernel(self.spark, query.lowered, self.spec, query.lookups)
            folder = query.staging.apart
            return kernel if folder is None else staging_apart(kernel, query.parts_apart(folder))
        return StoreKernel(
            open_change_feed(self.spark, query.products),
            store,
            query.products,
            self.mode.paths(query.name).on_disk("a store of join state"),
            retention_us=self.spec.run.tombstone_retention_ms * 1000,
        )

    def _room(self, query: QueryRun) -> BatchRoom:
        """Return what a batch may count on; Python holds a whole batch of one with a store."""
        # Where something comes due by the clock, or batches begin at times, Spark has to look then.
        by_clock = self.spec.run.trigger_ms or has_timers(query.lowered.program)
        rest_ms = 0 if by_clock else _REST_MS
        if query.name not in self.stores:
            return BatchRoom(
                memory_share=self.memory_share, paced=self.mode.sends_each, rest_ms=rest_ms
            )
        most_bytes = max(1, int(_STORE_BYTES * self.memory_share))
        return BatchRoom(
            memory_share=self.memory_share,
            most_rows=_STORE_ROWS,
            most_bytes=most_bytes,
            paced=self.mode.sends_each,
            rest_ms=rest_ms,
        )

    def _reading_again(
        self, query: QueryRun, kernel: Kernel, reads: Sequence[SourceRead], checkpoint: Place
    ) -> Kernel:
        """Return a kernel whose next batch reads again what added products lack; else the same."""
        telling = kernel.telling
        if telling is None or telling.part is None:
            return kernel
        positions = positions_after(checkpoint, telling.batch - 1)
        wanted = relations_of(kernel.program, telling.part)
        told = (self.spec, checkpoint, reads, positions, wanted)
        found = open_again(self.spark, *told)
        # Asked once it is settled what is read: what goes from then on ends the batch.
        for each in logs_again(*told, edges_in(self.spark)):
            if each.why:
                raise LogGoneError(query.name, each.why)
        if found is None:
            return kernel
        quarantine = Quarantine(self.spec.checkpoint, query.name)
        return kernel.to_read_again(quarantine.apply(found.frame, found.topics), found.topics)

    def _start_batches(
        self, query: QueryRun, kernel: BatchKernel, *, at_end: bool
    ) -> StreamingQuery:
        """Start a query in batches; `at_end` ends it at the end that its logs have now."""
        spark, spec = self.spark, self.spec
        reads = sources_of(spec, query.products)
        checkpoint = self.mode.paths(query.name).checkpoint
        if self.vault is not None and isinstance(kernel, Kernel | StreamKernel):
            kernel = kernel.sealing(self.vault.address, _spools(self.spec))
        if isinstance(kernel, Kernel):
            kernel = _telling(kernel, checkpoint, query.lease.check)
            kernel = self._reading_again(query, kernel, reads, checkpoint)
            telling = None if at_end else kernel.telling
            query.built_in = None if telling is None else telling.batch
        if self.mode.needs_ends(query.products):
            Ends(checkpoint, reads).take(spark, spec)
        at, memory = committed_positions(checkpoint), self.memories[query.name]
        raw = open_sources(spark, spec, reads, at, self._room(query), memory)
        query.lost, query.note_read = raw.lost, memory.note
        for warning in raw.warnings:
            self.warn(warning)
        documents = [each for each in query.products if not isinstance(each.form, Stream)]
        pending = RealTimeMark(checkpoint).pending(spark, kafka_topics(documents))
        quarantine = Quarantine(spec.checkpoint, query.name)
        records = quarantine.apply(raw.frame, raw.topics)
        logs = self.ended.get(query.name) if at_end else None
        begun = ended_batch(checkpoint) is not None
        if isinstance(kernel, Kernel) and (begun or (logs is not None and pending is None)):
            kernel = EndingKernel(kernel, checkpoint, logs)
        chain = kernel.chain(records, raw.topics, pending)
        writer = (
            chain.writeStream.queryName(query.name)
            .outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .foreachBatch(partial(query.run_batch, kernel))
        )
        if at_end:
            return writer.trigger(availableNow=True).start()
        timers = has_timers(query.lowered.program)
        trigger_ms = max(spec.run.trigger_ms, TICK_MS if timers else 0)
        with running_timers(spark, timers):
            return writer.trigger(processingTime=f"{trigger_ms} milliseconds").start()


def _telling(kernel: Kernel, checkpoint: Place, check: Callable[[], None]) -> Kernel:
    """Return a kernel whose next batch tells rows to products that were added; else the same."""
    if (telling := untold(checkpoint)) is None:
        return kernel
    if last_batch(checkpoint) == (telling.batch - 1, True):
        begin_empty_batch(checkpoint, round(time.time() * 1000), check)
    return kernel.to_tell(telling, checkpoint)


def staging_apart(kernel: BatchKernel, apart: PartsApart) -> BatchKernel:
    """Return a kernel for tasks that do not see the driver's disk.

    Raises:
        LocalOnlyError: It can stage nowhere else, and what its tasks leave would be lost.
    """
    if isinstance(kernel, Kernel | StreamKernel):
        return kernel.staging_apart(apart)
    raise local_only("a query that stages on the driver's disk", apart.folder)


def _spools(spec: ProjectSpec) -> frozenset[str]:
    """Return the sources that are read from what a capture wrote."""
    return frozenset(each.name for each in spec.sources if each.kind in CAPTURED)
