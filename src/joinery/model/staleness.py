"""Whether nearly all changes of a relation come too late, which is seldom meant.

Changes are stale one by one where a log is read again; all of them are where positions began
again: a database that was restored, a topic that was given more partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

_ENOUGH = 50
_REMEMBERED = 200
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class Staleness:
    """How many of a relation's latest changes were applied, how many stale.

    Attributes:
        applied: Of some hundred changes, the latest weighing most.
        stale: Of the same.
    """

    applied: float = 0.0
    stale: float = 0.0

    def plus(self, applied: int, stale: int) -> Staleness:
        """Return the staleness after some more changes.

        Args:
            applied: Negative where more were counted before, which real time does: it hears
                later that a change was stale than that it was read.
            stale: Changes that were stale.
        """
        before, more = self.applied + self.stale, applied + stale
        # What came just now outweighs what came before.
        kept = min(1.0, max(0.0, _REMEMBERED - more) / before) if before else 0.0
        return Staleness(max(0.0, self.applied * kept + applied), self.stale * kept + stale)

    @property
    def ratio(self) -> float:
        """The share of stale changes, from 0 to 1."""
        seen = self.applied + self.stale
        return self.stale / seen if seen else 0.0

    @property
    def nearly_all(self) -> bool:
        """Whether enough changes were seen, and nearly all of them were stale.

        Example:
            >>> Staleness().plus(2, 48).nearly_all, Staleness().plus(48, 2).nearly_all
            (True, False)
        """
        return self.applied + self.stale >= _ENOUGH and self.ratio >= _NEARLY_ALL
