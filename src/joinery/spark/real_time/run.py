"""The queries of a run in real-time mode, and the task slots that they need.

Invariant: no query is started unless the session has task slots for all that run at once,
those that rest for now included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from joinery.clients.kafka import Topic, describe_topic
from joinery.dead_letters.topic import open_dead_letter_topic
from joinery.delivery.lease import Lease
from joinery.place.place import Place, local
from joinery.plan.product import Product
from joinery.processor import usable_processors
from joinery.project.kafka import kafka_options
from joinery.project.product import ProjectSpec
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.watermarks import QueryTimes
from joinery.spark.partitions import PARTITIONS
from joinery.spark.real_time.counts import DocumentCounts
from joinery.spark.real_time.handover import HandoverWriter, Sender
from joinery.spark.real_time.query import RealTimeQuery, partitions_read
from joinery.spark.real_time.rules import (
    DriverTarget,
    RealTimeTarget,
    check_local,
    check_slots,
    real_time_target,
    slots_needed,
)
from joinery.spark.real_time.writers import DriverWriter, LiveWriter, TopicWriter
from joinery.spark.recovery.checkpoint import committed_positions, partitions_of
from joinery.spark.source.kafka import subscription
from joinery.spark.source.kafka_client import KafkaClient, KafkaUnreachableError
from joinery.spark.source.kafka_memory import KafkaMemory
from joinery.spark.source.open import open_sources
from joinery.spark.source.source import SourceRead
from joinery.spark.source.source import Topic as SourceTopic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from joinery.spark.kernel import Kernel, RealTimeKernel
    from joinery.spark.streams.kernel import StreamKernel

# Idle slots cost nothing; a query takes one for each partition of its topics and levels.
_LOCAL_SLOTS = 512
_FLUSH_MS = 2


class RealTimeRun:
    """The queries of one run in real-time mode.

    Args:
        spec: The project.
        board: Notified of what is counted.
    """

    def __init__(self, spec: ProjectSpec, board: ProgressBoard) -> None:
        self._spec = spec
        self._board = board
        self._targets: dict[str, RealTimeTarget | DriverTarget] = {}
        self._reads: dict[str, Sequence[SourceRead]] = {}
        self._queries: dict[str, RealTimeQuery] = {}
        self._slots: dict[str, int] = {}
        self._estimated: set[str] = set()

    def add(self, name: str, products: Sequence[Product], reads: Sequence[SourceRead]) -> None:
        """Take a query that is to run.

        Raises:
            RealTimeRefusedError: It cannot run in real-time mode.
        """
        self._targets[name] = real_time_target(self._spec, name, products, reads)
        self._reads[name] = reads

    def reserve(
        self, spark: SparkSession, levels: Mapping[str, int], checkpoints: Mapping[str, Place]
    ) -> None:
        """Count the task slots of all queries before one starts; one that rests starts later.

        Where no broker answers, as many partitions count as the checkpoint has read, until the
        query starts.

        Args:
            spark: The session that they run in.
            levels: Of the program of each query.
            checkpoints: Of each query.

        Raises:
            RealTimeRefusedError: The session has too few.
        """
        for name, count in levels.items():
            checkpoint = checkpoints[name]
            try:
                partitions = self._partitions(spark, name)
            except KafkaUnreachableError:  # It is told, or waited for, at the start.
                partitions = partitions_read(committed_positions(checkpoint))
                if partitions == 0:
                    continue
                self._estimated.add(name)
            self._count(spark, name, partitions, levels=count, checkpoint=checkpoint)

    def start(
        self,
        spark: SparkSession,
        name: str,
        kernel: Kernel | StreamKernel,
        *,
        checkpoint: Place,
        lease: Lease,
        times: QueryTimes,
        sent: Callable[[DocumentCounts], None],
        sender: Sender,
        memory: KafkaMemory,
        catch_up: Callable[[], StreamingQuery],
    ) -> StreamingQuery:
        """Start a query: first the batches that `catch_up` starts.

        Raises:
            RealTimeRefusedError: The session has too few task slots, or is not local, where the
                driver is to write.
        """
        if name not in self._slots or name in self._estimated:
            partitions, levels = self._partitions(spark, name), kernel.program.levels
            self._count(spark, name, partitions, levels=levels, checkpoint=checkpoint)
            self._estimated.discard(name)
        door = kernel.real_time()
        query = RealTimeQuery(
            name,
            checkpoint,
            self._writer(spark, name, door, checkpoint, lease, sender, memory),
            interval_ms=self._spec.run.checkpoint_interval_ms,
            catch_up=catch_up,
            counts=door.counts,
            close_counts=door.close,
            sent=sent,
            times=times,
            board=self._board,
        )
        self._queries[name] = query
        return query.start()

    def after(self, name: str) -> StreamingQuery | None:
        """Start what follows on a query that ended well; None where nothing does."""
        query = self._queries[name]
        return None if query.live else query.after()

    def live(self, name: str) -> bool:
        """Return whether a query takes a change at a time by now."""
        return name in self._queries and self._queries[name].live

    def close(self) -> None:
        """Tell the last counts of all queries."""
        for query in self._queries.values():
            query.close()

    def _count(
        self, spark: SparkSession, name: str, partitions: int, *, levels: int, checkpoint: Place
    ) -> None:
        # The first batch of a query decides how many it has.
        shuffle_partitions = partitions_of(checkpoint) or int(str(spark.conf.get(PARTITIONS)))
        needed = slots_needed(
            partitions=partitions,
            levels=levels,
            shuffle_partitions=shuffle_partitions,
        )
        others = sum(slots for query, slots in self._slots.items() if query != name)
        check_slots(name, others + needed, _slots_there(spark))
        self._slots[name] = needed

    def _writer(
        self,
        spark: SparkSession,
        name: str,
        door: RealTimeKernel,
        checkpoint: Place,
        lease: Lease,
        sender: Sender,
        memory: KafkaMemory,
    ) -> LiveWriter:
        """Return what brings the records of a query to its sinks."""
        target = self._targets[name]
        read = partial(self._read, spark, name, checkpoint, memory)
        if isinstance(target, DriverTarget):
            check_local(name, spark.sparkContext.master or "")
            handover = door.handover(local(checkpoint, "real-time mode"))
            return DriverWriter(
                handover,
                lambda: door.handed(*read(), lease=lease),
                HandoverWriter(name, handover, sender),
            )
        letters = target.dead_letters
        open_dead_letter_topic(letters.brokers, letters.topic)
        return TopicWriter(
            target,
            partial(_sizes, target),
            lambda sizes: door.records(*read(), target, max_bytes=sizes, lease=lease),
        )

    def _read(
        self, spark: SparkSession, name: str, checkpoint: Place, memory: KafkaMemory
    ) -> tuple[DataFrame, Sequence[Collection[SourceTopic]]]:
        """Return the raw stream of a query from its checkpoint on, and its topics."""
        begun = committed_positions(checkpoint)
        # Real-time mode takes what comes; Spark refuses it a bound.
        unbounded = replace(self._spec.run, max_rows_per_batch=0)
        spec = replace(self._spec, run=unbounded)
        raw = open_sources(spark, spec, self._reads[name], begun, memory=memory)
        for warning in raw.warnings:
            self._board.warn(warning)
        return raw.frame, raw.topics

    def _partitions(self, spark: SparkSession, name: str) -> int:
        found = 0
        for read in self._reads[name]:
            if read.source.kind != "kafka":  # A task follows each table.
                found += len(read.relations)
                continue
            with KafkaClient(spark, read.source.name, kafka_options(read.source)) as client:
                topics = client.partitions(subscription(tuple(read.relations)))
                found += sum(len(partitions) for _, partitions in topics)
        return found


def _sizes(target: RealTimeTarget) -> dict[str, int]:
    """Return the size of the largest record that each topic takes."""
    return {
        each.topic: (describe_topic(each.brokers, each.topic) or Topic()).max_bytes
        for each in target.places
    }


def real_time_settings(*, master_given: bool) -> dict[str, str]:
    """Return what a session of ours is to have for real-time mode; a user's settings win.

    Without a master of the user's, the session is local, with slots enough for any query
    that one machine can run.
    """
    local = {
        "spark.master": f"local[{_LOCAL_SLOTS}]",
        PARTITIONS: str(usable_processors()),
    }
    return {
        **({} if master_given else local),
        # How long a row may wait for others before it goes to the next level.
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": str(_FLUSH_MS),
        # Brings the counts of tasks that run for minutes.
        "spark.executor.heartbeatInterval": "2s",
    }


def _slots_there(spark: SparkSession) -> int:
    """Return how many tasks the session can run at once."""
    context: Any = spark.sparkContext._jsc
    scala = context.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))
