"""What is expected of a product while it runs."""

from __future__ import annotations

from joinery.project.part import Part, key, part
from joinery.project.value import DURATION, count


@part
class Expectations(Part):
    """How a product is expected to be; what it is not wants attention. None expects nothing."""

    fresh_ms: int | None = key(
        DURATION,
        "How far documents may lag behind the changes; by default 30s while the product is behind.",
        default=None,
    )
    behind: int | None = key(count(0), "How many records may be left to read.", default=None)
    dead: int | None = key(count(0), "How many dead letters may be open.", default=None)
    audited_ms: int | None = key(
        DURATION,
        "How old the last comparison that found all documents right may be (`joinery diff`).",
        default=None,
    )
