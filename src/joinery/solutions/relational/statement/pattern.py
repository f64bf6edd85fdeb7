"""What of an expression is known before it runs: constants, and types that always fit."""

from __future__ import annotations

from typing import Any

from joinery.model.type import DataType
from joinery.plan.literal import RANGES


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
