"""What is expected of a product while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from joinery.project.option import count, duration


@dataclass(frozen=True, slots=True)
class Expectations:
    """How a product is expected to be; what it is not wants attention. None expects nothing."""

    fresh_ms: int | None = duration(
        "How old what it does not show yet may be; by default 30s while it is behind.", default=None
    )
    behind: int | None = count("How many records may be left to read.", default=None, minimum=0)
    dead: int | None = count("How many dead letters may be open.", default=None, minimum=0)
    audited_ms: int | None = duration(
        "How long ago all documents may have been compared last, and found right (`joinery diff`).",
        default=None,
    )
