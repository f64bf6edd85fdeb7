"""What is kept of the state of earlier batches, as a run tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joinery.model.moment import moment_text, seconds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMarks:
    """The marks of one query.

    Attributes:
        count: How many there are, one at least.
        batch: The newest marked batch.
        at: When that batch was, in seconds since 1970.
        bytes: What would be free without them.
    """

    count: int
    batch: int
    at: float
    bytes: int

    def to_json(self) -> dict[str, object]:
        """Return them as one JSON object."""
        return {
            "count": self.count,
            "batch": self.batch,
            "at": moment_text(self.at),
            "bytes": self.bytes,
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> KeptMarks:
        """Return the marks that `to_json` told."""
        return cls(**{**told, "at": seconds_of(told["at"])})
