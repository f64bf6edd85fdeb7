"""How far a product has come in logs that tell no place of their database.

The ends of the logs are looked up, and waited for. Against the logs themselves that is exact.
Against a database it is probable: a change may be committed there and not be in a log yet, so
the ends are looked up only after a while.

Invariant: once this has waited, all that the logs had at that time is applied and sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from joinery.observe.frontier import Frontier, Position
from joinery.place.place import Place

_LOOK_S = 0.1


class LogApplied:
    """The frontier of a product that reads files or Kafka.

    Args:
        ends: Returns the last record of each partition, or each file as a whole.
        checkpoint: Of the product's query.
        delay_s: How long changes are given to come into the logs.
        wait_s: How long the run is given.
        pause: Waits.
        clock: In seconds.
    """

    def __init__(
        self,
        ends: Callable[[], Sequence[Position]],
        checkpoint: Place,
        *,
        delay_s: float,
        wait_s: float,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ends, self._checkpoint = ends, checkpoint
        self._delay_s, self._wait_s = delay_s, wait_s
        self._pause, self._clock = pause, clock

    def reach(self, place: int) -> bool:
        """Return once all that the logs have is applied and sent; False where it is not in time."""
        if self._delay_s:
            self._pause(self._delay_s)
        left = [*self._ends()]
        until = self._clock() + self._wait_s
        while left:
            frontier = Frontier.read(self._checkpoint)
            left = [each for each in left if not frontier.has(each)]
            if left and self._clock() >= until:
                return False
            if left:
                self._pause(_LOOK_S)
        return True

    def heard(self) -> int:
        """Return that no place of the database is known."""
        return 0
