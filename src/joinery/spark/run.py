"""Runs a project: one streaming query a product or group, watched until it ends.

Invariant: however a run ends, what it had committed stays, and the next run goes on there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from joinery._registry import make_sink
from joinery.connect.letter_place import letter_reader, letter_writer
from joinery.connect.lookup.coherence import Coherence, place_of
from joinery.connect.lookup.make import place_asked
from joinery.connect.protocol import Sink
from joinery.errors import JoineryError
from joinery.model.progress import BatchProgress, Progress, Waiting
from joinery.plan.nodes import Plan, Product
from joinery.plan.nodes import Sink as SinkPlan
from joinery.plan.stream_product import outputs_of
from joinery.spark.attempt import Attempts
from joinery.spark.checkpoint import committed_positions
from joinery.spark.clone import clone_session
from joinery.spark.failure import QueryFailedError, died, failed_query, spark_died
from joinery.spark.isolate import Suspect, isolate
from joinery.spark.kafka_client import KafkaUnreachableError
from joinery.spark.kafka_group import KafkaGroups
from joinery.spark.operate import Operation
from joinery.spark.outage import outage_of
from joinery.spark.outbox import check_rebuildable, outbox_sink_of
from joinery.spark.place import Place
from joinery.spark.progress import BatchTimes, ProgressBoard
from joinery.spark.quarantine import Quarantine
from joinery.spark.query import BatchRefusedError, KernelLike, ProductSinks, QueryRun
from joinery.spark.query_kernel import asking_of, lower_query, open_query_kernel
from joinery.spark.ready import Ends
from joinery.spark.real_time import RealTimeRefusedError, kafka_topics
from joinery.spark.real_time_run import RealTimeRun
from joinery.spark.rebuild import Rebuilding
from joinery.spark.selection import select_queries
from joinery.spark.session import RUN_SETTINGS
from joinery.spark.source import open_sources, sources_of
from joinery.spark.spooling import spool_places
from joinery.spark.store_kernel import StoreKernel
from joinery.spark.store_thread import StoreThread
from joinery.spark.stores import is_store_backed, open_store, solution_of
from joinery.spark.tick import TICK_MS, ticking, ticks
from joinery.spark.uncommitted import RealTimeMark
from joinery.spark.undertaking import Keeping, Undertaking
from joinery.spec.product import ProjectSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from joinery.spark.asking import Asking
    from joinery.spark.change_feed import ChangeFeed
    from joinery.spark.kernel import Kernel

_POLL_S = 0.05


class KernelOpener(Protocol):
    """Opens the kernel of one query in a session."""

    def __call__(
        self,
        spark: SparkSession,
        products: Sequence[Product],
        spec: ProjectSpec,
        asking: Asking | None,
    ) -> KernelLike:
        """Return the kernel for `products`, whose stores `asking` asks."""


class Runnable(Protocol):
    """A project, as `joinery.load` gives it."""

    @property
    def spec(self) -> ProjectSpec:
        """What was declared."""

    @property
    def plan(self) -> Plan:
        """What must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run does.

    Attributes:
        once: Read what there is at the start, then end.
        products: The products to run; empty means all.
        rebuild: Read everything anew beside what is there, then take its place and end.
        on_batch: Called for each batch once it is through.
        on_wait: Called when a sink has to be waited for, and with None once it is back.
    """

    once: bool = False
    products: tuple[str, ...] = ()
    rebuild: bool = False
    on_batch: Callable[[BatchProgress], None] = lambda batch: None
    on_wait: Callable[[str, Waiting | None], None] = lambda target, waiting: None


class Run:
    """A run of some queries: prepared without Spark, started in a session.

    `await_termination` waits for its end, `stop` ends it after the batch that is under way.
    """

    def __init__(self, spec: ProjectSpec, plan: Plan, options: RunOptions) -> None:
        if spec.run.real_time and options.once:
            raise RealTimeRefusedError("real-time mode has no end, so it cannot run once")
        self._spec = spec
        self._once = options.once
        root = self._root = spec.path_of(spec.run.checkpoint)
        self._undertaking: Undertaking = Rebuilding(root) if options.rebuild else Keeping(root)
        self._board = ProgressBoard(self._note_batch, options.on_wait)
        self._on_batch = options.on_batch
        self._coherence = Coherence()
        self._asked = {
            place_asked(each, spec.path_of("."))
            for stream in plan.streams
            for each in stream.lookups
        } - {None}
        self._ended = threading.Event()
        self._error: JoineryError | None = None
        self._active: dict[str, StreamingQuery] = {}
        live = spec.run.real_time and not options.rebuild
        self._real_time = RealTimeRun(spec, self._board) if live else None
        self._rebuild = options.rebuild
        self._stores: dict[str, StoreThread] = {}
        chosen = select_queries(outputs_of(plan), options.products)
        if options.rebuild:
            check_rebuildable(chosen)
        self._queries = [self._query(name, members) for name, members in chosen.items()]
        self._operation = Operation(spec, chosen, lambda: self.progress)
        self._starter: Callable[[QueryRun], StreamingQuery] | None = None
        names = () if self._real_time else chosen
        self._outages = {each: outage_of(each, self._board.wait) for each in names}

    @property
    def progress(self) -> Progress:
        """The run as it stands."""
        return self._board.progress

    @property
    def replaced(self) -> tuple[str, ...]:
        """The queries that a rebuild has taken over."""
        return tuple(each.name for each in self._queries if each.replaced.is_set())

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of all relations that are read."""
        products = (product for query in self._queries for product in query.products)
        return tuple(dict.fromkeys(each.name for one in products for each in one.relations))

    @property
    def dead_letters(self) -> str:
        """Where the dead letters are kept."""
        return letter_reader(self._spec).target

    def prepare(self) -> None:
        """Take the leases and checkpoints of all queries, open their sinks; needs no Spark.

        Raises:
            LeaseHeldError: Another run has one of the queries.
            StateMismatchError: A checkpoint holds state that another plan wrote.
            SinkError: A sink cannot be opened.
        """
        try:
            for query in self._queries:
                query.lease.take()
            for query in self._queries:
                program = lower_query(query.products, self._spec.run)
                reads = sources_of(self._spec, query.products)
                solution = solution_of(query.products)
                self._undertaking.claim(query.name, program, solution, reads)
                checkpoint = self._undertaking.place(query.name).checkpoint
                isolate(
                    self._spec, Suspect(query=query.name, root=self._root, checkpoint=checkpoint)
                )
                self._open_store(query)
            for query in self._queries:
                query.open()
        except BaseException:
            self._close()
            raise

    def _open_store(self, query: QueryRun) -> None:
        if is_store_backed(query.products):
            checkpoint = self._undertaking.place(query.name).checkpoint
            self._stores[query.name] = open_store(
                self._spec, query.name, query.products, checkpoint, beside=self._rebuild
            )

    def start(self, spark: SparkSession, opener: KernelOpener | None = None) -> None:
        """Start all queries in `spark`, once the run is prepared."""
        try:
            self._operation.open()
            times = self._open(spark, opener or open_query_kernel)
            self._operation.started()
        except BaseException as error:
            self._close()
            self._operation.close(error if isinstance(error, Exception) else None)
            raise
        watcher = threading.Thread(
            target=self._watch, args=(times,), name="joinery-run", daemon=True
        )
        watcher.start()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended; return False if `timeout` seconds passed before.

        Raises:
            JoineryError: The run failed.
        """
        ended = self._ended.wait(timeout)
        if ended and self._error is not None:
            raise self._error
        return ended

    def request_stop(self) -> None:
        """Ask the run to end after the batch that is under way; returns at once."""
        for query in self._queries:
            query.ending.set()

    def stop(self) -> None:
        """End the run after the batch that is under way, and wait for that."""
        self.request_stop()
        self.await_termination()

    def abandon(self) -> None:
        """Give back what a run that never started has taken."""
        self._close()

    def _query(self, name: str, products: Sequence[Product]) -> QueryRun:
        place = self._undertaking.place(name)
        reads = sources_of(self._spec, products)
        ends = Ends(place.checkpoint, reads)
        if self._real_time:
            self._real_time.add(name, products, reads)
        return QueryRun(
            name,
            [self._member(each, place) for each in products],
            lease=place.lease,
            dead_letters=letter_writer(self._spec, name),
            wait_for_letters=self._spec.run.dead_letters_wait,
            attempts=Attempts(place.checkpoint.parent, name),
            staging=place.staging,
            board=self._board,
            tombstone_retention_ms=self._spec.run.tombstone_retention_ms,
            delay=self._undertaking.delay(name, products, ends),
            asking=lambda query: asking_of(
                products, self._spec, query.ended, self._board.wait, self._coherence
            ),
        )

    def _member(self, product: Product, place: Place) -> ProductSinks:
        sinks = self._sinks(product, place)
        declared = () if product.outbox else product.sinks
        return ProductSinks(
            product, sinks, spool_places(product.name, sinks, declared, place.checkpoint)
        )

    def _sinks(self, product: Product, place: Place) -> tuple[Any, ...]:
        if product.outbox:
            return (outbox_sink_of(product, self._spec, place.checkpoint),)
        folder = self._spec.path_of(".")
        return tuple(self._sink(each, product.name, folder) for each in product.sinks)

    def _sink(self, declared: SinkPlan, name: str, folder: Path) -> Sink:
        """Return a sink, which tells its keys where a lookup asks for the table it keeps."""
        options = dict(declared.options)
        sink = make_sink(declared.kind, name, options, folder)
        place = place_of(declared.kind, options, name, folder)
        return self._coherence.heard(sink, place) if place in self._asked else sink

    def _open(self, spark: SparkSession, opener: KernelOpener) -> BatchTimes:
        process = _jvm_process(spark)
        for query in self._queries:
            query.lease.add_process(process)
        reads = {each.name: sources_of(self._spec, each.products) for each in self._queries}
        groups = KafkaGroups(spark, (each for every in reads.values() for each in every))
        times = BatchTimes(spark, self._board, reads, groups)
        try:
            self._starter = partial(self._start_query, spark, opener)
            for query in self._queries:
                self._active[query.name] = self._starter(query)
        except BaseException:
            for active in self._active.values():
                active.stop()
            times.close()
            raise
        return times

    def _start_query(
        self, spark: SparkSession, opener: KernelOpener, query: QueryRun
    ) -> StreamingQuery:
        opened = opener(spark, query.products, self._spec, query.asking)
        kernel = self._with_store(query, opened)
        start = partial(self._start_batches, spark, kernel, query)
        if self._real_time is None:
            return start(at_end=self._once)
        return self._real_time.start(
            spark,
            query.name,
            cast("Kernel", kernel),
            checkpoint=self._undertaking.place(query.name).checkpoint,
            lease=query.lease,
            catch_up=partial(start, at_end=True),
        )

    def _with_store(self, query: QueryRun, kernel: KernelLike) -> KernelLike:
        store = self._stores.get(query.name)
        if store is None:
            return kernel
        return StoreKernel(
            cast("ChangeFeed", kernel),
            store,
            query.products,
            self._undertaking.place(query.name).checkpoint,
            retention_us=self._spec.run.tombstone_retention_ms * 1000,
        )

    def _start_batches(
        self, spark: SparkSession, kernel: KernelLike, query: QueryRun, *, at_end: bool
    ) -> StreamingQuery:
        """Start a query in batches; `at_end` ends it at the end that its logs have now."""
        reads = sources_of(self._spec, query.products)
        checkpoint = self._undertaking.place(query.name).checkpoint
        if self._undertaking.waits(query.products):
            Ends(checkpoint, reads).take(spark, self._spec)
        raw = open_sources(spark, self._spec, reads, committed_positions(checkpoint))
        query.lost = raw.lost
        documents = [each for each in query.products if each.stream is None]
        pending = RealTimeMark(checkpoint).pending(spark, kafka_topics(documents))
        records = Quarantine(self._root, query.name).apply(raw.frame, raw.topics)
        writer = (
            kernel.chain(records, raw.topics, pending)
            .writeStream.queryName(query.name)
            .outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .foreachBatch(partial(query.run_batch, kernel))
        )
        if at_end:
            return writer.trigger(availableNow=True).start()
        waits = ticks(lower_query(query.products, self._spec.run))
        trigger_ms = max(self._spec.run.trigger_ms, TICK_MS if waits else 0)
        with ticking(spark, waits):
            return writer.trigger(processingTime=f"{trigger_ms} milliseconds").start()

    def _watch(self, times: BatchTimes) -> None:
        """Wait for all queries; when one fails, end the others after their batch."""
        try:
            while self._running():
                times.take()
                self._ended.wait(_POLL_S)
            self._drain()
            times.close()
            if self._real_time:
                self._real_time.close()
            self._board.flush()
        except JoineryError as error:
            self._error = self._error or error
        except Exception as error:
            self._error = self._error or self._lost(error)
        finally:
            try:
                self._close()
            finally:
                self._operation.close(self._error)
                self._ended.set()

    def _lost(self, error: Exception) -> QueryFailedError:
        """Return why the watch over the queries broke off."""
        failed = (each.died_of for each in self._queries)
        if spark_died(error):
            return died(next((why for why in failed if why), ""))
        return QueryFailedError(f"the run ended: {error}")

    def _drain(self) -> None:
        """At the end of `--once`, send what waits for quiet."""
        for query in self._queries:
            if self._once and self._error is None and not query.ending.is_set():
                query.drain()

    def _note_batch(self, batch: BatchProgress) -> None:
        self._operation.batch(batch)
        self._on_batch(batch)

    def _running(self) -> bool:
        running = [query for query in self._queries if self._still_running(query)]
        return bool(running)

    def _still_running(self, query: QueryRun) -> bool:
        active = self._active[query.name]
        if active.isActive:
            if query.lease.lost or (query.ending.is_set() and self._may_stop(query, active)):
                active.stop()
            return True
        failure = query.lease.lost or query.failure or active.exception()
        if failure is not None and not isinstance(failure, BatchRefusedError):
            if self._waits(query, failure):
                return not query.ending.is_set() and self._begin_again(query)
            self._fail(failed_query(query.name, failure))
        elif self._real_time and not query.ending.is_set():
            following = self._real_time.after(query.name, active)
            if following is not None:
                self._active[query.name] = following
            return following is not None
        return False

    def _waits(self, query: QueryRun, failure: Exception) -> bool:
        """Return whether a query ended by an outage of its sources, which is waited for."""
        latest = self.progress.latest.get(query.name)
        outage = self._outages.get(query.name)
        if outage is None or query.lease.lost or self._starter is None:
            return False
        return outage.may_wait(failure, latest.batch_id if latest else None)

    def _begin_again(self, query: QueryRun) -> bool:
        """Start a query again that an outage ended; return whether it runs, or still waits."""
        outage = self._outages[query.name]
        if self._starter is None or not outage.due():
            return True
        try:
            started = self._starter(query)
        except KafkaUnreachableError as error:
            outage.note(error)
            return True
        except JoineryError as error:
            self._fail(error)
            return False
        query.failure = None
        self._active[query.name] = started
        outage.over()
        return True

    def _fail(self, error: JoineryError) -> None:
        self._error = self._error or error
        self.request_stop()

    def _may_stop(self, query: QueryRun, active: StreamingQuery) -> bool:
        """True between two batches; real-time mode has no such moment."""
        live = self._real_time is not None and self._real_time.live(query.name)
        return live or _idle(active)

    def _close(self) -> None:
        try:
            for query in self._queries:
                query.close()
        finally:
            while self._stores:
                self._stores.popitem()[1].close()


def run(
    spark: SparkSession,
    project: Runnable,
    *,
    once: bool = False,
    products: Sequence[str] = (),
    on_batch: Callable[[BatchProgress], None] = lambda batch: None,
) -> Run:
    """Start a project in a session and return its run.

    Args:
        spark: The session, which stays as it is: the run has a clone of it, with the settings
            of the kernel and those of `run.spark` that a session can change.
        project: As `joinery.load` gives it.
        once: Read what there is, then end; else go on as files arrive.
        products: The products to run; empty means all.
        on_batch: Called for each batch once it is through.

    Raises:
        JoineryError: The project cannot run, or another run holds its checkpoint.
    """
    options = RunOptions(once=once, products=tuple(products), on_batch=on_batch)
    started = Run(project.spec, project.plan, options)
    started.prepare()
    settings = {**RUN_SETTINGS, **dict(project.spec.run.spark)}
    started.start(clone_session(spark, settings))
    return started


def _jvm_process(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def _idle(active: StreamingQuery) -> bool:
    """Return whether a query is between batches; while it looks for data, it is."""
    status: Mapping[str, Any] = active.status
    return not status["isTriggerActive"] or str(status["message"]).startswith("Getting offsets")
