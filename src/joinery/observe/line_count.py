"""Counts the lines that a change file had when a run saw it."""

from __future__ import annotations

from pathlib import Path

_PART_BYTES = 1 << 20


def line_count(file: Path, size: int, most: int) -> int | None:
    """Return how many lines a file had; no line is looked for beyond `most`.

    Args:
        file: May have grown since.
        size: Its bytes at that time.
        most: How many lines are looked for.

    Returns:
        At least `most` where it had that many; None where it cannot be read.
    """
    found, part = 0, b""
    try:
        with file.open("rb") as opened:
            while found < most and size > 0 and (part := opened.read(min(size, _PART_BYTES))):
                found += part.count(b"\n")
                size -= len(part)
    except OSError:
        return None
    return found + (part[-1:] not in (b"\n", b""))
