"""What a store or a function gives, as Python values of declared types, or refused.

One value comes in many shapes: a timestamp is a datetime in PostgreSQL and a text in JSON, a
flag is a number in SQLite. What cannot be meant without loss is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation
from typing import Any, SupportsBytes
from uuid import UUID

from joinery.expression.literal import date_of, timestamp_of
from joinery.model.type import Array, Atomic, DataType, Field, Map, Struct
from joinery.model.type import Decimal as DecimalType

Read = Callable[[Any], Any]
"""Returns a value, which is not None, as one of a type; raises one of `MISFITS`."""

MISFITS = (ValueError, TypeError, ArithmeticError, KeyError)
_BITS = {"byte": 7, "short": 15, "int": 31, "long": 63}
_EXACT = Context(prec=60)


def type_name(value: object) -> str:
    """Return what a value is, in words, without the value."""
    words = {str: "a text", bool: "a flag", dict: "an object", list: "a list"}
    if type(value) in words:
        return words[type(value)]
    return "a number" if isinstance(value, int | float | Decimal) else f"a {type(value).__name__}"


def reader(type: DataType) -> Read:
    """Return what reads values of a type, however deep."""
    match type:
        case Atomic(name) if name in _BITS:
            return _whole(2 ** _BITS[name])
        case Atomic(name):
            return _ATOMIC[name]
        case DecimalType():
            return _decimal(type)
        case Array(element):
            return _list(_nullable(reader(element)))
        case Map(key, value):
            return _map(reader(key), _nullable(reader(value)))
        case Struct(fields):
            return _object(fields)


def _nullable(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _whole(bound: int) -> Read:
    def read(value: Any) -> int:
        if type(value) is int and -bound <= value < bound:
            return value
        number = int(value) if _number(value) else None
        if number is None or number != value or not -bound <= number < bound:
            raise ValueError
        return number

    return read


def _number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _float(value: Any) -> float:
    if not _number(value):
        raise ValueError
    return float(value)


def _decimal(type: DecimalType) -> Read:
    def read(value: Any) -> Decimal:
        if not _number(value) and not isinstance(value, str):
            raise ValueError
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        fitted = number.quantize(Decimal(1).scaleb(-type.scale), context=_EXACT)
        if fitted != number or len(fitted.as_tuple().digits) > type.precision:
            raise InvalidOperation
        return fitted

    return read


def _boolean(value: Any) -> bool:
    if value not in (0, 1) or isinstance(value, str):
        raise ValueError
    return bool(value)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, UUID):
        raise ValueError
    return str(value)


def _binary(value: Any) -> bytes:
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise ValueError from error
    return bytes(value if isinstance(value, SupportsBytes) else memoryview(value))


def _date(value: Any) -> date:
    if isinstance(value, datetime):
        raise ValueError
    found = date_of(value) if isinstance(value, str) else value
    if not isinstance(found, date):
        raise ValueError
    return found


def _timestamp(value: Any) -> datetime:
    found = timestamp_of(value) if isinstance(value, str) else value
    if not isinstance(found, datetime):
        raise ValueError
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _timestamp_ntz(value: Any) -> datetime:
    return _timestamp(value).replace(tzinfo=None)


def _void(value: Any) -> None:
    raise ValueError


def _parsed(value: Any) -> Any:
    return json.loads(value, parse_float=Decimal) if isinstance(value, str) else value


def _list(element: Read) -> Read:
    def read(value: Any) -> list[Any]:
        found = _parsed(value)
        if not isinstance(found, list | tuple | set):
            raise ValueError
        return [element(each) for each in found]

    return read


def _map(key: Read, element: Read) -> Read:
    def read(value: Any) -> dict[Any, Any]:
        found = _parsed(value)
        if not isinstance(found, Mapping):
            raise ValueError
        return {key(name): element(each) for name, each in found.items()}

    return read


def _object(fields: Sequence[Field]) -> Read:
    parts = [(each.name, _nullable(reader(each.type))) for each in fields]

    def read(value: Any) -> dict[str, Any]:
        found = _parsed(value)
        if not isinstance(found, Mapping):
            raise ValueError
        return {name: part(found.get(name)) for name, part in parts}

    return read


def _finite_or_not(value: Any) -> float:
    found = _float(value)
    if math.isinf(found) and isinstance(value, int | Decimal):
        raise ValueError
    return found


_ATOMIC: dict[str, Read] = {
    "boolean": _boolean,
    "float": _finite_or_not,
    "double": _finite_or_not,
    "string": _string,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
    "void": _void,
}
