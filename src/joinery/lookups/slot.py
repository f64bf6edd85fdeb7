"""How many requests are under way: one at first, one more with each that is answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Slots:
    """Bounds requests under way, and starts slowly, also after a failure.

    Args:
        most: The bound that is reached at last.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = 1
        self._taken = 0
        self._free = threading.Condition()

    @property
    def allowed(self) -> int:
        """How many may be under way now."""
        return self._now

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a slot for the length of a block; one that fails makes the next start slowly."""
        with self._free:
            self._free.wait_for(lambda: self._taken < self._now)
            self._taken += 1
        answered = False
        try:
            yield
            answered = True
        finally:
            self._give_back(answered)

    def _give_back(self, answered: bool) -> None:
        with self._free:
            self._taken -= 1
            self._now = min(self._now + 1, self._most) if answered else 1
            self._free.notify_all()
