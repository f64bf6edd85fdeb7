"""Constants and type names as they are written, with the type Spark gives them.

Dates and timestamps as text, read as Spark's cast reads them under UTC.

Limits: years 1 to 9999; texts whose value depends on today (`today`, `12:30`) are not read.
"""

from __future__ import annotations

import decimal
import re
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from joinery.expression.problem import not_portable, syntax_error
from joinery.expression.syntax import Literal
from joinery.expression.token import Token
from joinery.model.type import DATE, DOUBLE, INT, LONG, TIMESTAMP, Atomic, Decimal

BLANK = "".join(map(chr, range(33))) + "\x7f"
_DATE = re.compile(r"\+?(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"\+?(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?: |[ T](\d{1,2})(?::(\d{1,2})"
    r"(?::(\d{1,2})(?:\.(\d*))?(?P<zone>[ ]*[A-Za-z+-].*)?)?)?)?)?)?",
    re.ASCII,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?", re.ASCII)


def date_of(text: str) -> date | None:
    """Return the date that `text` spells, None where it spells none."""
    match = _DATE.fullmatch(text.strip(BLANK))
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return date(year, month, day)
    except ValueError:
        return None


def timestamp_of(text: str) -> datetime | None:
    """Return the instant that `text` spells, in UTC where it names no zone, else None."""
    trimmed = text.strip(BLANK)
    match = _TIMESTAMP.fullmatch(trimmed) or _TIMESTAMP.fullmatch(trimmed + " ")
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction = match.groups()[:7]
    micros = int(((fraction or "") + "000000")[:6])
    try:
        zone = _zone((match["zone"] or "Z").strip(BLANK))
        local = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0)
        )
        return (local.replace(second=int(second or 0), microsecond=micros, tzinfo=zone)).astimezone(
            UTC
        )
    except (ValueError, KeyError, OverflowError, OSError):
        return None


def _zone(name: str) -> timezone | ZoneInfo:
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match is None:
        return ZoneInfo(name)
    sign, hours, minutes, seconds = match.groups()
    span = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    if span > timedelta(hours=18) or int(minutes or 0) > 59 or int(seconds or 0) > 59:
        raise ValueError(name)
    return timezone(span if sign == "+" else -span)


VOID = Atomic("void")
BYTE, SHORT, FLOAT = Atomic("byte"), Atomic("short"), Atomic("float")
RANGES = {"byte": 1 << 7, "short": 1 << 15, "int": 1 << 31, "long": 1 << 63}
_SUFFIXES = {"L": LONG, "S": SHORT, "Y": BYTE, "F": FLOAT, "D": DOUBLE}
_NUMBER = re.compile(r"(.*?)(BD|[LSYFD])?", re.IGNORECASE)
_TYPES = {
    "boolean": Atomic("boolean"),
    **dict.fromkeys(("tinyint", "byte"), BYTE),
    **dict.fromkeys(("smallint", "short"), SHORT),
    **dict.fromkeys(("int", "integer"), INT),
    **dict.fromkeys(("bigint", "long"), LONG),
    **dict.fromkeys(("float", "real"), FLOAT),
    **{name: Atomic(name) for name in ("double", "string", "binary", "date", "timestamp")},
}


def number_literal(token: Token, *, negative_from: int | None = None) -> Literal:
    """Return the constant that `token` writes; `negative_from` is where its minus stands."""
    start = token.start if negative_from is None else negative_from
    match = _NUMBER.fullmatch(token.value)
    digits, suffix = (
        (match.group(1), (match.group(2) or "").upper()) if match else (token.value, "")
    )
    text = digits if negative_from is None else "-" + digits
    exponent = "e" in digits.lower() and suffix != "BD"
    kind = _SUFFIXES.get(suffix, DOUBLE if exponent else None)
    if kind is not None and kind in (DOUBLE, FLOAT):
        return Literal(_float(text, single=kind == FLOAT), kind, start, token.end)
    if kind is not None:
        return _whole(text, kind, start=start, end=token.end)
    if suffix == "BD" or "." in digits:
        return _exact(decimal.Decimal(text), start=start, end=token.end)
    for fitting in (INT, LONG):
        if -RANGES[fitting.name] <= int(text) < RANGES[fitting.name]:
            return Literal(int(text), fitting, start, token.end)
    return _exact(decimal.Decimal(text), start=start, end=token.end)


def date_literal(text: Literal, *, start: int) -> Literal:
    """Return the constant of `date'…'`.

    Raises:
        ExpressionError: The text is not a date.
    """
    value = date_of(text.value)
    if value is None:
        raise syntax_error(
            f"'{text.value}' is not a date", offset=start, hint="Write date'2024-12-31'."
        )
    return Literal(value, DATE, start, text.end)


def timestamp_literal(text: Literal, *, start: int) -> Literal:
    """Return the constant of `timestamp'…'`, in UTC where it names no zone.

    Raises:
        ExpressionError: The text is not a timestamp.
    """
    value = timestamp_of(text.value)
    if value is None:
        hint = "Write timestamp'2024-12-31 23:59:59'."
        raise syntax_error(f"'{text.value}' is not a timestamp", offset=start, hint=hint)
    return Literal(value, TIMESTAMP, start, text.end)


def type_named(token: Token, sizes: Sequence[int]) -> Atomic | Decimal:
    """Return the scalar type that `token` and the numbers in its parentheses name.

    Raises:
        ExpressionError: It names no scalar type that is portable, or one of impossible sizes.
    """
    word = token.value.lower()
    if word in ("decimal", "dec", "numeric") and len(sizes) <= 2:
        precision, scale = (*sizes, *(10, 0)[len(sizes) :])
        if not 1 <= precision <= 38 or scale > precision:
            hint = "A decimal has at most 38 digits, and its scale is at most its precision."
            raise syntax_error(
                f"{word}({precision},{scale}) is not a type", offset=token.start, hint=hint
            )
        return Decimal(precision, scale)
    if word not in _TYPES or sizes:
        raise not_portable(f"a cast to {word}", offset=token.start)
    return _TYPES[word]


def _float(text: str, *, single: bool) -> float:
    value = float(text)
    return float(struct.unpack("f", struct.pack("f", value))[0]) if single else value


def _whole(text: str, kind: Atomic, *, start: int, end: int) -> Literal:
    value = int(text) if text.lstrip("-").isdigit() else None
    if value is None or not -RANGES[kind.name] <= value < RANGES[kind.name]:
        raise syntax_error(f"{text} is not a {kind}", offset=start)
    return Literal(value, kind, start, end)


def _exact(value: decimal.Decimal, *, start: int, end: int) -> Literal:
    _, digits, exponent = value.as_tuple()
    if int(exponent) > 0:
        value = value.quantize(decimal.Decimal(1), context=decimal.Context(prec=100))
        _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    precision = max(len(str(abs(int("".join(map(str, digits)))))), scale)
    if precision > 38:
        raise syntax_error("a number has at most 38 digits", offset=start)
    return Literal(value, Decimal(precision, scale), start, end)
