"""Durations, sizes and shares as people write them."""

from __future__ import annotations

import re

from joinery.errors import JoineryError
from joinery.project.window import DAY_US, Span, Unit

_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?")
_BYTES = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_LONGEST_MS = 1_000 * 366 * 86_400_000
_SPAN = re.compile(r"(\d+)\s*([a-z]+)")
_WORDS: dict[str, tuple[int, Unit]] = {
    "us": (1, "micros"),
    "ms": (1000, "micros"),
    "s": (1_000_000, "micros"),
    "m": (60_000_000, "micros"),
    "h": (3_600_000_000, "micros"),
    "d": (1, "days"),
    "w": (1, "weeks"),
    "second": (1_000_000, "micros"),
    "minute": (60_000_000, "micros"),
    "hour": (3_600_000_000, "micros"),
    "day": (1, "days"),
    "week": (1, "weeks"),
    "month": (1, "months"),
}


def span_of(text: str) -> Span | None:
    """Return a length of time, or None where it is none.

    Example:
        >>> span_of("90 s"), span_of("2 weeks"), span_of("soon")
        (Span(count=90000000, unit='micros'), Span(count=2, unit='weeks'), None)
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        return None
    word = found.group(2)
    size = _WORDS.get(word) or _WORDS.get(word.removesuffix("s") if len(word) > 3 else word)
    return None if size is None else Span(int(found.group(1)) * size[0], size[1])


def duration_ms(text: str) -> int | None:
    """Return a duration in whole milliseconds, or None where it is none, or above 1,000 years.

    Example:
        >>> duration_ms("2s"), duration_ms("7 d"), duration_ms("1 week"), duration_ms("soon")
        (2000, 604800000, 604800000, None)
    """
    span = span_of(text)
    micros = None if span is None else span.elapsed_us
    whole = micros is not None and micros % 1000 == 0 and micros <= _LONGEST_MS * 1000
    return micros // 1000 if micros is not None and whole else None


def span_text(span: Span) -> str:
    """Return a length of time in the largest unit that tells it exactly.

    Example:
        >>> span_text(Span(90_000_000, "micros")), span_text(Span(1, "months"))
        ('90s', '1 month')
    """
    if span.unit == "months":
        return f"{span.count} month" + ("" if span.count == 1 else "s")
    if span.unit != "micros":
        return f"{span.count}{span.unit[0]}"
    for unit in ("h", "m", "s", "ms"):
        if span.count and span.count % _WORDS[unit][0] == 0:
            return f"{span.count // _WORDS[unit][0]}{unit}"
    return f"{span.count}us"


def offset_us(text: str) -> int | None:
    """Return a duration with or without a sign in microseconds, or None where it has no length.

    Example:
        >>> offset_us("-10m"), offset_us("+1h"), offset_us("0s"), offset_us("1 month")
        (-600000000, 3600000000, 0, None)
    """
    written = text.strip()
    signed = written[:1] in ("-", "+")
    span = span_of(written[1:] if signed else written)
    elapsed = None if span is None else span.elapsed_us
    return -elapsed if elapsed is not None and written[:1] == "-" else elapsed


def offset_text(micros: int) -> str:
    """Return a duration with its sign, whole days as such.

    Example:
        >>> offset_text(-600_000_000), offset_text(0)
        ('-10m', '0s')
    """
    if micros == 0:
        return "0s"
    return f"-{micros_text(-micros)}" if micros < 0 else micros_text(micros)


def micros_text(micros: int) -> str:
    """Return an elapsed time, whole days as such.

    Example:
        >>> micros_text(7 * 86_400_000_000), micros_text(1500)
        ('7d', '1500us')
    """
    whole = micros and micros % DAY_US == 0
    return span_text(Span(micros // DAY_US, "days") if whole else Span(micros, "micros"))


def duration_text(milliseconds: int) -> str:
    """Return a duration in the largest unit that tells it exactly.

    Example:
        >>> duration_text(604800000), duration_text(1500), duration_text(0)
        ('7d', '1500ms', '0ms')
    """
    for unit, size in reversed(_MILLISECONDS.items()):
        if milliseconds and milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"


def given_duration_ms(given: object, error: type[JoineryError]) -> int:
    """Return a duration that was given as an argument, in milliseconds.

    Raises:
        JoineryError: Of the class `error`: it is not a duration.
    """
    milliseconds = duration_ms(str(given))
    if milliseconds is None:
        raise error(f'"{given}" is not a duration', hint="Write it as 30s or 5m.")
    return milliseconds


def size_bytes(text: str) -> int | None:
    """Return a size in bytes, or None where it is none or nothing.

    Example:
        >>> size_bytes("8 MiB"), size_bytes("100"), size_bytes("0"), size_bytes("big")
        (8388608, 100, None, None)
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(found.group(1)) * _BYTES[found.group(2)] if found else 0
    return size or None


def size_text(size: int) -> str:
    """Return a size in the largest unit that tells it exactly.

    Args:
        size: In bytes.

    Example:
        >>> size_text(8 << 20), size_text(1000)
        ('8 MiB', '1000 B')
    """
    units = ((unit, bytes_) for unit, bytes_ in reversed(_BYTES.items()) if unit)
    unit, bytes_ = next(each for each in units if size % each[1] == 0)
    return f"{size // bytes_} {unit}"


def given_share(given: str, error: type[JoineryError]) -> float:
    """Return a share of the documents that was given as an argument, from 0 to 1; 1 for none.

    Raises:
        JoineryError: Of the class `error`: it is not a share in per cent.
    """
    share = share_of(given) if given else 1.0
    if share is None:
        raise error(f'"{given}" is not a share of the documents', hint="Write it as 1% or 0.5%.")
    return share


def share_of(text: str) -> float | None:
    """Return a share that is written in per cent, above 0 and at most 1; None for another text.

    Example:
        >>> share_of("0.5%"), share_of("100%"), share_of("0%"), share_of("5")
        (0.005, 1.0, None, None)
    """
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        return None
    return share if text.endswith("%") and 0 < share <= 1 else None
