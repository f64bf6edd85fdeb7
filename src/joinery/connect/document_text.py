"""Documents read from their JSON text into Python's values, decimals exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal as Exact
from typing import Any

from joinery.model.type import Array, DataType, Decimal, Map, Struct

Reading = Callable[[str], Any]


def reading_of(type: DataType) -> Reading:
    """Return how the text of a document of this type is read.

    A decimal becomes a `decimal.Decimal` with its digits, a double stays a float; times and
    binary values stay text, as they stand in the document.

    Example:
        >>> from joinery.model.ddl import parse_type
        >>> read = reading_of(parse_type("struct<a: decimal(10,2), b: double>"))
        >>> read('{"a":1.50,"b":1.50}')
        {'a': Decimal('1.50'), 'b': 1.5}
    """
    if not _has_decimal(type):
        return json.loads
    exact = json.JSONDecoder(parse_float=Exact)
    return lambda text: _typed(exact.decode(text), type)


def _has_decimal(type: DataType) -> bool:
    if isinstance(type, Array):
        return _has_decimal(type.element)
    if isinstance(type, Map):
        return _has_decimal(type.value)
    if isinstance(type, Struct):
        return any(_has_decimal(each.type) for each in type.fields)
    return isinstance(type, Decimal)


def _typed(value: Any, type: DataType) -> Any:
    """Return a value read with exact numbers: those that are no decimals become floats."""
    if value is None:
        return None
    if isinstance(type, Struct):
        return {each.name: _typed(value.get(each.name), each.type) for each in type.fields}
    if isinstance(type, Array):
        return [_typed(each, type.element) for each in value]
    if isinstance(type, Map):
        return {name: _typed(each, type.value) for name, each in value.items()}
    if isinstance(type, Decimal):
        return Exact(value) if isinstance(value, int) else value
    return float(value) if isinstance(value, Exact) else value
