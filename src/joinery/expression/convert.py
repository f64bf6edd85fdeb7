"""Casts as Spark 4.3 does them in ANSI mode under UTC, over values that are not null."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from joinery.expression.coercion import integral
from joinery.expression.literal import BLANK, RANGES, date_of, timestamp_of
from joinery.expression.number import fit, single, whole
from joinery.expression.problem import EvaluationError
from joinery.model.type import DATE, STRING, TIMESTAMP, Array, Atomic, DataType, Decimal, Struct

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+", re.ASCII)
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}
_TRUE = ("t", "true", "y", "yes", "1")
_FALSE = ("f", "false", "n", "no", "0")
Converter = Callable[[Any], Any]


def converter(source: DataType, target: DataType) -> Converter:
    """Return the cast from `source` to `target`, which fails with `EvaluationError`."""
    if source == target:
        return lambda value: value
    match source, target:
        case Array(first), Array(second):
            element = converter(first, second)
            return lambda value: [None if each is None else element(each) for each in value]
        case Struct(), Struct():
            return _struct(source, target)
        case Atomic("void"), _:
            return lambda value: None
        case _, Decimal():
            return _to_decimal(source, target)
        case _, Atomic(name):
            return _guarded(_PLAIN[name](source))
        case _:
            raise TypeError(f"no cast from {source} to {target}")


def micros_of(moment: datetime) -> int:
    """Return the microseconds since 1970 of an aware datetime."""
    return (moment - EPOCH) // _MICRO


def moment_of(micros: int) -> datetime:
    """Return the UTC datetime of `micros` since 1970; outside years 1 to 9999 it fails."""
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise EvaluationError("the timestamp is outside years 1 to 9999") from None


def decimal_text(value: decimal.Decimal, kind: Decimal) -> str:
    """Return `value` with exactly its scale, without an exponent."""
    return format(fit(value, kind), "f")


def _struct(source: Struct, target: Struct) -> Converter:
    parts = [
        (one.name, two.name, converter(one.type, two.type))
        for one, two in zip(source.fields, target.fields, strict=True)
    ]

    def convert(value: Any) -> Any:
        return {
            new: None if value.get(old) is None else part(value[old]) for old, new, part in parts
        }

    return convert


def _guarded(convert: Converter) -> Converter:
    def guarded(value: Any) -> Any:
        found = convert(value)
        if found is None:
            raise EvaluationError("the value cannot be cast")
        return found

    return guarded


def _to_decimal(source: DataType, target: Decimal) -> Converter:
    if source == STRING:
        return lambda value: fit(_decimal_of(value), target)
    if source in (Atomic("float"), Atomic("double")):
        return lambda value: (
            fit(decimal.Decimal(repr(value)), target) if math.isfinite(value) else None
        )
    return lambda value: fit(decimal.Decimal(value), target)


def _decimal_of(text: str) -> decimal.Decimal:
    match = _DECIMAL.fullmatch(text.strip(BLANK))
    exponent = int((match.group(2) or "e0")[1:]) if match else 0
    if match is None or abs(exponent) > 1000:
        raise EvaluationError("the text is not a number")
    return decimal.Decimal(match.group())


def _to_whole(target: Atomic) -> Callable[[DataType], Converter]:
    def choose(source: DataType) -> Converter:
        if source == STRING:
            return lambda value: whole(_whole_of(value), target)
        if source == TIMESTAMP:
            return lambda value: whole(micros_of(value) // 1_000_000, target)
        if source in (Atomic("float"), Atomic("double")):
            return lambda value: _truncated(value, target)
        return lambda value: whole(int(value), target)

    return choose


def _whole_of(text: str) -> int:
    trimmed = text.strip(BLANK)
    if not _WHOLE.fullmatch(trimmed) or len(trimmed) > 4000:
        raise EvaluationError("the text is not a whole number")
    return int(trimmed)


def _truncated(value: float, target: Atomic) -> int:
    bound = RANGES[target.name]
    if (
        not math.isfinite(value)
        or math.floor(value) > float(bound - 1)
        or math.ceil(value) < -bound
    ):
        raise EvaluationError(f"the value does not fit {target}")
    return min(int(value), bound - 1)


def _to_float(finish: Callable[[float], float]) -> Callable[[DataType], Converter]:
    def choose(source: DataType) -> Converter:
        if source == STRING:
            return lambda value: finish(_float_of(value))
        return lambda value: finish(float(value))

    return choose


def _float_of(text: str) -> float:
    trimmed = text.strip(BLANK)
    if trimmed.lower() in _SPECIAL:
        return _SPECIAL[trimmed.lower()]
    if trimmed in ("+NaN", "-NaN"):
        return math.nan
    digits = (
        trimmed[:-1]
        if trimmed[-1:] in ("d", "D", "f", "F") and "x" not in trimmed.lower()
        else trimmed
    )
    if _NUMBER.fullmatch(digits):
        return float(digits)
    if _HEX.fullmatch(trimmed):
        return float.fromhex(trimmed)
    raise EvaluationError("the text is not a number")


def _to_boolean(source: DataType) -> Converter:
    return _boolean_of if source == STRING else lambda value: bool(value != 0)


def _boolean_of(text: str) -> bool | None:
    word = text.strip(BLANK).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _to_string(source: DataType) -> Converter:
    if isinstance(source, Decimal):
        return lambda value: decimal_text(value, source)
    if source == TIMESTAMP:
        return timestamp_text
    if source == DATE:
        return date.isoformat
    return lambda value: str(value).lower()


def timestamp_text(moment: datetime) -> str:
    """Return `moment` as Spark prints it under UTC."""
    text = f"{moment.date().isoformat()} {moment:%H:%M:%S}"
    return text + f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else text


def _to_date(source: DataType) -> Converter:
    return date_of if source == STRING else lambda value: value.date()


def _to_timestamp(source: DataType) -> Converter:
    if source == STRING:
        return timestamp_of
    if integral(source):
        return lambda value: moment_of(value * 1_000_000)
    return midnight


def midnight(day: date) -> datetime:
    """Return the first instant of `day` in UTC."""
    return datetime.combine(day, time(), UTC)


_PLAIN: dict[str, Callable[[DataType], Converter]] = {
    **{name: _to_whole(Atomic(name)) for name in RANGES},
    "float": _to_float(single),
    "double": _to_float(float),
    "boolean": _to_boolean,
    "string": _to_string,
    "date": _to_date,
    "timestamp": _to_timestamp,
}
