"""The kernel of a query whose join state is in a store: raw records in, decoded changes out."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from joinery.engine.read_change import read_changes
from joinery.model.change import Change
from joinery.plan.nodes import Relation
from joinery.solutions.spark_state.program import KernelProgram, RelationProgram, Slot
from joinery.spark.batch_label import BatchLabel
from joinery.spark.kernel import class_of, load_jar, reading_of
from joinery.spark.topic import Topic

if TYPE_CHECKING:
    from joinery.spark.uncommitted import PendingRoots

_FEED = "dev.joinery.kernel.ChangeFeed"
_CHANGES = ".changes"


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """The relations of a query, decoded in a session's JVM.

    Attributes:
        program: Of the query's products; only its relations are used.
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


def open_change_feed(
    session: SparkSession, program: KernelProgram, relations: Sequence[Relation]
) -> ChangeFeed:
    """Open a feed in the JVM of `session`.

    Args:
        session: A classic session.
        program: The lowered products of one query.
        relations: All relations that they read, in any order.

    Raises:
        SessionError: The session is of Spark Connect.
    """
    load_jar(session)
    by_name = {each.name: each for each in relations}
    ordered = [by_name[each.name] for each in program.relations]
    whole = replace(program, relations=tuple(map(_with_all_columns, program.relations, ordered)))
    return ChangeFeed(session, whole, ordered, class_of(session, _FEED).open(whole.to_json()))


def _with_all_columns(used: RelationProgram, relation: Relation) -> RelationProgram:
    """Return a relation with the columns that no product reads, too: a store keeps whole rows."""
    names = [each.name for each in relation.columns]
    return replace(
        used,
        columns=tuple(Slot(each.name, each.type) for each in relation.columns),
        key=tuple(names.index(each) for each in relation.key),
    )
