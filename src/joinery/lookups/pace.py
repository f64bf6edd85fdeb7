"""When the next request to a store may go: evenly spaced, slower at first, never a saved-up burst.

Nothing is saved up while a run is down or idle, so a store that a restarted run finds with
an empty cache sees no more than its declared rate.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_FIRST_SHARE = 0.1


class Pace:
    """Spaces requests.

    Args:
        per_second: The most requests a second; None sets no bound.
        warm_up_s: How long the rate rises, from a tenth of it, after the first request.
        clock: Gives seconds.
    """

    def __init__(
        self,
        per_second: float | None,
        warm_up_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_second
        self._warm_up_s = warm_up_s
        self._clock = clock
        self._turn = threading.Lock()
        self._first_at: float | None = None
        self._next_at = 0.0

    def wait(self, sleep: Callable[[float], None]) -> None:
        """Return when the next request may go.

        Args:
            sleep: Sleeps for a number of seconds; what it raises takes no turn.
        """
        if self._per_second is None:
            return
        with self._turn:
            if (early_s := self._next_at - self._clock()) > 0:
                sleep(early_s)
            now = self._clock()
            self._first_at = now if self._first_at is None else self._first_at
            self._next_at = now + 1 / self._rate(self._per_second, now - self._first_at)

    def _rate(self, full: float, since_s: float) -> float:
        if since_s >= self._warm_up_s:
            return full
        return full * (_FIRST_SHARE + (1 - _FIRST_SHARE) * since_s / self._warm_up_s)
