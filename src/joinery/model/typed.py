"""Values that were read from JSON, held to the types that their classes declare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints


def check_typed(value: object, declared: Any) -> None:
    """Refuse a value that is not of a type, or whose fields and elements are not of theirs.

    Any finite number will do for `int` and `float`: JSON has one kind.

    Args:
        value: Made from JSON.
        declared: A dataclass, a union, a tuple of one type, a mapping by names, a literal or a
            plain class.

    Raises:
        TypeError: It is of another type.

    Example:
        >>> check_typed({"read": 12}, Mapping[str, int])
        >>> check_typed({"read": None}, Mapping[str, int])
        Traceback (most recent call last):
            ...
        TypeError: None is not of type int
    """
    inner = get_args(declared)
    match get_origin(declared) or declared:
        case kind if kind is UnionType:
            right = any(_is_typed(value, each) for each in inner)
        case kind if kind is Literal:
            right = value in inner
        case kind if kind is tuple:
            right = isinstance(value, tuple)
            for each in value if isinstance(value, tuple) else ():
                check_typed(each, inner[0])
        case kind if kind is Mapping:
            right = isinstance(value, Mapping)
            for each in value.values() if isinstance(value, Mapping) else ():
                check_typed(each, inner[1])
        case kind if kind in (int, float):
            right = not isinstance(value, bool) and _is_finite(value)
        case kind:
            right = isinstance(value, kind)
            for name, each in _types_of(kind) if right else ():
                check_typed(getattr(value, name), each)
    if not right:
        raise TypeError(f"{value!r} is not of type {getattr(declared, '__name__', declared)}")


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def _is_typed(value: object, declared: Any) -> bool:
    try:
        check_typed(value, declared)
    except TypeError:
        return False
    return True


@cache
def _types_of(kind: type) -> tuple[tuple[str, Any], ...]:
    if not is_dataclass(kind):
        return ()
    types = get_type_hints(kind)
    return tuple((each.name, types[each.name]) for each in fields(kind))
