"""Which records come late for one product: counted, told, and left out where it says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from joinery.model.change import Change
from joinery.project.emit import Emit
from joinery.semantics.lateness import Watermarks
from joinery.semantics.window import Bounds
from joinery.solutions.protocol import DeadDocument

LATE_COUNTERS = ("late", "overtaken", "too_late", "event_without_time")
"""What is counted of each product's rows that come late, or tell no time."""


class Arrivals:
    """Judges the records of one relation for one product by the relation's watermarks.

    Args:
        product: Its name.
        emit: What it does with records that come late.
        watermarks: Those of the relation.
        lifetimes: Gives from when to when what a record of a time touches may wait to be sent;
            None where the product waits for nothing.
    """

    def __init__(
        self,
        product: str,
        emit: Emit,
        watermarks: Watermarks,
        lifetimes: Callable[[int], Sequence[Bounds]] | None,
    ) -> None:
        self._product, self._emit = product, emit
        self._watermarks, self._lifetimes = watermarks, lifetimes
        self._letters: list[DeadDocument] = []

    def take_dead_letters(self) -> list[DeadDocument]:
        """Return the dead letters since the last call."""
        taken, self._letters = self._letters, []
        return taken

    def left_out(
        self, change: Change, time_us: int, watermark: int | None, counters: Counter[str]
    ) -> bool:
        """Count a record that is late or overtaken; return whether it is as if not in the log.

        Args:
            change: The record.
            time_us: Its row's time.
            watermark: That of its partition before it; None before the first time.
            counters: Those of the product.
        """
        if watermark is not None and time_us < watermark - self._emit.allowed_us:
            reason, bound = "late", watermark
        elif self._overtaken(time_us):
            reason, bound = "overtaken", self._watermarks.relation or 0
        else:
            return False
        counters[reason] += 1
        if reason == "overtaken" and self._in_ended(time_us):
            return False
        if self._emit.late == "dead_letter":
            behind = (bound - self._emit.allowed_us - time_us) / 1_000_000
            detail = f"Its time is {behind:g} s below what the watermark allows."
            self._letters.append(DeadDocument(self._product, dict(change.key), reason, detail))
        return self._emit.late != "correct"

    def is_out(self, time_us: int | None, watermark: int | None) -> bool:
        """Return whether a record is as if not in the log; `left_out` counts it.

        Args:
            time_us: The time of its row; None where it tells none.
            watermark: As for `left_out`.
        """
        if time_us is None or self._emit.late == "correct":
            return False
        late = watermark is not None and time_us < watermark - self._emit.allowed_us
        return late or (self._overtaken(time_us) and not self._in_ended(time_us))

    def _overtaken(self, time_us: int) -> bool:
        """Return whether a record in time for its partition meets what others have closed."""
        bound = self._watermarks.relation
        below = bound is not None and time_us < bound - self._emit.allowed_us
        return below or self._in_ended(time_us)

    def _in_ended(self, time_us: int) -> bool:
        """Return whether a time is in what was closed ahead of the watermark."""
        return self._lifetimes is not None and any(
            self._watermarks.has_ended(each, self._emit.allowed_us)
            for each in self._lifetimes(time_us)
        )
