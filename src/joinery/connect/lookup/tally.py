"""Counts of one asker's work, and the ages of the answers that it gave."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from joinery.model.lookup import AGE_BOUNDS_S, LookupProgress


class Tally:
    """Counts; whoever shares it between threads holds a lock.

    Attributes:
        counts: By the names of `LookupProgress`.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(LookupProgress().counts(), 0)
        self._ages = [0] * (len(AGE_BOUNDS_S) + 1)
        self._sum_s = 0.0
        self._oldest_s = 0.0

    def aged(self, ages_s: Iterable[float]) -> None:
        """Count answers by their ages."""
        for age_s in ages_s:
            self._ages[bisect_left(AGE_BOUNDS_S, age_s)] += 1
            self._sum_s += age_s
            if age_s > self._oldest_s:
                self._oldest_s = age_s

    def progress(self) -> LookupProgress:
        """Return what stands now."""
        return LookupProgress(
            **self.counts,
            ages=tuple(self._ages),
            age_sum_s=self._sum_s,
            oldest_s=self._oldest_s,
        )
