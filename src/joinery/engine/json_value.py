"""Typed values from the plain ones that JSON, or a test, writes.

Invariant: a value that already has its type comes back unchanged.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
from typing import Any

from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct

_WIDE = decimal.Context(prec=80)


def typed(value: Any, type_: DataType) -> Any:
    """Return `value` as the plan holds a value of `type_`.

    Times and dates may be ISO text (without a zone it is UTC), decimals text or whole
    numbers, binary base64 text.

    Example:
        >>> from joinery.model.type import TIMESTAMP
        >>> typed("2026-01-02T03:04:05Z", TIMESTAMP).isoformat()
        '2026-01-02T03:04:05+00:00'
    """
    if value is None:
        return None
    match type_:
        case Struct(fields):
            return {field.name: typed(value.get(field.name), field.type) for field in fields}
        case Array(element):
            return [typed(each, element) for each in value]
        case Map(key, of):
            return {typed(name, key): typed(each, of) for name, each in value.items()}
        case Decimal(_, scale):
            exact = decimal.Decimal(value if isinstance(value, int) else str(value))
            return _WIDE.quantize(exact, decimal.Decimal(1).scaleb(-scale))
        case Atomic(name):
            return _atomic(value, name)


def _atomic(value: Any, name: str) -> Any:
    match name, value:
        case ("timestamp", str()):
            return _utc(dt.datetime.fromisoformat(value))
        case ("timestamp_ntz", str()):
            return dt.datetime.fromisoformat(value)
        case ("date", str()):
            return dt.date.fromisoformat(value)
        case ("binary", str()):
            return base64.b64decode(value, validate=True)
        case ("float" | "double", int() | str()):
            return float(value)
        case _:
            return value


def _utc(value: dt.datetime) -> dt.datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value.astimezone(dt.UTC)
