"""The text of a document: a value and its type to JSON, the same in every solution.

Invariant: equal values of one type have equal texts, and object fields stand in the order
of the type.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
import struct
from collections.abc import Sequence
from typing import Any

from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct

_WIDE = decimal.Context(prec=80)


def document_json(value: Any, type_: DataType) -> str:
    """Return `value` as compact JSON; null fields are written, non-ASCII text is kept.

    Example:
        >>> from joinery.model.type import LONG, Field
        >>> document_json({"id": 1}, Struct((Field("id", LONG), Field("total", Decimal(5, 2)))))
        '{"id":1,"total":null}'
    """
    if value is None:
        return "null"
    match type_:
        case Struct(fields):
            parts = (f"{_text(f.name)}:{document_json(value.get(f.name), f.type)}" for f in fields)
            return "{" + ",".join(parts) + "}"
        case Array(element):
            return "[" + ",".join(document_json(each, element) for each in value) + "]"
        case Map(key, of):
            entries = (
                f"{_text(scalar_text(k, key))}:{document_json(v, of)}" for k, v in value.items()
            )
            return "{" + ",".join(entries) + "}"
        case Decimal() | Atomic("boolean" | "byte" | "short" | "int" | "long"):
            return scalar_text(value, type_)
        case Atomic("float" | "double") if math.isfinite(value):
            return scalar_text(value, type_)
        case _:
            return _text(scalar_text(value, type_))


def key_text(values: Sequence[Any], types: Sequence[DataType]) -> str:
    """Return the text of a key, under which an `as: map` embed holds its object.

    One column gives its own text, several the JSON text of their array.

    Example:
        >>> from joinery.model.type import LONG, STRING
        >>> key_text([7], [LONG]), key_text(["a", 7], [STRING, LONG])
        ('7', '["a",7]')
    """
    if len(values) == 1:
        return scalar_text(values[0], types[0])
    return "[" + ",".join(document_json(v, t) for v, t in zip(values, types, strict=True)) + "]"


def scalar_text(value: Any, type_: DataType) -> str:
    """Return the plain text of a value without parts, as JSON holds it but for quotes."""
    match type_:
        case Decimal(_, scale):
            return format(_WIDE.quantize(value, decimal.Decimal(1).scaleb(-scale)), "f")
        case Atomic("boolean"):
            return "true" if value else "false"
        case Atomic("double"):
            return _double_text(value)
        case Atomic("float"):
            return _double_text(value, narrow=True)
        case Atomic("date"):
            return str(value.isoformat())
        case Atomic("timestamp"):
            return _timestamp_text(value.astimezone(dt.UTC)) + "Z"
        case Atomic("timestamp_ntz"):
            return _timestamp_text(value)
        case Atomic("binary"):
            return base64.b64encode(value).decode("ascii")
        case _:
            return str(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _timestamp_text(value: dt.datetime) -> str:
    return value.replace(tzinfo=None).isoformat()


def _double_text(value: float, *, narrow: bool = False) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return _shortest_single(value) if narrow else repr(value)


def _shortest_single(value: float) -> str:
    """Return the shortest digits that read back as the same 32-bit number."""
    packed = struct.pack("f", value)
    candidates = (repr(float(f"{value:.{digits}g}")) for digits in range(1, 10))
    return next(
        (text for text in candidates if struct.pack("f", float(text)) == packed), repr(value)
    )
