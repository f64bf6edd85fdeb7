"""Waits for what is away: full jitter between attempts, a breaker against hammering.

An error that tells of an outage is waited out, without end unless the run ends; meanwhile the
batch is not committed, so the stream waits too. Everything else passes.

Invariant: sinks, dead letters, stores of join state and lookup stores are all waited for here.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from joinery.errors import JoineryError
from joinery.model.progress import Waiting

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_SLICE_S = 0.1
_HINT = "The batch was not committed; it runs again at the next start."


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How an outage is waited for.

    Attributes:
        first_s: The first wait is a random time up to this; the bound doubles each time.
        longest_s: No wait is longer.
        failures: How many in a row open the breaker: the target is then left alone.
        rest_s: How long the breaker stays open before one attempt is let through.
    """

    first_s: float = 0.2
    longest_s: float = 5.0
    failures: int = 5
    rest_s: float = 5.0

    def wait_s(self, failed: int) -> float:
        """Return how long to wait after a number of failed attempts."""
        bound_s = self.first_s * 2.0 ** min(failed - 1, 64)
        return random.uniform(0, min(self.longest_s, bound_s))


PATIENCE = Patience()


class CircuitBreaker:
    """Leaves a target alone after failures in a row, then lets one attempt through.

    Args:
        failures: How many in a row open it.
        rest_s: How long it stays open.
    """

    def __init__(self, failures: int, rest_s: float) -> None:
        self._most = failures
        self._rest_s = rest_s
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_at = 0.0

    def wait_s(self, now: float) -> float:
        """Return how long to wait before an attempt may be made; 0 lets it go.

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


class Retry:
    """Makes attempts at one target until one succeeds; may be used from several threads.

    Args:
        kind: What the target is, for the log: `sink`.
        user: Who waits, by the word for it in the log: `{"product": "profile"}`.
        target: What is waited for, in words.
        outage: The kind of error that tells of an outage.
        ended: True once the run is to end; a wait ends then.
        tell: Called with what is waited for, and None once that is over.
        patience: How it waits.
    """

    def __init__(
        self,
        kind: str,
        user: Mapping[str, str],
        target: Callable[[], str],
        *,
        outage: type[JoineryError],
        ended: Callable[[], bool],
        tell: Callable[[Waiting | None], None],
        patience: Patience = PATIENCE,
    ) -> None:
        self._kind, self._user, self._target = kind, dict(user), target
        self._outage = outage
        self._ended = ended
        self._tell = tell
        self._patience = patience
        self._breaker = CircuitBreaker(patience.failures, patience.rest_s)
        self._lock = threading.Lock()
        self._waiting: Waiting | None = None

    def until_done(self, attempt: Callable[[], _T], failed: str) -> _T:
        """Return what `attempt` gives, however long its target takes.

        Args:
            attempt: May be made again.
            failed: Says that it failed, should the run end meanwhile.

        Raises:
            JoineryError: An `outage`: the run ended while the target was not there.
        """
        failures = 0
        while True:
            while (rest_s := self._breaker.wait_s(time.monotonic())) > 0:
                self.pause(rest_s, failed)
            try:
                done = attempt()
            except self._outage as error:
                failures += 1
                opened = self._breaker.failed(time.monotonic())
                if self._ended():
                    raise
                self.note(error)
                if opened:
                    _log.warning(f"a {self._kind} is left alone", extra=self._facts())
                if not self._slept(self._patience.wait_s(failures)):
                    raise
            else:
                self._breaker.succeeded()
                self._over()
                return done

    def pause(self, seconds: float, failed: str) -> None:
        """Sleep; `failed` says what failed, should the run end meanwhile.

        Raises:
            JoineryError: An `outage`: the run ended.
        """
        if not self._slept(seconds):
            waiting = self._waiting
            reason = waiting.reason if waiting else "The run is ending."
            raise self._outage(failed, detail=reason, hint=_HINT)

    def note(self, error: JoineryError) -> None:
        """Note an outage, and tell it."""
        with self._lock:
            known = self._waiting
            self._waiting = Waiting(
                product=next(iter(self._user.values())),
                target=self._target(),
                reason=". ".join(part for part in (error.message, error.detail) if part),
                attempts=known.attempts + 1 if known else 1,
                since=known.since if known else time.time(),
            )
            self._tell(self._waiting)
        if known is None:
            facts = {**self._facts(), "reason": error.detail}
            _log.warning(f"waiting for a {self._kind}", extra=facts)

    def _over(self) -> None:
        with self._lock:
            if (waiting := self._waiting) is None:
                return
            self._waiting = None
            self._tell(None)
        waited_s = round(time.time() - waiting.since, 1)
        _log.warning(f"a {self._kind} is back", extra={**self._facts(), "waited_s": waited_s})

    def _slept(self, seconds: float) -> bool:
        """Sleep; return False as soon as the run is to end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._ended():
                return False
            time.sleep(min(left, _SLICE_S))
        return seconds <= 0 or not self._ended()

    def _facts(self) -> dict[str, object]:
        return {**self._user, "target": self._target()}
