"""When the next request may go: evenly spaced, slower at first, never a saved-up burst.

Nothing is saved up while a run is down or idle, so a store that a restarted run finds with
an empty cache sees no more than its declared rate.
"""

from __future__ import annotations

import threading

_FIRST_SHARE = 0.1


class Pace:
    """Spaces requests.

    Args:
        per_second: The most requests a second; None sets no bound.
        warm_up_s: How long the rate rises, from a tenth of it, after the first request.
    """

    def __init__(self, per_second: float | None, warm_up_s: float = 0.0) -> None:
        self._per_second = per_second
        self._warm_up_s = warm_up_s
        self._lock = threading.Lock()
        self._first_at: float | None = None
        self._next_at = 0.0

    def reserve(self, now: float) -> float:
        """Take the next place; return how many seconds from `now` it is."""
        if self._per_second is None:
            return 0.0
        with self._lock:
            if self._first_at is None:
                self._first_at = now
            place = max(now, self._next_at)
            self._next_at = place + 1 / self._rate(place - self._first_at)
            return place - now

    def _rate(self, since_s: float) -> float:
        assert self._per_second is not None  # `reserve` has seen to it
        if since_s >= self._warm_up_s:
            return self._per_second
        share = _FIRST_SHARE + (1 - _FIRST_SHARE) * since_s / self._warm_up_s
        return self._per_second * share
