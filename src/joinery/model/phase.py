"""What a run is at: behind its sources, caught up with them, or idle.

Invariant: a short batch does not end `caught up`, so a trickle of changes is not told twice
a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

Phase = Literal["reading", "caught up", "idle"]
_BEHIND_S = 10.0
_IDLE_S = 60.0


class Phases:
    """Says when a run goes from one phase to another.

    It begins with `reading`. It is `caught up` once there is nothing left to read, `idle`
    once there was nothing for a minute, and `reading` again once it is behind for ten seconds.

    Args:
        tell: Called with each new phase.
        clock: In seconds.
    """

    def __init__(
        self, tell: Callable[[Phase], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell, self._clock = tell, clock
        self._phase: Phase = "reading"
        self._caught_up = False
        self._since = clock()

    def note(self, caught_up: bool) -> None:
        """Note whether all that the sources have is read, now."""
        now = self._clock()
        if caught_up != self._caught_up:
            self._caught_up, self._since = caught_up, now
        phase = self._now(now - self._since)
        if phase != self._phase:
            self._phase = phase
            self._tell(phase)

    def _now(self, lasted_s: float) -> Phase:
        if self._caught_up:
            return "idle" if lasted_s >= _IDLE_S else "caught up"
        behind = self._phase == "reading" or lasted_s >= _BEHIND_S
        return "reading" if behind else "caught up"
