"""Values of declared types as JSON, and back: bytes, decimals, dates and times as text.

Invariant: `decode(encode(x)) == x` for every value of the type, also through a type that was
widened in between.

Keys and join values as text that is equal exactly when they are.

Invariant: equality is that of a join: numbers of different types are equal when their values
are, NaN is the text `NaN` (as `join_value` gives it), and a text is never equal to a number.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
from orjson import dumps, loads

from joinery.model.change import Row
from joinery.model.type import Array, Atomic, DataType, Field, Map, Struct
from joinery.model.type import Decimal as DecimalType
from joinery.solutions.stored.state import StoredRow

Convert = Callable[[Any], Any]
_FLOATING = (Atomic("float"), Atomic("double"))
_TEXT: dict[str, Convert] = {
    "binary": base64.b64decode,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
}


class RowCodec:
    """Writes and reads rows of some columns; a column that a stored row lacks is null."""

    def __init__(self, columns: Sequence[Field]) -> None:
        self._names = tuple(each.name for each in columns)
        self._encoders = _by_name(columns, _encoder)
        self._decoders = _by_name(columns, _decoder)

    def plain(self, row: Any) -> Any:
        """Return a row as `dump` takes it."""
        if not self._encoders:
            return row
        plain = dict(row)
        for name, convert in self._encoders:
            if plain[name] is not None:
                plain[name] = convert(plain[name])
        return plain

    def typed(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the row that `orjson.loads` gave, with its own types, changed in place."""
        for name, convert in self._decoders:
            value = plain.get(name)
            if value is not None:
                plain[name] = convert(value)
        if tuple(plain) != self._names:
            return {name: plain.get(name) for name in self._names}
        return plain


class RowText:
    """Stored rows of one relation as texts, the row first to be read."""

    def __init__(self, columns: Sequence[Field]) -> None:
        self._codec = RowCodec(columns)

    def text(self, stored: StoredRow) -> bytes:
        """Return a stored row as text."""
        row = None if stored.row is None else self._codec.plain(stored.row)
        log = (stored.position, stored.after_delete, stored.changed_us, stored.place)
        return dump((stored.visible, row, *log))

    def stored(self, text: bytes) -> StoredRow:
        """Return the stored row of a text."""
        visible, row, position, after_delete, changed_us, place = orjson.loads(text)
        typed = None if row is None else self._codec.typed(row)
        log = (position, after_delete, changed_us)
        return StoredRow(typed, visible, *log, None if place is None else tuple(place))

    def visible(self, text: bytes) -> Row | None:
        """Return the row of a text, None where products do not see it."""
        visible, row, *_ = orjson.loads(text)
        return self._codec.typed(row) if visible and row is not None else None


class KeyCodec:
    """Writes and reads tuples of values of some types, none of them null; a NaN is a text."""

    def __init__(self, types: Sequence[DataType]) -> None:
        self._encoders = [_unless_text(_encoder(each)) for each in types]
        self._decoders = [_number_of if each in _FLOATING else _decoder(each) for each in types]
        self._simple = not any(self._encoders) and not any(self._decoders)

    def plain(self, key: tuple[Any, ...]) -> Sequence[Any]:
        """Return a key as `dump` takes it."""
        return key if self._simple else _each(self._encoders, key)

    def typed(self, plain: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key that `orjson.loads` gave, with its own types."""
        return tuple(plain if self._simple else _each(self._decoders, plain))


def _unless_text(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: value if isinstance(value, str) else convert(value)


def _number_of(value: Any) -> Any:
    return value if value == "NaN" else float(value)


def dump(value: Any) -> bytes:
    """Return a value as JSON text."""
    return orjson.dumps(value, default=_text_of)


def _text_of(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"no column holds a {type(value).__name__}")


def _each(converters: Sequence[Convert | None], values: Sequence[Any]) -> list[Any]:
    pairs = zip(converters, values, strict=True)
    return [value if convert is None else convert(value) for convert, value in pairs]


def _by_name(
    columns: Sequence[Field], choose: Callable[[DataType], Convert | None]
) -> list[tuple[str, Convert]]:
    chosen = ((each.name, choose(each.type)) for each in columns)
    return [(name, convert) for name, convert in chosen if convert is not None]


def _encoder(type_: DataType) -> Convert | None:
    """Return what JSON cannot say by itself; None where it can."""
    match type_:
        case Atomic("float" | "double"):
            return lambda value: value if math.isfinite(value) else str(value)
        case Array(element):
            return _array(_encoder(element))
        case Struct(fields):
            return _struct(_by_name(fields, _encoder))
        case Map(key, value):
            return _pairs_of(_encoder(key), _encoder(value))
        case Atomic() | DecimalType():
            return None


def _decoder(type_: DataType) -> Convert | None:
    match type_:
        case Atomic("float" | "double"):
            return float
        case Atomic(name):
            return _TEXT.get(name)
        case DecimalType():
            return lambda value: Decimal(str(value))
        case Array(element):
            return _array(_decoder(element))
        case Struct(fields):
            return _struct(_by_name(fields, _decoder))
        case Map(key, value):
            return _map_of(_decoder(key), _decoder(value))


def _array(element: Convert | None) -> Convert | None:
    if element is None:
        return None
    return lambda value: [None if each is None else element(each) for each in value]


def _struct(fields: list[tuple[str, Convert]]) -> Convert | None:
    if not fields:
        return None

    def convert(value: Any) -> Any:
        changed = dict(value)
        for name, each in fields:
            if changed.get(name) is not None:
                changed[name] = each(changed[name])
        return changed

    return convert


def _pairs_of(key: Convert | None, value: Convert | None) -> Convert:
    """Return how a map becomes pairs: a key of JSON's own objects can be a text only."""
    one, two = key or _same, value or _same
    return lambda map_: [[one(k), None if v is None else two(v)] for k, v in map_.items()]


def _map_of(key: Convert | None, value: Convert | None) -> Convert:
    one, two = key or _same, value or _same
    return lambda pairs: {one(k): None if v is None else two(v) for k, v in pairs}


def _same(value: Any) -> Any:
    return value


_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
"""The whole numbers that stand for themselves."""


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
