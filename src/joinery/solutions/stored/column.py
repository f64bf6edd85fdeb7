"""Values of many rows at once, a list a name: expressions over them, their texts, their order.

Invariant: all columns of a set have one length, and the value at an index belongs to the row
at that index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from json.encoder import encode_basestring
from typing import Any

from joinery.expression.evaluate import typed_expression
from joinery.expression.order import is_ordered_itself, order_key, row_key
from joinery.expression.typed import Apply, Constant, Read, parts
from joinery.model.change import Row
from joinery.model.type import STRING, DataType
from joinery.plan.nodes import Expression
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings, Scope, guarded
from joinery.solutions.stored.table import Column, kept
from joinery.solutions.stored.table import column as taken


class Columns:
    """The columns of some rows, taken when they are asked for, and of what is computed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._known: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        column = self._known.get(name)
        if column is None:
            column = self._known[name] = taken(self.rows, name)
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


def column_of(
    expression: Expression, scope: Scope, findings: Findings
) -> Callable[[Columns], Column]:
    """Return the function from columns under the names of `scope` to an expression's values.

    A failure gives null, and is found. What only takes a name, or a field of an object, is
    taken without evaluating row by row.
    """
    typed = typed_expression(expression, scope)
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
    evaluate = guarded(expression, scope, findings)

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
