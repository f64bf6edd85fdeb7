"""That a run compares documents with their database for ever."""

from __future__ import annotations

import re
from dataclasses import dataclass

from joinery.project.option import text

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)/s")


@dataclass(frozen=True, slots=True)
class AuditSpec:
    """How a run compares documents with what they should be, as `joinery diff` does."""

    database: str = text(
        "The database, or a standby of it; by default the source's own.",
        examples=["postgresql://user:password@host:5432/name"],
        default="",
        secret=True,
    )
    rate: str = text(
        "Documents a second at most.", default="100/s", pattern=r"^[0-9]+(\.[0-9]+)?/s$"
    )


def per_second(rate: str) -> float | None:
    """Return how many a second a rate means; None where it is none.

    Example:
        >>> per_second("100/s"), per_second("0.5/s"), per_second("0/s"), per_second("fast")
        (100.0, 0.5, None, None)
    """
    found = _RATE.fullmatch(rate)
    return float(found[1]) or None if found else None
