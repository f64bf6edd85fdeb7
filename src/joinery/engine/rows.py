"""The rows that exist at one moment, found by the values of any of their columns.

Invariant: `matching` is SQL equality: null equals nothing, NaN equals NaN, and numbers of
different widths are equal when their values are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Protocol

from joinery.model.change import Row
from joinery.model.type import Atomic
from joinery.plan.nodes import Relation

JoinValue = tuple[Any, ...]
_FLOATING = (Atomic("float"), Atomic("double"))


class Matching(Protocol):
    """Where rows are looked up."""

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`; None matches nothing."""


class Rows:
    """Rows by relation, with an index on each set of columns that was asked for."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        self._rows = rows
        self._indexes: dict[tuple[str, tuple[str, ...]], dict[JoinValue, list[Row]]] = {}

    def of(self, relation: str) -> Sequence[Row]:
        """Return all rows of `relation`."""
        return self._rows.get(relation, ())

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`; None matches nothing."""
        if value is None:
            return ()
        if (relation, columns) not in self._indexes:
            self._indexes[relation, columns] = _index(self.of(relation), columns)
        return self._indexes[relation, columns].get(value, ())


def join_value(row: Row, columns: Iterable[str]) -> JoinValue | None:
    """Return what `row` joins on, None where one of the columns is null.

    Example:
        >>> join_value({"a": 1, "b": 2}, ["b", "a"]), join_value({"a": None}, ["a"])
        ((2, 1), None)
    """
    value = tuple(_comparable(row[column]) for column in columns)
    return None if None in value else value


def values_reader(columns: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function from a row to the values of some columns."""
    if len(columns) == 1:
        only = columns[0]
        return lambda row: (row[only],)
    return itemgetter(*columns)


def join_reader(relation: Relation, columns: Sequence[str]) -> Callable[[Row], JoinValue | None]:
    """Return `join_value` over the columns of a relation, the faster where none is a float."""
    if any(relation.type_of(column) in _FLOATING for column in columns):
        return lambda row: join_value(row, columns)
    if len(columns) == 1:
        only = columns[0]
        return lambda row: None if (value := row[only]) is None else (value,)
    read = itemgetter(*columns)
    return lambda row: None if None in (value := read(row)) else value


def _index(rows: Iterable[Row], columns: tuple[str, ...]) -> dict[JoinValue, list[Row]]:
    index: dict[JoinValue, list[Row]] = defaultdict(list)
    for row in rows:
        value = join_value(row, columns)
        if value is not None:
            index[value].append(row)
    return dict(index)


def _comparable(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
