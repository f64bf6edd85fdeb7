"""From the JSON of the kernel back to typed values; the inverse of `engine/render.py`.

Numbers with a fraction or an exponent are to be read as text, so that decimals stay exact.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

from joinery.engine.number import single
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct

Read = Callable[[Any], Any]
_WIDE = decimal.Context(prec=80)


def json_reader(kind: DataType) -> Read | None:
    """Return the function from what JSON gives to the value; None where that is the value.

    Example:
        >>> from joinery.model.type import LONG, Decimal
        >>> json_reader(LONG), json_reader(Decimal(5, 2))("1.50")
        (None, Decimal('1.50'))
    """
    read = _read(kind)
    if read is None:
        return None
    return lambda value: None if value is None else read(value)


def _read(kind: DataType) -> Read | None:
    match kind:
        case Struct(fields):
            return _struct({field.name: json_reader(field.type) for field in fields})
        case Array(element):
            each = json_reader(element)
            return (lambda values: [each(value) for value in values]) if each else None
        case Map(key, of):
            return _map(_KEY.get(str(key)) or json_reader(key), json_reader(of))
        case Decimal(_, scale):
            exponent = decimal.Decimal(1).scaleb(-scale)
            return lambda value: _WIDE.quantize(decimal.Decimal(value), exponent)
        case Atomic(name):
            return _ATOMIC.get(name)


def _struct(fields: dict[str, Read | None]) -> Read | None:
    typed = {name: read for name, read in fields.items() if read is not None}
    if not typed:
        return None

    def read(value: Any) -> Any:
        for name, each in typed.items():
            value[name] = each(value[name])
        return value

    return read


def _map(key: Read | None, of: Read | None) -> Read:
    name: Read = key or (lambda value: value)
    each: Read = of or (lambda value: value)
    return lambda value: {name(left): each(right) for left, right in value.items()}


_KEY: dict[str, Read] = {
    **dict.fromkeys(("byte", "short", "int", "long"), int),
    "boolean": lambda text: text == "true",
}
_ATOMIC: dict[str, Read] = {
    "double": float,
    "float": lambda value: single(float(value)),
    "timestamp": dt.datetime.fromisoformat,
    "timestamp_ntz": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "binary": base64.b64decode,
}
