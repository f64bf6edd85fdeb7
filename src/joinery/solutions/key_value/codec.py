"""Values of declared types as JSON, and back: bytes, decimals, dates and times as text.

Invariant: `decode(encode(x)) == x` for every value of the type, also through a type that was
widened in between.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import orjson

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


"""The whole numbers that stand for themselves."""
