"""Rows as a store gives them: cells in tuples, taken as columns, or as rows where one asks.

Any sequence of rows may stand in its place; `column` and `join_values` take either.

Invariant: the rows are those that mappings from name to value would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import Any, overload

from joinery.model.change import Row
from joinery.model.type import Atomic
from joinery.plan.nodes import Relation
from joinery.semantics.rows import JoinValue, join_reader

Column = list[Any]
_FLOATING = (Atomic("float"), Atomic("double"))


class RowTable(Sequence[Row]):
    """Rows with the same columns.

    Args:
        names: Of the columns, in the order of the cells.
        cells: A tuple a row.
        converts: From a cell that is not null to the value, for the columns where they differ.
    """

    __slots__ = ("_cells", "_columns", "_converts", "_names")

    def __init__(
        self,
        names: Sequence[str],
        cells: Sequence[tuple[Any, ...]],
        converts: Mapping[str, Callable[[Any], Any]],
    ) -> None:
        self._names, self._cells, self._converts = names, cells, converts
        self._columns: dict[str, Column] = {}

    def column(self, name: str) -> Column:
        """Return the values of one column."""
        column = self._columns.get(name)
        if column is None:
            column = list(map(itemgetter(self._names.index(name)), self._cells))
            convert = self._converts.get(name)
            if convert is not None:
                column = [None if cell is None else convert(cell) for cell in column]
            self._columns[name] = column
        return column

    def kept(self, keep: Sequence[bool]) -> RowTable:
        """Return the rows that are kept."""
        return RowTable(self._names, list(compress(self._cells, keep)), self._converts)

    def __len__(self) -> int:
        return len(self._cells)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return list(self)[at]

    def __iter__(self) -> Iterator[Row]:
        columns = [self.column(name) for name in self._names]
        for values in zip(*columns, strict=True):
            yield dict(zip(self._names, values, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def column(rows: Sequence[Row], name: str) -> Column:
    """Return the values of one column of any rows."""
    return rows.column(name) if isinstance(rows, RowTable) else list(map(itemgetter(name), rows))


def kept(rows: Sequence[Row], keep: Sequence[bool]) -> Sequence[Row]:
    """Return the rows that are kept."""
    return rows.kept(keep) if isinstance(rows, RowTable) else list(compress(rows, keep))


def join_values(
    relation: Relation, columns: Sequence[str]
) -> Callable[[Sequence[Row]], list[JoinValue | None]]:
    """Return the function from rows of a relation to what each joins on, as `join_value`."""
    if any(relation.type_of(name) in _FLOATING for name in columns):
        read = join_reader(relation, columns)
        return lambda rows: list(map(read, rows))

    def values(rows: Sequence[Row]) -> list[JoinValue | None]:
        taken = [column(rows, name) for name in columns]
        joined: list[JoinValue | None] = list(zip(*taken, strict=True))
        if any(None in each for each in taken):
            return [None if value is None or None in value else value for value in joined]
        return joined

    return values
