"""Ends a run that waits too long: for a sink, a store or brokers, whatever is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from joinery.errors import RunError
from joinery.model.progress import Progress, Waiting
from joinery.project.quantity import duration_text

_LOOK_S = 0.2


class WaitedTooLongError(RunError):
    """What a run waited for did not come back in the time that it was given."""

    code = "RUN_WAIT"


class WaitLimit:
    """Bounds how long a run waits for any one thing, from a thread of its own.

    Args:
        limit_ms: The longest wait.
        progress: Tells what is waited for.
        give_up: Called once, with the error that ends the run.
    """

    def __init__(
        self,
        limit_ms: int,
        progress: Callable[[], Progress],
        give_up: Callable[[WaitedTooLongError], None],
    ) -> None:
        self._limit_ms = limit_ms
        self._progress = progress
        self._give_up = give_up
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._look, name="joinery-wait", daemon=True)

    def open(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._closing.set()

    def _look(self) -> None:
        while not self._closing.wait(_LOOK_S):
            for each in self._progress().waiting.values():
                if (time.time() - each.since) * 1000 >= self._limit_ms:
                    self._give_up(self._error(each))
                    return

    def _error(self, waiting: Waiting) -> WaitedTooLongError:
        return WaitedTooLongError(
            f"waited {duration_text(self._limit_ms)} for {waiting.target}",
            detail=f"{waiting.reason.rstrip('.')}. What was committed is kept.",
            hint="Start the run again once it is there: it goes on where it was.",
        )
