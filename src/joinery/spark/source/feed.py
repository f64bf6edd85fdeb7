"""The kernel of a query whose join state is in a store: raw records in, decoded changes out.

Invariant: a column that no product reads is not decoded, and null in every row.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.model.change import Change, Row
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.semantics.read_change import read_changes
from joinery.solutions.spark_state.assembler import Slot
from joinery.solutions.spark_state.decoded import decoded_relations
from joinery.solutions.spark_state.program import KernelProgram, RelationProgram
from joinery.solutions.spark_state.sealing import sealed_of
from joinery.spark.jvm import class_of, load_jar
from joinery.spark.reading import reading_of
from joinery.spark.source.source import BatchLabel, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.spark.real_time.uncommitted import PendingRoots

_FEED = "dev.joinery.kernel.door.ChangeFeed"
_CHANGES = ".changes"


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """The relations of a query, decoded in a session's JVM.

    Attributes:
        program: That decodes them, and does nothing else.
        relations: Those of the program, in its order, with the columns that are decoded.
        unread: By relation, nulls for its other columns.
    """

    session: SparkSession
    program: KernelProgram
    relations: Sequence[Relation]
    unread: Mapping[str, Row]
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
        from pyspark.sql import DataFrame

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
        return [completed(each, self.unread) for each in read_changes(lines, self.relations)]


def completed(change: Change, unread: Mapping[str, Row]) -> Change:
    """Return a change with nulls for the columns that are not decoded, by relation.

    A column that the record leaves out is still left out, so that it keeps its stored value.
    """
    nulls = unread.get(change.relation)
    if not nulls or change.after is None:
        return change
    return replace(change, after={**nulls, **change.after})


def unread_columns(
    whole: Sequence[Relation], decoded: Sequence[Relation]
) -> dict[str, dict[str, None]]:
    """Return, by relation, nulls for the columns that `decoded` lacks of `whole`."""
    known = {each.name: {column.name for column in each.columns} for each in decoded}
    return {
        each.name: {
            column.name: None for column in each.columns if column.name not in known[each.name]
        }
        for each in whole
    }


def open_change_feed(session: SparkSession, products: Sequence[Product]) -> ChangeFeed:
    """Open a feed of the relations of one query in the JVM of `session`.

    Raises:
        SessionError: The session is of Spark Connect.
    """
    load_jar(session)
    relations = decoded_relations(products)
    program, whole = feed_program(relations), [each for one in products for each in one.relations]
    return ChangeFeed(
        session,
        program,
        relations,
        unread_columns(whole, relations),
        class_of(session, _FEED).open(program.to_json()),
    )


def feed_program(relations: Sequence[Relation]) -> KernelProgram:
    """Return a program without nodes that decodes all columns of some relations."""
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
        sealed=sealed_of(relation, names),
        append=relation.append or None,
    )
