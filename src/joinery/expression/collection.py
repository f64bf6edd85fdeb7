"""Functions over lists, maps and objects as Spark 4.3 does them in ANSI mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joinery.expression.order import Key, value_key
from joinery.expression.problem import EvaluationError
from joinery.model.type import Array, DataType


def item(items: list[Any], index: int) -> Any:
    """Return `items[index]`, counted from 0; outside it fails."""
    if not 0 <= index < len(items):
        raise EvaluationError("the index is outside the list")
    return items[index]


def element_at(items: list[Any], index: int) -> Any:
    """Return an element counted from 1, or from -1 at the end; outside it fails."""
    if index == 0 or abs(index) > len(items):
        raise EvaluationError("the index is outside the list")
    return items[index - 1 if index > 0 else index]


def get(items: list[Any], index: int) -> Any:
    """Return an element counted from 0, null outside."""
    return items[index] if 0 <= index < len(items) else None


def sliced(items: list[Any], start: int, length: int) -> list[Any]:
    """Return `length` elements from `start`, counted from 1 or from the end."""
    if start == 0 or length < 0:
        raise EvaluationError("slice() needs a start of at least 1 and a length of at least 0")
    at = start - 1 if start > 0 else len(items) + start
    return items[at : at + length] if 0 <= at < len(items) else []


def concatenated(*parts: list[Any]) -> list[Any]:
    """Return all lists, one after the other."""
    return [each for part in parts for each in part]


def fields(items: list[Any], name: str) -> list[Any]:
    """Return the field `name` of each object."""
    return [None if each is None else each.get(name) for each in items]


def contains(element: DataType) -> Callable[[list[Any], Any], bool | None]:
    """Return `array_contains`: null where the answer hangs on a null element."""
    key = value_key(element)

    def search(items: list[Any], sought: Any) -> bool | None:
        wanted = key(sought)
        if any(each is not None and key(each) == wanted for each in items):
            return True
        return None if None in items else False

    return search


def position(element: DataType) -> Callable[[list[Any], Any], int]:
    """Return `array_position`: from 1, 0 where it is not found."""
    key = value_key(element)

    def search(items: list[Any], sought: Any) -> int:
        wanted = key(sought)
        found = (at for at, each in enumerate(items, 1) if each is not None and key(each) == wanted)
        return next(found, 0)

    return search


def distinct(element: DataType) -> Callable[[list[Any]], list[Any]]:
    """Return `array_distinct`, which keeps the first of equals."""
    key = value_key(element)

    def keep(items: list[Any]) -> list[Any]:
        kept: list[Any] = []
        for each in items:
            if not any(_same(each, other, key) for other in kept):
                kept.append(each)
        return kept

    return keep


def sort(element: DataType) -> Callable[[list[Any]], list[Any]]:
    """Return `array_sort`: upward, nulls last."""
    key = value_key(element)

    def ordered(items: list[Any]) -> list[Any]:
        known = sorted((each for each in items if each is not None), key=key)
        return known + [None] * (len(items) - len(known))

    return ordered


def sort_either(element: DataType) -> Callable[[list[Any], bool], list[Any]]:
    """Return `sort_array`: nulls first upward, last downward."""
    key = value_key(element)

    def ordered(items: list[Any], upward: bool) -> list[Any]:
        known = sorted((each for each in items if each is not None), key=key, reverse=not upward)
        nulls: list[Any] = [None] * (len(items) - len(known))
        return nulls + known if upward else known + nulls

    return ordered


def extreme(choose: Callable[..., Any], element: DataType) -> Callable[[list[Any]], Any]:
    """Return `array_max` or `array_min`, which skip nulls."""
    key = value_key(element)
    return lambda items: choose((each for each in items if each is not None), key=key, default=None)


def element_of(kind: DataType) -> DataType:
    """Return the element type of a list type."""
    assert isinstance(kind, Array)
    return kind.element


def _same(left: Any, right: Any, key: Key) -> bool:
    if left is None or right is None:
        return left is right
    return bool(key(left) == key(right))


COLLECTION: dict[str, Callable[..., Any]] = {
    "item": item,
    "element_at": element_at,
    "get": get,
    "value": lambda entries, key: entries.get(key),
    "map_contains_key": lambda entries, key: key in entries,
    "field": lambda each, name: each.get(name),
    "fields": fields,
    "size": len,
    "slice": sliced,
    "concat arrays": concatenated,
    "reverse array": lambda items: items[::-1],
}
TYPED: dict[str, Callable[[DataType], Callable[..., Any]]] = {
    "array_contains": contains,
    "array_position": position,
    "array_distinct": distinct,
    "array_sort": sort,
    "sort_array": sort_either,
    "array_max": lambda element: extreme(max, element),
    "array_min": lambda element: extreme(min, element),
}
