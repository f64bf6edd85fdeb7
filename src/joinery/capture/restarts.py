"""Counts how often a capture could not begin or ended in vain, and tells what is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from joinery.capture.spool import CaptureError
from joinery.model.progress import Waiting
from joinery.retry import PATIENCE

_VAIN_S = 30.0  # without a heartbeat's move, on a machine that is busy
_VAIN_ENDS = 5
_GRACE_S = 10.0


class Restarts:
    """How a capture fares, one attempt after the other.

    A server that is away, or has no connection to spare, is waited for without end; a process that
    keeps ending of anything else is given up.

    Args:
        name: The source's.
        log: What the connector says, for messages.
        on_wait: Called by target with what is waited for, and None once that is over.
    """

    def __init__(
        self, name: str, log: Path, on_wait: Callable[[str, Waiting | None], None]
    ) -> None:
        self._name, self._log, self._on_wait = name, log, on_wait
        self._away = self._vain = self._failing = 0
        self._since = self._begun_at = 0.0
        self._place: int | None = None
        self._waits = False

    def away(self, reason: str) -> float:
        """Note that the capture cannot begin; return after how many seconds to try again."""
        self._since = self._since if self._away else time.time()
        self._away += 1
        self.tell_waiting(reason, self._away, self._since)
        return PATIENCE.wait_s(self._away)

    def begin(self, place: int | None) -> None:
        """Note that the process begins, at a place of the log."""
        if not self._vain:
            self.tell_back()
        self._away = 0
        self._begun_at, self._place = time.monotonic(), place

    def ended(self, said: str, place: int | None, *, passes: bool) -> float:
        """Note that the process ended by itself; return after how many seconds to start it again.

        Args:
            said: Why it ended.
            place: Up to where the log is in the spool.
            passes: It ended of what passes, so it is started again however often that is.

        Raises:
            CaptureError: It keeps ending without getting on.
        """
        in_vain = place == self._place and time.monotonic() - self._begun_at < _VAIN_S
        self._since = self._since if self._vain else time.time()
        self._vain = self._vain + 1 if in_vain else 0
        self._failing = self._failing + 1 if in_vain and not passes else 0
        if in_vain and passes:
            self.tell_waiting(said, self._vain, self._since)
        elif self._failing >= _VAIN_ENDS:
            raise CaptureError(
                f'the capture of source "{self._name}" keeps failing: {said}',
                hint=f"See its log, {self._log}.",
            )
        return PATIENCE.wait_s(self._vain + 1)

    def tell_waiting(
        self, reason: str, attempts: int, since: float, grace_s: float = _GRACE_S
    ) -> None:
        """Tell what is waited for.

        Args:
            reason: For people.
            attempts: That were made so far.
            since: In seconds since 1970.
            grace_s: For how many seconds nobody need look at it.
        """
        target = f"source {self._name}"
        self._waits = True
        self._on_wait(
            target,
            Waiting(
                product="",
                source=self._name,
                target=target,
                reason=reason,
                attempts=attempts,
                since=since,
                grace_s=grace_s,
            ),
        )

    def tell_back(self) -> None:
        """Tell that nothing is waited for any more."""
        if self._waits:
            self._waits = False
            self._on_wait(f"source {self._name}", None)
