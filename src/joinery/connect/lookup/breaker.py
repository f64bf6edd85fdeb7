"""A breaker for requests that run side by side.

`pybreaker` keeps its lock while a call runs, which would let one request through at a time.
"""

from __future__ import annotations

import threading


class Breaker:
    """Leaves a store alone after failures in a row, then lets one request try.

    Args:
        failures: So many in a row open it.
        rest_s: How long it stays open.
    """

    def __init__(self, failures: int, rest_s: float) -> None:
        self._most = failures
        self._rest_s = rest_s
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_at = 0.0

    def wait_s(self, now: float) -> float:
        """Return how long to wait before a request may try; 0 lets it go.

        The one that goes after a rest keeps the others out until it is known how it went.
        """
        with self._lock:
            if self._failures < self._most:
                return 0.0
            if now < self._closed_at:
                return self._closed_at - now
            self._closed_at = now + self._rest_s
            return 0.0

    def succeeded(self) -> None:
        """Close it."""
        with self._lock:
            self._failures = 0

    def failed(self, now: float) -> bool:
        """Count a failure; return whether it opened the breaker."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._closed_at = now + self._rest_s
            return self._failures == self._most
