"""Keys and join values as text that is equal exactly when they are.

Invariant: equality is that of a join: numbers of different types are equal when their values
are, NaN is the text `NaN` (as `join_value` gives it), and a text is never equal to a number.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from orjson import dumps, loads

from joinery.model.type import Array, Atomic, DataType, Map, Struct
from joinery.model.type import Decimal as DecimalType

_LEAST, _MOST = -(1 << 63), (1 << 64) - 1


def key_bytes(values: Sequence[Any]) -> bytes:
    """Return the values of a key, or of a join, as a JSON array.

    Example:
        >>> from decimal import Decimal
        >>> key_bytes(("ann", 7)), key_bytes(("ann", Decimal("7.00"))), key_bytes((0.5,))
        (b'["ann",7]', b'["ann",7]', b'[{"n":"0.5"}]')
    """
    for each in values:
        if each.__class__ is not str and (each.__class__ is not int or not _LEAST <= each <= _MOST):
            return dumps([_canonical(value) for value in values])
    return dumps(values)


def key_of_bytes(text: bytes, types: Sequence[DataType]) -> tuple[Any, ...]:
    """Return the values of declared types that a text was made of.

    Example:
        >>> from joinery.model.type import LONG, STRING
        >>> key_of_bytes(b'["ann",7]', (STRING, LONG))
        ('ann', 7)
    """
    return tuple(map(_value, loads(text), types))


def _value(told: Any, type_: DataType) -> Any:
    text = next(iter(told.values())) if isinstance(told, dict) else told
    match type_:
        case Atomic("float" | "double"):
            return text if text == "NaN" else float(text)
        case Atomic("byte" | "short" | "int" | "long"):
            return int(text)
        case DecimalType():
            return Decimal(str(text))
        case Atomic("timestamp" | "timestamp_ntz"):
            return datetime.fromisoformat(text)
        case Atomic("date"):
            return date.fromisoformat(text)
        case Atomic("binary"):
            return base64.b64decode(text)
        case Atomic("string" | "boolean" | "void") | Array() | Map() | Struct():
            return text
        case Atomic():
            raise TypeError(f"no key holds a {type_}")


def _canonical(value: Any) -> Any:
    match value:
        case bool() | str():
            return value
        case int():
            return value if _LEAST <= value <= _MOST else {"n": str(value)}
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return {"n": str(value)}
        case float() | Decimal():
            return _number(Decimal(value))
        case datetime():
            return {"t": (value.astimezone(UTC) if value.tzinfo else value).isoformat()}
        case date():
            return {"d": value.isoformat()}
        case bytes():
            return {"b": base64.b64encode(value).decode()}
        case _:
            raise TypeError(f"no key holds a {type(value).__name__}")


def _number(value: Decimal) -> Any:
    if value == value.to_integral_value():
        return _canonical(int(value))
    return {"n": format(value, "f").rstrip("0")}
