"""The text of a document: a value and its type to JSON, the same in every solution.

Invariant: equal values of one type have equal texts, and object fields stand in the order
of the type.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from functools import lru_cache
from json.encoder import encode_basestring as _text
from math import isfinite
from typing import Any

from joinery.model.float_text import double_text, single_text
from joinery.model.type import Array, Atomic, DataType, Decimal, Field, Map, Struct

Render = Callable[[Any], str]
_WIDE = decimal.Context(prec=80)


def document_json(value: Any, type_: DataType) -> str:
    """Return `value` as compact JSON; null fields are written, non-ASCII text is kept.

    Example:
        >>> from joinery.model.type import LONG, Field
        >>> document_json({"id": 1}, Struct((Field("id", LONG), Field("total", Decimal(5, 2)))))
        '{"id":1,"total":null}'
    """
    return renderer(type_)(value)


@lru_cache(maxsize=1024)
def renderer(type_: DataType) -> Render:
    """Return the function from values of `type_` to their JSON text."""
    match type_:
        case Struct(fields):
            return _or_null(_object(fields))
        case Array(element):
            item = renderer(element)
            return _or_null(lambda value: "[" + ",".join(map(item, value)) + "]")
        case Map(key, of):
            return _or_null(_map(scalar_renderer(key), renderer(of)))
        case Atomic("float" | "double"):
            plain = scalar_renderer(type_)
            return _or_null(lambda value: plain(value) if isfinite(value) else _text(plain(value)))
        case Decimal() | Atomic("boolean" | "byte" | "short" | "int" | "long"):
            return _or_null(scalar_renderer(type_))
        case Atomic("string"):
            return _or_null(_text)
        case Atomic():
            quoted = scalar_renderer(type_)
            return _or_null(lambda value: f'"{quoted(value)}"')


def _object(fields: Sequence[Field]) -> Render:
    parts = [(field.name, f"{_text(field.name)}:", renderer(field.type)) for field in fields]

    def render(value: Any) -> str:
        get = value.get
        return "{" + ",".join([head + text(get(name)) for name, head, text in parts]) + "}"

    return render


def _map(name: Render, item: Render) -> Render:
    return lambda value: (
        "{" + ",".join([f"{_text(name(key))}:{item(of)}" for key, of in value.items()]) + "}"
    )


def _or_null(render: Render) -> Render:
    return lambda value: "null" if value is None else render(value)


def key_json(values: Sequence[Any], key: Struct) -> str:
    """Return a key as a JSON object of its columns, as lines of a batch have it.

    Example:
        >>> from joinery.model.type import LONG, STRING, Field
        >>> key_json([None, 7], Struct((Field("shop", STRING), Field("id", LONG))))
        '{"shop":null,"id":7}'
        >>> key_json([], Struct(()))
        '{}'
    """
    pairs = zip(key.fields, values, strict=True)
    parts = (f"{_text(each.name)}:{document_json(value, each.type)}" for each, value in pairs)
    return f"{{{','.join(parts)}}}"


def map_key_text(values: Sequence[Any], types: Sequence[DataType]) -> str:
    """Return the text of a key, under which an `as: map` embed holds its object.

    One column gives its own text, an object that of its JSON, several the JSON text of their array.

    Example:
        >>> from joinery.model.type import LONG, STRING, Field
        >>> map_key_text([7], [LONG]), map_key_text(["a", 7], [STRING, LONG])
        ('7', '["a",7]')
        >>> map_key_text([{"id": 7}], [Struct((Field("id", LONG),))])
        '{"id":7}'
    """
    if len(values) == 1 and isinstance(types[0], Struct):
        return document_json(values[0], types[0])
    if len(values) == 1:
        return "null" if values[0] is None else scalar_text(values[0], types[0])
    return "[" + ",".join(document_json(v, t) for v, t in zip(values, types, strict=True)) + "]"


def scalar_text(value: Any, type_: DataType) -> str:
    """Return the plain text of a value without parts, as JSON holds it but for quotes."""
    return scalar_renderer(type_)(value)


@lru_cache(maxsize=256)
def scalar_renderer(type_: DataType) -> Render:
    """Return `scalar_text` for one type."""
    match type_:
        case Decimal(_, scale):
            return _decimal(decimal.Decimal(1).scaleb(-scale))
        case Atomic("boolean"):
            return lambda value: "true" if value else "false"
        case Atomic("double"):
            return double_text
        case Atomic("float"):
            return single_text
        case Atomic("date"):
            return lambda value: str(value.isoformat())
        case Atomic("timestamp"):
            return _utc_text
        case Atomic("timestamp_ntz"):
            return _timestamp_text
        case Atomic("binary"):
            return lambda value: base64.b64encode(value).decode("ascii")
        case Atomic() | Array() | Map() | Struct():
            return str


def _decimal(unit: decimal.Decimal) -> Render:
    def render(value: decimal.Decimal) -> str:
        scaled = _WIDE.quantize(value, unit)
        if not scaled.is_finite():  # JSON has no such number, and no record may hold one.
            raise decimal.InvalidOperation(f"{value} is no number of JSON")
        return format(scaled, "f")

    return render


def _utc_text(value: dt.datetime) -> str:
    if value.tzinfo is dt.UTC:
        return value.isoformat()[: -len("+00:00")] + "Z"
    return _timestamp_text(value.astimezone(dt.UTC)) + "Z"


def _timestamp_text(value: dt.datetime) -> str:
    return value.replace(tzinfo=None).isoformat()
