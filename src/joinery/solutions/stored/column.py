"""Values of many rows at once, a list a name: expressions over them, their texts, their order.

A `RowTable` is rows as a store gives them, cells in tuples; any sequence of rows may stand in
its place, and `cells_of` and `join_values` take either.

Invariant: all columns of a set have one length, and the value at an index belongs to the row
at that index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any, overload

from joinery.expression.evaluate import typed_expression
from joinery.expression.order import is_ordered_itself, order_key, row_key
from joinery.expression.typed import Apply, Constant, Expression, Read, parts
from joinery.model.change import Row
from joinery.model.type import STRING, Atomic, DataType
from joinery.plan.relation import Relation
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings, JoinValue, guarded, join_reader

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

    # Python's own way to say that what is compared by content has no hash.
    __hash__ = None  # type: ignore[assignment]


def cells_of(rows: Sequence[Row], name: str) -> Column:
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
        taken = [cells_of(rows, name) for name in columns]
        joined: list[JoinValue | None] = list(zip(*taken, strict=True))
        if any(None in each for each in taken):
            return [None if value is None or None in value else value for value in joined]
        return joined

    return values


class Columns:
    """The columns of some rows, taken when they are asked for, and of what is computed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._known: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        column = self._known.get(name)
        if column is None:
            column = self._known[name] = cells_of(self.rows, name)
        return column

    def put(self, name: str, column: Column) -> None:
        """Let `name` be a computed column; it hides the rows' own."""
        self._known[name] = column

    def over(self, columns: Mapping[str, Column]) -> Columns:
        """Return these columns, hidden by others."""
        both = Columns(self.rows)
        both._known = {**self._known, **columns}
        return both

    def kept(self, keep: Sequence[bool]) -> Columns:
        """Return the columns of the rows that are kept."""
        some = Columns(kept(self.rows, keep))
        some._known = {name: list(compress(each, keep)) for name, each in self._known.items()}
        return some


def column_of(expression: Expression, findings: Findings) -> Callable[[Columns], Column]:
    """Return the function from columns by name to an expression's values.

    A failure gives null, and is found. What only takes a name, or a field of an object, is
    taken without evaluating row by row.
    """
    typed = typed_expression(expression)
    match typed:
        case Read(name):
            return lambda columns: columns[name]
        case Apply("field", (Read(name), Constant(field))):
            return lambda columns: [
                None if value is None else value.get(field) for value in columns[name]
            ]
        case _:
            pass
    names = sorted({each.name for each in parts(typed) if isinstance(each, Read)})
    evaluate = guarded(expression, findings)

    def compute(columns: Columns) -> Column:
        if not names:
            return [evaluate({}) for _ in columns.rows]
        cells = zip(*(columns[name] for name in names), strict=True)
        return [evaluate(dict(zip(names, each, strict=True))) for each in cells]

    return compute


def texts_of(kind: DataType) -> Callable[[Column], list[str]]:
    """Return the function from values of a type to their JSON texts."""
    if kind == STRING:
        return lambda column: [
            "null" if value is None else encode_basestring(value) for value in column
        ]
    render = renderer(kind)
    return lambda column: list(map(render, column))


def ranks_of(kinds: Sequence[tuple[DataType, bool]]) -> Callable[[Sequence[Column]], list[Any]]:
    """Return the function from columns to sort keys of their rows, one `(type, descending)` each.

    Nulls are first upward and last downward.
    """
    directed = [_directed(kind, descending) for kind, descending in kinds]

    def ranks(columns: Sequence[Column]) -> list[Any]:
        keys = [key(column) for key, column in zip(directed, columns, strict=True)]
        return list(zip(*keys, strict=True))

    return ranks


def _directed(kind: DataType, descending: bool) -> Callable[[Column], Column]:
    if descending:
        rank = row_key([(kind, True)])
        return lambda column: [rank((value,)) for value in column]
    if is_ordered_itself(kind):
        return lambda column: (
            [(value is not None, value) for value in column] if None in column else column
        )
    key = order_key(kind)
    return lambda column: list(map(key, column))
