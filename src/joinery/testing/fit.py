"""Whether a value that a test wrote is one of its column's type."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct

_BITS = {"byte": 7, "short": 15, "int": 31, "long": 63}
_KINDS: dict[str, type] = {
    "boolean": bool,
    "float": float,
    "double": float,
    "string": str,
    "binary": bytes,
    "timestamp": dt.datetime,
    "timestamp_ntz": dt.datetime,
}


def fits(value: Any, type_: DataType) -> bool:
    """Return whether `value`, null or not, is one of `type_`.

    Example:
        >>> from joinery.model.type import LONG
        >>> fits(7, LONG), fits("7", LONG), fits(2**63, LONG)
        (True, False, False)
    """
    if value is None:
        return True
    match type_:
        case Struct(fields):
            return all(fits(value[field.name], field.type) for field in fields)
        case Array(element):
            return all(fits(each, element) for each in value)
        case Map(key, of):
            return all(fits(name, key) and fits(each, of) for name, each in value.items())
        case Decimal(precision, scale):
            return isinstance(value, decimal.Decimal) and abs(value) < 10 ** (precision - scale)
        case Atomic(name):
            return _atomic(value, name)


def _atomic(value: Any, name: str) -> bool:
    if name in _BITS:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and -(2 ** _BITS[name]) <= value < 2 ** _BITS[name]
    if name == "date":
        return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return isinstance(value, _KINDS[name])
