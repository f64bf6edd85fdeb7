"""The kernel of streams: levels in the JVM, functions and stores between and behind them.

Invariant: the stateful part of a batch runs once, whatever is asked behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import DataFrame, SparkSession

from joinery.plan.relation import Relation
from joinery.project.kinds import JSON
from joinery.solutions.spark_state.lower_stream import LoweredStreams
from joinery.spark.kernel import Kernel, PartsApart, RealTimeKernel, open_kernel
from joinery.spark.reading import formats_json
from joinery.spark.source.source import Topic
from joinery.spark.streams.lookups import SentTables, StreamLookups
from joinery.spark.streams.map import mapped

if TYPE_CHECKING:
    from joinery.solutions.spark_state.program import KernelProgram
    from joinery.spark.real_time.uncommitted import PendingRoots
    from joinery.spark.source.source import BatchLabel
    from joinery.vault.door import VaultAddress


@dataclass(frozen=True, slots=True)
class StreamKernel:
    """The streams of one query in a session's JVM.

    Attributes:
        kernel: Their program.
        lowered: What of it needs more than the JVM.
        folder: Where functions and stores are looked for.
        lookups: Of the stores; needed where there are lookups in some.
        tables: Those of stores that its tasks have whole.
    """

    kernel: Kernel
    lowered: LoweredStreams
    folder: Path
    lookups: StreamLookups | None = None
    tables: SentTables = field(default_factory=SentTables)

    def sealing(self, vault: VaultAddress, spools: frozenset[str]) -> Self:
        """Return the kernel with what it seals by; see `Kernel.sealing`."""
        return replace(self, kernel=self.kernel.sealing(vault, spools))

    @property
    def program(self) -> KernelProgram:
        """What was compiled."""
        return self.kernel.program

    @property
    def relations(self) -> Sequence[Relation]:
        """The relations that the streams read."""
        return self.kernel.relations

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return what leaves the levels; see `Kernel.chain`.

        An event that was sent and not committed is read again, so none is pending.
        """
        levels = range(1, self.program.levels + 1)
        if not any(self._maps(level) for level in levels):
            return self.kernel.chain(raw, topics)
        door = self.kernel.streams()
        frame = self._frame(door.decoded(self.kernel.reading(raw, topics)))
        for level in levels:
            maps = self._maps(level)
            frame = self._mapped(door, frame, maps) if maps else self._level(door, frame, level)
        return frame

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> Mapping[str, Any]:
        """Run a batch once and write its events and dead letters; see `Kernel.stage`."""
        last = max((node.level for node in self.program.nodes), default=0)
        if last <= self.program.levels:
            return self.kernel.stage(batch, folder)
        kept = batch.persist()
        try:
            frame, door = kept, self.kernel.streams()
            for level in range(self.program.levels + 1, last + 1):
                frame = self._mapped(door, frame, self._maps(level))
                frame = self._asked(door, frame, level)
            counts = self.kernel.stage(frame, folder)
        finally:
            kept.unpersist()
        return {**counts, "lookups": self.lookups.progress() if self.lookups else {}}

    def staging_apart(self, apart: PartsApart) -> StreamKernel:
        """Return the same for tasks that do not see the driver's disk."""
        return replace(self, kernel=self.kernel.staging_apart(apart))

    def real_time(self) -> RealTimeKernel:
        """Return the kernel as real-time mode runs it."""
        return self.kernel.real_time()

    def _frame(self, jvm_frame: Any) -> DataFrame:
        return DataFrame(jvm_frame, self.kernel.session)

    def _maps(self, level: int) -> list[int]:
        nodes = self.program.nodes
        return [each for each in self.lowered.maps if nodes[each].level == level]

    def _level(self, door: Any, frame: DataFrame, level: int) -> DataFrame:
        return self._frame(door.level(frame._jdf, level))

    def _mapped(self, door: Any, frame: DataFrame, nodes: Sequence[int]) -> DataFrame:
        for node in nodes:
            rows = DataFrame(door.mapping(frame._jdf, node), frame.sparkSession)
            made = mapped(rows, self.lowered.maps[node], self.folder)
            frame = DataFrame(door.mapped(made._jdf, node), frame.sparkSession)
        return frame

    def _asked(self, door: Any, frame: DataFrame, level: int) -> DataFrame:
        for node in self.lowered.asked:
            if self.program.nodes[node].level == level:
                assert self.lookups is not None  # a query with lookups in stores has them open
                jvm_frame = self._answered(door, frame, node, self.lookups)
                frame = DataFrame(jvm_frame, frame.sparkSession)
        return frame

    def _answered(self, door: Any, frame: DataFrame, node: int, lookups: StreamLookups) -> Any:
        """Return the events of a node with their rows: of the whole table, or by their keys."""
        whole = lookups.whole(node)
        if whole is None:
            question = door.ask(frame._jdf, node)
            answers = lookups.answers(node, question.keys())
            return question.answer(self._formats(), answers)

        def send() -> Any:
            return door.whole(frame._jdf, node, self._formats(), lookups.pairs(node, whole))

        return self.tables.of(node, whole, send).answer(frame._jdf)

    def _formats(self) -> str:
        """Return how rows of stores are read: as flat JSON."""
        flat = [
            replace(each, format=JSON.name, position=None, registry=None) for each in self.relations
        ]
        return formats_json(self.program, flat)


def open_stream_kernel(
    spark: SparkSession,
    lowered: LoweredStreams,
    relations: Sequence[Relation],
    folder: Path,
    lookups: StreamLookups | None = None,
) -> StreamKernel:
    """Compile streams in the JVM of a session.

    Args:
        spark: A classic session.
        lowered: The streams of one query.
        relations: All that they read, tables of stores included.
        folder: Where functions and stores are looked for.
        lookups: Of their stores, opened.
    """
    kernel = open_kernel(spark, lowered.program, relations)
    return StreamKernel(kernel, lowered, folder, lookups)
