"""What rows of another relation lead to: the join values of children, for a parent's join value.

Invariant: a join value is given once, however many rows name it; so a child, which has one, is
listed once. Above `hot_above` rows that name it, of whichever parents, it is told as hot instead.
"""

from __future__ import annotations

from typing import Any

from joinery.expression.convert import converter
from joinery.expression.order import value_key
from joinery.model.change import Row
from joinery.model.type import Array, Struct
from joinery.plan.node import Hot, Node, Through
from joinery.semantics.rows import JoinValue, Matching, equal_value, join_reader


class Reached:
    """Finds the join values of an embed's children, and those that are hot.

    Args:
        node: The embed.
        through: The relation that leads to its rows.
    """

    def __init__(self, node: Node, through: Through) -> None:
        relation = through.relation
        columns = tuple(pair.parent for pair in node.on)
        self._from = relation.name, tuple(pair.child for pair in through.on)
        self._to = relation.name, columns
        self._value_of = join_reader(relation, columns)
        self._hot_above = through.hot_above
        self._told = _HotValue(node, through)

    def by(self, value: JoinValue | None, rows: Matching) -> tuple[list[JoinValue], list[Any]]:
        """Return the join values that are listed for a parent's, and the hot ones as they are told.

        Args:
            value: What the rows of the relation equal; None matches nothing.
            rows: Those that exist.
        """
        listed: list[JoinValue] = []
        hot: list[Row] = []
        for joined, row in self._named(value, rows).items():
            if self._is_hot(joined, rows):
                hot.append(row)
            else:
                listed.append(joined)
        return listed, self._told.of(hot)

    def _named(self, value: JoinValue | None, rows: Matching) -> dict[JoinValue, Row]:
        """Return the join values that a parent's rows name, each with one of those rows."""
        leading = ((self._value_of(row), row) for row in rows.matching(*self._from, value))
        return {joined: row for joined, row in leading if joined is not None}

    def _is_hot(self, joined: JoinValue, rows: Matching) -> bool:
        bound = self._hot_above
        return bound is not None and len(rows.matching(*self._to, joined)) > bound


class _HotValue:
    """Tells a hot join value: as a value, or as an object of several."""

    def __init__(self, node: Node, through: Through) -> None:
        self._columns = [
            (pair.child, pair.parent, converter(through.relation.type_of(pair.parent), pair.type))
            for pair in node.on
        ]
        kind = Hot(node).type
        assert isinstance(kind, Array)
        self._alone = not isinstance(kind.element, Struct)
        self._rank = value_key(kind.element)

    def of(self, rows: list[Row]) -> list[Any]:
        """Return the values that rows name, in order."""
        return sorted(map(self._value, rows), key=self._rank)

    def _value(self, row: Row) -> Any:
        told = {name: equal_value(widen(row[column])) for name, column, widen in self._columns}
        return next(iter(told.values())) if self._alone else told
