"""The kernel of a query whose join state is in a store: raw records in, decoded changes out."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from joinery.model.change import Change
from joinery.plan.nodes import Relation
from joinery.semantics.read_change import read_changes
from joinery.solutions.spark_state.assembler import Slot
from joinery.solutions.spark_state.program import KernelProgram, RelationProgram
from joinery.spark.kernel import class_of, load_jar, reading_of
from joinery.spark.source.source import BatchLabel, Topic

if TYPE_CHECKING:
    from joinery.spark.real_time.uncommitted import PendingRoots

_FEED = "dev.joinery.kernel.door.ChangeFeed"
_CHANGES = ".changes"


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """The relations of a query, decoded in a session's JVM.

    Attributes:
        program: That decodes them, and does nothing else.
        relations: Those of the program, in its order.
    """

    session: SparkSession
    program: KernelProgram
    relations: Sequence[Relation]
    _jvm_feed: Any

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return the decoded changes, in no order; to be given to `stage`.

        A store remembers itself which roots are pending.
        """
        reading = reading_of(self.session, self.program, self.relations, raw, topics)
        return DataFrame(self._jvm_feed.chain(reading), self.session)

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> dict[str, dict[str, dict[str, int]]]:
        """Run a batch once and write its changes and dead letters; see `Kernel.stage`."""
        counts: dict[str, dict[str, dict[str, int]]] = json.loads(
            self._jvm_feed.stage(batch._jdf, str(folder))
        )
        return counts

    def changes(self, folder: Path) -> list[Change]:
        """Return the changes of a batch that was staged, in log order."""
        parts = sorted((folder / _CHANGES).glob("part-*.jsonl"))
        lines = (line for part in parts for line in part.read_bytes().splitlines())
        return read_changes(lines, self.relations)


def open_change_feed(session: SparkSession, relations: Sequence[Relation]) -> ChangeFeed:
    """Open a feed of some relations in the JVM of `session`.

    Raises:
        SessionError: The session is of Spark Connect.
    """
    load_jar(session)
    program = feed_program(relations)
    return ChangeFeed(session, program, relations, class_of(session, _FEED).open(program.to_json()))


def feed_program(relations: Sequence[Relation]) -> KernelProgram:
    """Return a program without nodes that decodes all columns: a store holds whole rows."""
    return KernelProgram(
        levels=0,
        relations=tuple(_decoded(each) for each in relations),
        nodes=(),
        assemblers=(),
        products=(),
        routes=(),
        tombstone_retention_micros=0,
        max_document_bytes=0,
    )


def _decoded(relation: Relation) -> RelationProgram:
    names = [column.name for column in relation.columns]
    return RelationProgram(
        name=relation.name,
        columns=tuple(Slot(column.name, column.type) for column in relation.columns),
        key=tuple(names.index(column) for column in relation.key),
        assembler=0,
    )
