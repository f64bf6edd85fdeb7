"""That a run keeps the state of a batch from time to time, as `joinery mark` does."""

from __future__ import annotations

from collections.abc import Mapping

from joinery.project.part import Part, key, part
from joinery.project.quantity import duration_ms
from joinery.project.reader import Reader
from joinery.project.tree import Scalar, Tree
from joinery.project.value import DURATION, count

KEPT = 24
"""How many marks of a query stay where nothing says otherwise."""
_HOUR_MS = 60 * 60 * 1000
_SHORTEST_MS = 1000


@part
class MarksSpec(Part):
    """How often a run marks a batch, and how many marks it keeps."""

    every_ms: int = key(DURATION, "The minimum time between two marked batches.", default=_HOUR_MS)
    keep: int = key(
        count(), "How many marks of a query are kept; the oldest go first.", default=KEPT
    )

    @classmethod
    def check(cls, reader: Reader, parts: Mapping[str, Tree], what: str) -> None:
        """Refuse to mark nearly every batch."""
        every = parts.get("every")
        found = duration_ms(every.text) if isinstance(every, Scalar) else None
        if isinstance(every, Scalar) and found is not None and found < _SHORTEST_MS:
            message = f'"every" of {what} cannot be "{every.text}"'
            hint = "Write 1s or more; 1h is the default."
            reader.refuse("SPEC_VALUE", message, every.mark.value, hint=hint)
