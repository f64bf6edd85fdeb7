"""That a run compares documents with their database forever."""

from __future__ import annotations

import re
from collections.abc import Mapping

from joinery.project.part import Part, key, part
from joinery.project.reader import Reader
from joinery.project.tree import Scalar, Tree
from joinery.project.value import TEXT

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)/s")


@part
class AuditSpec(Part):
    """How a run compares documents with what they should be, as `joinery diff` does."""

    database: str = key(
        TEXT.told(examples=["postgresql://user:password@host:5432/name"]),
        "The database, or a standby of it; by default the source's own.",
        default="",
        secret=True,
    )
    rate: str = key(
        TEXT.told(pattern=r"^[0-9]+(\.[0-9]+)?/s$"),
        "Maximum number of documents per second.",
        default="100/s",
    )

    @classmethod
    def check(cls, reader: Reader, parts: Mapping[str, Tree], what: str) -> None:
        """Refuse a rate that is none."""
        rate = parts.get("rate")
        if isinstance(rate, Scalar) and isinstance(rate.value, str) and not per_second(rate.value):
            message = f'"rate" of "audit" cannot be "{rate.value}"'
            reader.refuse("SPEC_VALUE", message, rate.mark.value, hint="Write it as 100/s.")


def per_second(rate: str) -> float | None:
    """Return how many a second a rate means; None where it is none.

    Example:
        >>> per_second("100/s"), per_second("0.5/s"), per_second("0/s"), per_second("fast")
        (100.0, 0.5, None, None)
    """
    found = _RATE.fullmatch(rate)
    return float(found[1]) or None if found else None
