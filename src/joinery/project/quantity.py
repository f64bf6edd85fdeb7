"""Durations and sizes as people write them."""

from __future__ import annotations

import re

_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?")
_BYTES = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def duration_ms(text: str) -> int | None:
    """Return a duration in milliseconds, or None where it is none.

    Example:
        >>> duration_ms("2s"), duration_ms("7 d"), duration_ms("soon")
        (2000, 604800000, None)
    """
    found = _DURATION.fullmatch(text.strip())
    return int(found.group(1)) * _MILLISECONDS[found.group(2)] if found else None


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


def size_bytes(text: str) -> int | None:
    """Return a size in bytes, or None where it is none or nothing.

    Example:
        >>> size_bytes("8 MiB"), size_bytes("100"), size_bytes("0"), size_bytes("big")
        (8388608, 100, None, None)
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(found.group(1)) * _BYTES[found.group(2)] if found else 0
    return size or None
