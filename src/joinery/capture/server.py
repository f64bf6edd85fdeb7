"""What captures of all servers share: what one is started with, and servers that are not there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from joinery.capture.spool import CaptureError


class ServerAwayError(CaptureError):
    """A database cannot be reached now; asking again may help."""


class ServerShortError(ServerAwayError):
    """A database is there, and now lacks what it needs to answer: room, memory, connections."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a capture is started with.

    Attributes:
        settings: Of Debezium's connector; the password is among them.
        begun_at: A place in the log, as a number. The slot, if it is made now, is made after it,
            so whatever is followed was written after it.
        lacking: Why tables are not followed yet that are to join, by table.
        plugin: Which connector reads the log.
        silent_ms: A log of which nothing is heard for so long is given up; 0 where that is usual.
    """

    settings: dict[str, str] = field(repr=False)
    begun_at: int
    lacking: Mapping[str, CaptureError] = field(default_factory=dict)
    plugin: Literal["postgres", "mysql", "mariadb"] = "postgres"
    silent_ms: int = 0


def pattern_of(table: str) -> str:
    """Return a regular expression for exactly one table, as the connector wants it."""
    return "".join(each if each.isalnum() or each == "_" else f"\\{each}" for each in table)
