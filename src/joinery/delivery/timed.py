"""How long each target takes the documents of a batch."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from joinery.model.batch import Counts
from joinery.sinks.protocol import Sink, StagedBatch, WrappingSink, Written, waits_for_disk


class SinkTimes:
    """The time that targets took since it was last asked for; several threads may add to it."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def add(self, target: str, seconds: float) -> None:
        """Add what one write to a target took."""
        with self._mutex:
            self._seconds[target] += seconds

    def take(self) -> Counts:
        """Return milliseconds by target, and start over."""
        with self._mutex:
            seconds, self._seconds = self._seconds, defaultdict(float)
        return {target: round(each * 1000) for target, each in seconds.items()}


class TimedSink(WrappingSink):
    """A sink whose writes are timed, with the time that its target is waited for.

    Args:
        sink: The sink.
        times: Notified of each write.
        clock: In seconds.
    """

    def __init__(
        self, sink: Sink, times: SinkTimes, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(sink)
        self._times, self._clock = times, clock

    @property
    def waits_for_disk(self) -> bool:
        """Whether the sink does."""
        return waits_for_disk(self._sink)

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch`."""
        began = self._clock()
        written = super().write(batch)
        self._times.add(self.target, self._clock() - began)
        return written
