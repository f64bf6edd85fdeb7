"""Waits for what is away: full jitter between attempts, a breaker against hammering.

An error that tells of an outage is waited out, without end unless the run ends; meanwhile the
batch is not committed, so the stream waits too. Everything else passes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from joinery.errors import JoineryError
from joinery.model.progress import Waiting

if TYPE_CHECKING:
    from tenacity import RetryCallState

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
        failures: So many in a row open the breaker: the target is left alone.
        rest_s: How long the breaker stays open before one attempt is let through.
    """

    first_s: float = 0.2
    longest_s: float = 5.0
    failures: int = 5
    rest_s: float = 5.0


PATIENCE = Patience()


class Retry:
    """Makes attempts at one target until one succeeds.

    Args:
        kind: What the target is, for the log: `sink`.
        product: Whose documents wait.
        target: What is waited for, in words.
        outage: The kind of error that tells of an outage.
        ended: True once the run is to end; a wait ends then.
        tell: Told what is waited for, and None once that is over.
        patience: How it waits.
    """

    def __init__(
        self,
        kind: str,
        product: str,
        target: Callable[[], str],
        *,
        outage: type[JoineryError],
        ended: Callable[[], bool],
        tell: Callable[[Waiting | None], None],
        patience: Patience,
    ) -> None:
        from pybreaker import CircuitBreaker

        self._kind, self._product, self._target = kind, product, target
        self._outage = outage
        self._ended = ended
        self._tell = tell
        self._patience = patience
        self._waiting: Waiting | None = None
        self._breaker = CircuitBreaker(
            fail_max=patience.failures,
            reset_timeout=patience.rest_s,
            exclude=[lambda error: not isinstance(error, outage)],
            throw_new_error_on_trip=False,
        )

    def until_done(self, attempt: Callable[[], _T], failed: str) -> _T:
        """Return what `attempt` gives, however long its target takes.

        Args:
            attempt: May be made again.
            failed: Says that it failed, should the run end meanwhile.

        Raises:
            JoineryError: An `outage`: the run ended while the target was not there.
        """
        from pybreaker import CircuitBreakerError
        from tenacity import Retrying, retry_if_exception_type, wait_random_exponential

        retrying = Retrying(
            retry=retry_if_exception_type((self._outage, CircuitBreakerError)),
            wait=wait_random_exponential(
                multiplier=self._patience.first_s, max=self._patience.longest_s
            ),
            stop=lambda state: self._ended(),
            sleep=self._sleep,
            before_sleep=self._failed,
            reraise=True,
        )
        try:
            done: _T = retrying(self._breaker.call, attempt)
        except CircuitBreakerError as error:
            reason = self._waiting.reason if self._waiting else ""
            raise self._outage(failed, detail=reason, hint=_HINT) from error
        self._over()
        return done

    def note(self, error: JoineryError, attempts: int) -> None:
        """Note an outage, and tell it."""
        since = self._waiting.since if self._waiting else time.time()
        if self._waiting is None:
            facts = {"product": self._product, "target": self._target(), "reason": error.detail}
            _log.warning(f"waiting for a {self._kind}", extra=facts)
        self._waiting = Waiting(
            product=self._product,
            target=self._target(),
            reason=" ".join(part for part in (error.message, error.detail) if part),
            attempts=attempts,
            since=since,
        )
        self._tell(self._waiting)

    def _failed(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, self._outage):
            self.note(error, state.attempt_number)

    def _over(self) -> None:
        if self._waiting is not None:
            waited = round(time.time() - self._waiting.since, 1)
            facts = {"target": self._target(), "waited_s": waited}
            _log.warning(f"a {self._kind} is back", extra=facts)
            self._waiting = None
            self._tell(None)

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._ended() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_S))
