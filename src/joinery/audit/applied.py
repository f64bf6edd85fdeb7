"""How far a product has come, against places in the log of its database.

The capture of a database tells up to which place its log is in the spool. What was in the spool
then is applied and sent once the product's query has committed the batch that read it.

Invariant: a place that is reached is: nothing at or before it can still come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from joinery.capture.place_log import captured_position, change_files
from joinery.capture.spool import CapturePosition, SpoolFolder
from joinery.observe.frontier import Frontier, Position
from joinery.place.place import Place

_LOOK_S = 0.05


class Log(Protocol):
    """The log of a database."""

    def mark(self) -> None:
        """Write a mark, so that a capture hears of its place; where we may not, nothing is done."""

    def is_silent(self, after: CapturePosition, place: int) -> bool:
        """Return whether no captured table changed between two places; False where nobody knows."""


class SpoolApplied:
    """The frontier of a product that reads a database's own log: exact.

    Args:
        source: The name of its source.
        spool: The source's.
        topics: Those that the product reads.
        checkpoint: Of the product's query.
        log: The database's, asked to make a capture hear of it, or where nobody captures it.
        wait_s: How long at most.
        pause: Waits.
        clock: In seconds.
    """

    def __init__(
        self,
        source: str,
        spool: SpoolFolder,
        topics: Sequence[str],
        checkpoint: Place,
        *,
        log: Log,
        wait_s: float,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spool, self._topics, self._checkpoint = spool, tuple(topics), checkpoint
        self._source, self._log, self._wait_s = source, log, wait_s
        self._pause, self._clock = pause, clock
        self._done: set[tuple[str, str]] = set()

    def reach(self, place: int) -> bool:
        """Return once all up to a place is applied and sent; False where it is not in time."""
        until = self._clock() + self._wait_s
        if not self._captured(place, until):
            return False
        files = [each for each in change_files(self._spool, self._topics) if each not in self._done]
        return not files or self._until(lambda: self._all_done(files), until)

    def heard(self) -> int:
        """Return up to which place the log is in the spool; 0 before its tables were read."""
        position = self._position()
        return 0 if position is None else position.lsn

    def _position(self) -> CapturePosition | None:
        return captured_position(self._spool, self._topics)

    def _captured(self, place: int, until: float) -> bool:
        """Return whether all up to a place is in the spool, waiting for whoever captures it."""
        heard = self._position()
        if heard is not None and heard.lsn >= place:
            return True
        if not self._spool.held():
            return heard is not None and self._log.is_silent(heard, place)
        self._log.mark()
        return self._until(lambda: self.heard() >= place, until)

    def _all_done(self, files: Sequence[tuple[str, str]]) -> bool:
        left = [each for each in files if each not in self._done]
        frontier = Frontier.read(self._checkpoint)
        for topic, name in left:
            if not frontier.has(Position(self._source, topic, name, None)):
                return False
            self._done.add((topic, name))
        return True

    def _until(self, condition: Callable[[], bool], until: float) -> bool:
        while not condition():
            if self._clock() >= until:
                return False
            self._pause(_LOOK_S)
        return True
