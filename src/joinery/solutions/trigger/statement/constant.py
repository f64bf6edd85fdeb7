"""What of an expression is known before it runs: constants, and types that always fit."""

from __future__ import annotations

from typing import Any

from joinery.expression.literal import RANGES
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct


def unquoted_decimal(value: Any, kind: Decimal) -> str:
    """Return the digits of a decimal with its scale."""
    return format(value, f".{kind.scale}f")


def plain_json(kind: DataType) -> bool:
    """Return whether the JSON text of a list or an object stands in its cell as documents show it.

    Example:
        >>> from joinery.model.type import LONG, TIMESTAMP
        >>> plain_json(Array(LONG)), plain_json(Array(TIMESTAMP))
        (True, False)
    """
    match kind:
        case Array(element):
            return plain_json(element)
        case Struct(fields):
            return all(plain_json(each.type) for each in fields)
        case Atomic(name):
            return name in ("string", "boolean", "byte", "short", "int", "long")
        case Decimal() | Map():
            return False


def narrower(source: DataType, target: DataType) -> bool:
    """Return whether a whole number of one type may not fit the other."""
    return RANGES[str(source)] > RANGES[str(target)]


def starts_and_rest(constants: list[Any]) -> bool:
    """Return whether a substring starts at a constant from 1 and has a constant length, if any."""
    start, rest = constants[1], constants[2:]
    return (
        isinstance(start, int)
        and start >= 1
        and all(isinstance(each, int) and each >= 0 for each in rest)
    )


def glob(pattern: str) -> str | None:
    """Return the pattern of SQLite's `GLOB` that matches what `like` matches, None for escapes.

    Example:
        >>> glob("a%_*")
        'a*?[*]'
    """
    if "\\" in pattern:
        return None
    signs = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    return "".join(signs.get(each, each) for each in pattern)
