"""Moments as files tell them: ISO 8601 in UTC, to the millisecond."""

from __future__ import annotations

from datetime import UTC, datetime


def moment_text(seconds: float) -> str:
    """Return a moment, in seconds since 1970, as ISO 8601 in UTC.

    Example:
        >>> moment_text(1.5)
        '1970-01-01T00:00:01.500Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> float:
    """Return the seconds since 1970 of a moment in ISO 8601.

    Example:
        >>> seconds_of("1970-01-01T00:00:01.500Z")
        1.5
    """
    return datetime.fromisoformat(text).timestamp()


def second_text(seconds: float) -> str:
    """Return a moment, in seconds since 1970, to the second in UTC, for people.

    Example:
        >>> second_text(1.5)
        '1970-01-01 00:00:01Z'
    """
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d %H:%M:%SZ}"
