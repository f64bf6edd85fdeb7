"""Starts the queries of a run in a session, in batches or in real-time mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from joinery.model.warning import RunWarning
from joinery.project.product import ProjectSpec
from joinery.spark.batch.query import KernelLike, QueryRun
from joinery.spark.batch.query_kernel import open_query_kernel
from joinery.spark.batch.ready import Ends
from joinery.spark.batch.stores import StoreKernel, StoreThread
from joinery.spark.batch.tick import TICK_MS, ticking, ticks
from joinery.spark.batch.undertaking import Undertaking
from joinery.spark.real_time.rules import kafka_topics
from joinery.spark.real_time.run import RealTimeRun
from joinery.spark.recovery.checkpoint import committed_positions
from joinery.spark.recovery.quarantine import Quarantine
from joinery.spark.source.source import open_sources, sources_of
from joinery.spark.uncommitted import RealTimeMark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from joinery.spark.kernel import Kernel
    from joinery.spark.source.feed import ChangeFeed


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStarter:
    """Starts any query of one run, the first time and after an outage.

    Attributes:
        spark: The session.
        spec: The project.
        undertaking: Where the queries stand.
        stores: By query, the store that keeps its join state, where Spark does not.
        real_time: The real-time side of the run, if it has one.
        once: Whether a query ends at the end that its logs have when it starts.
        warn: Takes what someone should look at.
    """

    spark: SparkSession
    spec: ProjectSpec
    undertaking: Undertaking
    stores: Mapping[str, StoreThread]
    real_time: RealTimeRun | None
    once: bool
    warn: Callable[[RunWarning], None]

    def __call__(self, query: QueryRun) -> StreamingQuery:
        """Start a query where its checkpoint stands."""
        opened = open_query_kernel(self.spark, query.lowered, self.spec, query.asking)
        kernel = self._with_store(query, opened)
        start = partial(self._start_batches, kernel, query)
        if self.real_time is None:
            return start(at_end=self.once)
        return self.real_time.start(
            self.spark,
            query.name,
            cast("Kernel", kernel),
            checkpoint=self.undertaking.place(query.name).checkpoint,
            lease=query.lease,
            catch_up=partial(start, at_end=True),
        )

    def _with_store(self, query: QueryRun, kernel: KernelLike) -> KernelLike:
        store = self.stores.get(query.name)
        if store is None:
            return kernel
        return StoreKernel(
            cast("ChangeFeed", kernel),
            store,
            query.products,
            self.undertaking.place(query.name).checkpoint,
            retention_us=self.spec.run.tombstone_retention_ms * 1000,
        )

    def _start_batches(
        self, kernel: KernelLike, query: QueryRun, *, at_end: bool
    ) -> StreamingQuery:
        """Start a query in batches; `at_end` ends it at the end that its logs have now."""
        spark, spec = self.spark, self.spec
        reads = sources_of(spec, query.products)
        checkpoint = self.undertaking.place(query.name).checkpoint
        if self.undertaking.waits(query.products):
            Ends(checkpoint, reads).take(spark, spec)
        raw = open_sources(spark, spec, reads, committed_positions(checkpoint))
        query.lost = raw.lost
        for warning in raw.warnings:
            self.warn(warning)
        documents = [each for each in query.products if each.stream is None]
        pending = RealTimeMark(checkpoint).pending(spark, kafka_topics(documents))
        quarantine = Quarantine(spec.path_of(spec.run.checkpoint), query.name)
        records = quarantine.apply(raw.frame, raw.topics)
        writer = (
            kernel.chain(records, raw.topics, pending)
            .writeStream.queryName(query.name)
            .outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .foreachBatch(partial(query.run_batch, kernel))
        )
        if at_end:
            return writer.trigger(availableNow=True).start()
        waits = ticks(query.lowered.program)
        trigger_ms = max(spec.run.trigger_ms, TICK_MS if waits else 0)
        with ticking(spark, waits):
            return writer.trigger(processingTime=f"{trigger_ms} milliseconds").start()
