"""A sink that waits for its target: full jitter between attempts, a breaker against hammering.

It wraps any sink. A `SinkUnavailableError` is waited out, without end unless the run ends;
meanwhile the batch is not committed, so the stream waits too. Everything else passes.

Invariant: before each attempt after the first the batch's lease is checked, and the inner
sink has been closed and opened again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joinery.connect.guarantee import Guarantee
from joinery.connect.protocol import Sink, SinkUnavailableError, StagedBatch, Written
from joinery.model.progress import Waiting

if TYPE_CHECKING:
    from tenacity import RetryCallState

_log = logging.getLogger(__name__)
_SLICE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How a sink waits.

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


class PatientSink:
    """Writes to `sink`, and waits as long as its target is not there.

    Args:
        sink: Not yet opened.
        product: Whose documents it takes.
        ended: True once the run is to end; a wait ends then.
        tell: Told what is waited for, and None once that is over.
    """

    def __init__(
        self,
        sink: Sink,
        product: str,
        *,
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        patience: Patience = Patience(),
    ) -> None:
        from pybreaker import CircuitBreaker

        self._sink = sink
        self._product = product
        self._ended = ended
        self._tell = tell
        self._patience = patience
        self._open = False
        self._waiting: Waiting | None = None
        self._breaker = CircuitBreaker(
            fail_max=patience.failures,
            reset_timeout=patience.rest_s,
            exclude=[lambda error: not isinstance(error, SinkUnavailableError)],
            throw_new_error_on_trip=False,
        )

    @property
    def wrapped(self) -> Sink:
        """The sink that it waits for."""
        return self._sink

    @property
    def guarantee(self) -> Guarantee:
        """That of the wrapped sink."""
        return self._sink.guarantee

    @property
    def target(self) -> str:
        """That of the wrapped sink."""
        return self._sink.target

    def open(self) -> None:
        """Open the sink; one whose target is not there now is opened with the first batch."""
        try:
            self._sink.open()
            self._open = True
        except SinkUnavailableError as error:
            self._sink.close()
            self._note(error, 1)

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch`, however long its target takes.

        Raises:
            SinkUnavailableError: The run ended while the target was not there.
        """
        from pybreaker import CircuitBreakerError
        from tenacity import Retrying, retry_if_exception_type, wait_random_exponential

        retrying = Retrying(
            retry=retry_if_exception_type((SinkUnavailableError, CircuitBreakerError)),
            wait=wait_random_exponential(
                multiplier=self._patience.first_s, max=self._patience.longest_s
            ),
            stop=lambda state: self._ended(),
            sleep=self._sleep,
            before_sleep=self._failed,
            reraise=True,
        )
        try:
            written: Written = retrying(self._breaker.call, self._attempt, batch)
        except CircuitBreakerError as error:
            raise SinkUnavailableError(
                f"could not write to {self.target}",
                detail=self._waiting.reason if self._waiting else "",
                hint="The batch was not committed; it runs again at the next start.",
            ) from error
        self._over()
        return written

    def close(self) -> None:
        """Close the sink."""
        self._open = False
        self._sink.close()

    def _attempt(self, batch: StagedBatch) -> Written:
        batch.check()
        if not self._open:
            self._sink.close()
            self._sink.open()
            self._open = True
        try:
            return self._sink.write(batch)
        except SinkUnavailableError:
            self._open = False
            raise

    def _failed(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, SinkUnavailableError):
            self._note(error, state.attempt_number)

    def _note(self, error: SinkUnavailableError, attempts: int) -> None:
        since = self._waiting.since if self._waiting else time.time()
        if self._waiting is None:
            facts = {"product": self._product, "target": self.target, "reason": error.detail}
            _log.warning("waiting for a sink", extra=facts)
        self._waiting = Waiting(
            product=self._product,
            target=self.target,
            reason=" ".join(part for part in (error.message, error.detail) if part),
            attempts=attempts,
            since=since,
        )
        self._tell(self._waiting)

    def _over(self) -> None:
        if self._waiting is not None:
            waited = round(time.time() - self._waiting.since, 1)
            _log.warning("a sink is back", extra={"target": self.target, "waited_s": waited})
            self._waiting = None
            self._tell(None)

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._ended() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_S))
