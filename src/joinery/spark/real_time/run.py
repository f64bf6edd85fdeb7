"""The real-time side of a run: what its queries need together, and how each is started.

Invariant: no query is started unless the session has task slots for all that run at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.clients.kafka import Topic, describe_topic
from joinery.dead_letters.topic import open_letter_topic
from joinery.delivery.lease import Lease
from joinery.plan.nodes import Product
from joinery.processor import usable_processors
from joinery.project.kafka import kafka_options
from joinery.project.product import ProjectSpec
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.real_time.query import RealTimeQuery
from joinery.spark.real_time.rules import (
    KafkaTopic,
    RealTimeTarget,
    check_slots,
    real_time_target,
    slots_needed,
)
from joinery.spark.recovery.checkpoint import committed_positions
from joinery.spark.source.kafka import subscription
from joinery.spark.source.kafka_client import KafkaClient
from joinery.spark.source.source import SourceRead, open_sources
from joinery.spark.uncommitted import last_commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from joinery.spark.kernel import Kernel, RealTimeKernel

_PARTITIONS = "spark.sql.shuffle.partitions"
# Idle slots cost nothing; a query takes one for each partition of its topics and levels.
_LOCAL_SLOTS = 512
_FLUSH_MS = 2


class RealTimeRun:
    """The queries of one run in real-time mode.

    Args:
        spec: The project.
        board: Told of what is counted.
    """

    def __init__(self, spec: ProjectSpec, board: ProgressBoard) -> None:
        self._spec = spec
        self._board = board
        self._targets: dict[str, RealTimeTarget] = {}
        self._reads: dict[str, Sequence[SourceRead]] = {}
        self._queries: dict[str, RealTimeQuery] = {}
        self._slots = 0

    def add(self, name: str, products: Sequence[Product], reads: Sequence[SourceRead]) -> None:
        """Take a query that is to run.

        Raises:
            RealTimeRefusedError: It cannot run in real-time mode.
        """
        self._targets[name] = real_time_target(self._spec, name, products, reads)
        self._reads[name] = reads

    def start(
        self,
        spark: SparkSession,
        name: str,
        kernel: Kernel,
        *,
        checkpoint: Path,
        lease: Lease,
        catch_up: Callable[[], StreamingQuery],
    ) -> StreamingQuery:
        """Start a query: first the batches that `catch_up` starts.

        Raises:
            RealTimeRefusedError: The session has too few task slots.
        """
        self._slots += slots_needed(
            partitions=self._partitions(spark, name),
            levels=kernel.program.levels,
            shuffle_partitions=_shuffle_partitions(spark, checkpoint),
        )
        check_slots(name, self._slots, _slots_there(spark))
        letters = self._targets[name].dead_letters
        open_letter_topic(letters.brokers, letters.topic)
        door = kernel.real_time()
        query = RealTimeQuery(
            name,
            checkpoint,
            self._targets[name],
            interval_ms=self._spec.run.checkpoint_interval_ms,
            catch_up=catch_up,
            records=partial(self._records, spark, name, door, checkpoint, lease),
            counts=door.counts,
            close_counts=door.close,
            board=self._board,
        )
        self._queries[name] = query
        return query.start()

    def after(self, name: str, ended: StreamingQuery) -> StreamingQuery | None:
        """Start what follows on a query that ended well; None where nothing does."""
        query = self._queries[name]
        return None if query.live else query.after(ended)

    def live(self, name: str) -> bool:
        """Return whether a query takes a change at a time by now."""
        return name in self._queries and self._queries[name].live

    def close(self) -> None:
        """Tell the last counts of all queries."""
        for query in self._queries.values():
            query.close()

    def _records(
        self,
        spark: SparkSession,
        name: str,
        door: RealTimeKernel,
        checkpoint: Path,
        lease: Lease,
    ) -> DataFrame:
        begun, target = committed_positions(checkpoint), self._targets[name]
        # Real-time mode takes what comes; Spark refuses it a bound.
        unbounded = replace(self._spec.run, max_rows_per_batch=0)
        spec = replace(self._spec, run=unbounded)
        raw = open_sources(spark, spec, self._reads[name], begun)
        for warning in raw.warnings:
            self._board.warn(warning)
        topics = [each for found in target.topics.values() for each in found]
        sizes = {each.topic: _max_bytes(each) for each in topics}
        return door.records(raw.frame, raw.topics, target, max_bytes=sizes, lease=lease)

    def _partitions(self, spark: SparkSession, name: str) -> int:
        found = 0
        for read in self._reads[name]:
            with KafkaClient(spark, read.source.name, kafka_options(read.source)) as client:
                topics = client.partitions(subscription(tuple(read.relations)))
                found += sum(len(partitions) for _, partitions in topics)
        return found


def _max_bytes(place: KafkaTopic) -> int:
    """Return the size of the largest record that a topic takes."""
    return (describe_topic(place.brokers, place.topic) or Topic()).max_bytes


def real_time_settings(*, master_given: bool) -> dict[str, str]:
    """Return what a session of ours is to have for real-time mode; a user's settings win.

    Without a master of the user's, the session is local, with slots enough for any query
    that one machine can run.
    """
    local = {
        "spark.master": f"local[{_LOCAL_SLOTS}]",
        _PARTITIONS: str(usable_processors()),
    }
    return {
        **({} if master_given else local),
        # How long a row may wait for others before it goes to the next level.
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": str(_FLUSH_MS),
        # Brings the counts of tasks that run for minutes.
        "spark.executor.heartbeatInterval": "2s",
    }


def _shuffle_partitions(spark: SparkSession, checkpoint: Path) -> int:
    """Return how many a query has: its first batch decided."""
    last, _ = last_commit(checkpoint)
    try:
        told = (checkpoint / "offsets" / str(last)).read_text(encoding="utf-8").splitlines()
        return int(json.loads(told[1])["conf"][_PARTITIONS])
    except (OSError, IndexError, KeyError, ValueError):
        return int(str(spark.conf.get(_PARTITIONS)))


def _slots_there(spark: SparkSession) -> int:
    """Return how many tasks the session can run at once."""
    context: Any = spark.sparkContext._jsc
    scala = context.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))
