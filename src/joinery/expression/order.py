"""The order of values: nulls first, text by UTF-8 bytes, NaN equal to itself and greatest.

Descending is the exact reverse, so nulls come last there.

Invariant: two values have equal keys exactly when `=` holds between them, or both are null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import total_ordering
from typing import Any

from joinery.model.type import DOUBLE, Array, Atomic, DataType, Decimal, Map, Struct

Key = Callable[[Any], Any]
_NULL = (0,)


def order_key(kind: DataType) -> Key:
    """Return the function from a value of type `kind`, or null, to its place in the order.

    Example:
        >>> from joinery.model.type import DOUBLE
        >>> sorted([float("nan"), 1.0, None], key=order_key(DOUBLE))
        [None, 1.0, nan]
    """
    inner = value_key(kind)
    return lambda value: _NULL if value is None else (1, inner(value))


def value_key(kind: DataType) -> Key:
    """Return the same for values that are not null."""
    match kind:
        case Atomic("double" | "float"):
            return lambda value: (value != value, 0.0 if value != value else value)
        case Array(element):
            key = order_key(element)
            return lambda value: [key(each) for each in value]
        case Struct(fields):
            keys = [(each.name, order_key(each.type)) for each in fields]
            return lambda value: [key(value.get(name)) for name, key in keys]
        case Atomic() | Decimal() | Map():
            return lambda value: value


def is_ordered_itself(kind: DataType) -> bool:
    """Return whether values of `kind` that are not null compare in Python as in the order."""
    return not isinstance(kind, Array | Map | Struct) and kind not in (DOUBLE, Atomic("float"))


def row_key(columns: Sequence[tuple[DataType, bool]]) -> Callable[[Sequence[Any]], Any]:
    """Return the sort key of rows of values, one `(type, descending)` a column."""
    if all(is_ordered_itself(kind) and not descending for kind, descending in columns):
        return lambda values: [(value is not None, value) for value in values]
    keys = [_directed(order_key(kind), descending) for kind, descending in columns]
    return lambda values: [key(value) for key, value in zip(keys, values, strict=True)]


def _directed(key: Key, descending: bool) -> Key:
    return (lambda value: Descending(key(value))) if descending else key


@total_ordering
class Descending:
    """A sort key that compares the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(self.key == other.key)

    def __lt__(self, other: Descending) -> bool:
        return bool(other.key < self.key)

    def __hash__(self) -> int:
        return hash(self.key)
