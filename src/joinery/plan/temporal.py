"""Dates and timestamps as text, read as Spark's cast reads them under UTC.

Limits: years 1 to 9999; texts whose value depends on today (`today`, `12:30`) are not read.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

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
