"""Begins the queries of a prepared run in a session, with what watches them.

Invariant: when it fails, nothing that it opened goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.delivery.control import ControlLog, PauseSwitch
from joinery.project.product import ProjectSpec
from joinery.spark.batch.ending import LogsEnded
from joinery.spark.batch.frontiers import Frontiers, followed_sources
from joinery.spark.batch.held import Held
from joinery.spark.batch.mode import RunMode
from joinery.spark.batch.pause import Pauses
from joinery.spark.batch.progress import (
    BatchTimes,
    ProgressBoard,
)
from joinery.spark.batch.query import QueryRun
from joinery.spark.batch.query_start import QueryStarter
from joinery.spark.batch.query_states import QueryStates
from joinery.spark.batch.tasks import SparkTasks
from joinery.spark.batch.timers import OverdueTimers, has_deadlines, has_timers
from joinery.spark.batch.watch import Watch
from joinery.spark.jar import needs_s3a, require_s3a
from joinery.spark.partitions import PARTITIONS, choose_partitions, partitions_warning
from joinery.spark.real_time.run import RealTimeRun
from joinery.spark.recovery.checkpoint import keeps_state, partitions_of
from joinery.spark.source.file_watch import FileWatch
from joinery.spark.source.kafka_groups import KafkaGroups
from joinery.spark.source.kafka_memory import kafka_memory
from joinery.spark.source.kafka_watch import KafkaWatch
from joinery.spark.source.registry_watch import RegistryWatch
from joinery.spark.source.source import sources_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """A run that is to begin.

    Attributes:
        spec: The project.
        mode: Where checkpoints stand.
        queries: All of them, prepared.
        held: What is held for them: stores, leases, the vault.
        board: Is told of progress and warnings.
        tasks: Whether executors can write.
        real_time: What runs them in real time; None in batches.
        once: Whether the run ends by itself.
        until_closed: Whether logs are over at their ends.
        rebuild: Whether everything is read anew.
    """

    spec: ProjectSpec
    mode: RunMode
    queries: Sequence[QueryRun]
    held: Held
    board: ProgressBoard
    tasks: SparkTasks
    real_time: RealTimeRun | None
    once: bool
    until_closed: bool
    rebuild: bool

    def begin(self, spark: SparkSession) -> tuple[Watch, BatchTimes]:
        """Start all queries that are not paused; return what watches them, and their batches."""
        self._check_store(spark)
        if any(each.wants_tasks for each in self.queries) and self.real_time is None:
            self._attach_tasks(spark)
        self.board.begin(self._partitions(spark))
        process = _jvm_process(spark)
        for query in self.queries:
            query.lease.add_process(process)
        reads = {each.name: sources_of(self.spec, each.products) for each in self.queries}
        checkpoints = {each: self.mode.paths(each).checkpoint for each in reads}
        ended = {
            each.name: LogsEnded(checkpoints[each.name], each.lease.check)
            for each in self.queries
            if self.until_closed and has_deadlines(each.lowered.program)
        }
        memories = {
            each.name: kafka_memory(checkpoints[each.name], each.lease.check)
            for each in self.queries
        }
        starter = QueryStarter(
            spark=spark,
            spec=self.spec,
            mode=self.mode,
            stores=self.held.stores,
            real_time=self.real_time,
            memory_share=1 / max(1, len(self.queries)),
            once=self.once,
            memories=memories,
            warn=self.board.warn,
            vault=self.held.door,
            ended=ended,
        )
        with ExitStack() as opened:  # which closes what it has where a later step fails
            groups = KafkaGroups(spark, (each for every in reads.values() for each in every))
            opened.callback(groups.close)
            board = self.board
            topics = KafkaWatch(
                spark, self.spec, reads, checkpoints, memories, board.warn, board.wait, board.lose
            )
            opened.callback(topics.close)
            files = FileWatch(self.spec, reads, checkpoints, self.board.warn, self.board.ignore)
            opened.callback(files.close)
            relations = [
                one for query in self.queries for each in query.products for one in each.relations
            ]
            overdue = {
                each.name: OverdueTimers(checkpoints[each.name], each.lease.check)
                for each in self.queries
                if self._has_timers(each)
            }
            followed = {name: followed_sources(self.spec, each) for name, each in reads.items()}
            frontiers = Frontiers(checkpoints, followed, self.board.reach)
            opened.callback(frontiers.close)
            watch = Watch(
                self.queries,
                starter.start,
                QueryStates(spark),
                self.real_time,
                self.board,
                topics,
                files,
                frontiers,
                RegistryWatch(spark, relations, self.board.wait),
                overdue,
                ended,
                Pauses(self._switches(), ends=self.once),
            )
            times = BatchTimes(spark, self.board, reads, groups)
            opened.callback(times.close)
            if self.real_time:
                opened.callback(self.real_time.close)
                levels = {each.name: each.lowered.program.levels for each in self.queries}
                self.real_time.reserve(spark, levels, checkpoints)
            going = [each for each in self.queries if not watch.begins_paused(each)]
            watch.begin(starter.start_all(going))
            frontiers.open()
            opened.pop_all()
        return watch, times

    def _check_store(self, spark: SparkSession) -> None:
        """See that a session reaches the checkpoint, where that is on no disk."""
        if isinstance(self.spec.checkpoint, Path):
            return
        if needs_s3a(self.spec):
            require_s3a(spark)
        master = spark.sparkContext.master or ""
        if master != "local" and not master.startswith("local["):
            for query in self.queries:
                query.staging.set_apart()

    def _partitions(self, spark: SparkSession) -> dict[str, int]:
        """Return in how many partitions each query keeps state, chosen for fresh checkpoints."""
        checkpoints = {each.name: self.mode.paths(each.name).checkpoint for each in self.queries}
        standing = {name: partitions_of(each) for name, each in checkpoints.items()}
        if None in standing.values():
            choose_partitions(spark)
        asked = int(str(spark.conf.get(PARTITIONS)))
        for name, found in standing.items():
            said = dict(self.spec.run.spark).get(PARTITIONS)
            if found is None or said is None or int(said) == found:
                continue
            if keeps_state(checkpoints[name]):
                self.board.warn(partitions_warning(name, found, int(said)))
        return {name: found or asked for name, found in standing.items()}

    def _attach_tasks(self, spark: SparkSession) -> None:
        """See whether executors can write; where they cannot and need not, the driver does."""
        needed = any(each.needs_tasks for each in self.queries)
        self.tasks.attach(spark, needed=needed, lease=self.queries[0].lease.watch)
        if self.tasks.missing:
            self.board.warn(self.tasks.warning)

    def _switches(self) -> dict[str, PauseSwitch]:
        """Return what tells whether a query is paused; a rebuild never is."""
        if self.rebuild:
            return {}
        names = (each.name for each in self.queries)
        logs = {name: ControlLog(self.mode.paths(name).control_file) for name in names}
        return {name: PauseSwitch(log) for name, log in logs.items()}

    def _has_timers(self, query: QueryRun) -> bool:
        """Return whether a query has work when a time comes; in real time it always goes on."""
        return self.real_time is None and has_timers(query.lowered.program)


def _jvm_process(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())
