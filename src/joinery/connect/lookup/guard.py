"""One request to a store, made again until it is answered, never faster than allowed.

Invariant: every request, a repeated one too, has taken a slot and a place in the pace, and
has passed the breaker. None is made before the time that the store has asked for.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from joinery.connect.lookup.breaker import Breaker
from joinery.connect.lookup.pace import Pace
from joinery.connect.lookup.protocol import Answer, Key, LookupStore, LookupUnavailableError
from joinery.connect.lookup.slots import Slots
from joinery.connect.retry import Patience
from joinery.model.progress import Waiting
from joinery.plan.stream import Limits

_log = logging.getLogger(__name__)
_SLICE_S = 0.1
_LONGEST_REST_S = 600.0
_PATIENCE = Patience()


Rows = TypeVar("Rows")


@dataclass(frozen=True, slots=True)
class Reply(Generic[Rows]):
    """What a store gave, and when it was asked: no answer is older than that."""

    answers: Rows
    read_at: float


class Guard:
    """Asks a store within its limits, and waits as long as it is not there.

    Args:
        store: Opened.
        limits: What it is spared.
        patience: How a failed request is repeated: full jitter, then the breaker.
        user: The stream that asks, for messages.
        ended: True once the run is to end; a wait ends then.
        tell: Told what is waited for, and None once that is over.
        counted: Told of each request by the name of what it was.
    """

    def __init__(
        self,
        store: LookupStore,
        limits: Limits,
        *,
        patience: Patience = _PATIENCE,
        user: str = "",
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        counted: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._store = store
        self._patience = patience
        self._user = user
        self._ended = ended
        self._tell = tell
        self._counted = counted
        self._slots = Slots(limits.concurrency)
        self._pace = Pace(limits.per_second, limits.warm_up_ms / 1000)
        self._breaker = Breaker(patience.failures, patience.rest_s)
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._waiting: Waiting | None = None

    def request(self, keys: Sequence[Key]) -> Reply[Mapping[Key, Answer]]:
        """Return what the store holds under `keys`, as `read` does."""
        return self.read(partial(self._store.fetch, keys))

    def read(self, fetch: Callable[[], Rows]) -> Reply[Rows]:
        """Return what a request to the store gives, however long that takes.

        Raises:
            LookupUnavailableError: The run ended while the store was not there.
            LookupStoreError: The store cannot be asked.
        """
        attempt = 0
        while True:
            try:
                return self._once(fetch)
            except LookupUnavailableError as error:
                attempt += 1
                self._note(error)
                bound_s = min(self._patience.longest_s, self._patience.first_s * 2 ** (attempt - 1))
                if not self._sleep(random.uniform(0, bound_s)):
                    raise

    def _once(self, fetch: Callable[[], Rows]) -> Reply[Rows]:
        while (wait_s := self._breaker.wait_s(time.monotonic())) > 0:
            self._pause(wait_s)
        with self._slots.one():
            self._pace.wait(self._pause)
            while (wait_s := self._not_before - time.monotonic()) > 0:
                self._pause(wait_s)
            read_at = time.monotonic()
            self._counted("requests")
            try:
                answers = fetch()
            except LookupUnavailableError as error:
                self._counted("failures")
                self._rest(error.after_s)
                if self._breaker.failed(time.monotonic()):
                    _log.warning("a lookup store is left alone", extra=self._facts())
                raise
        self._breaker.succeeded()
        self._over()
        return Reply(answers, read_at)

    def _rest(self, asked_s: float | None) -> None:
        """Leave the store alone for as long as it asks, within reason."""
        if asked_s is not None:
            until = time.monotonic() + min(asked_s, _LONGEST_REST_S)
            with self._lock:
                self._not_before = max(self._not_before, until)

    def _pause(self, seconds: float) -> None:
        if not self._sleep(seconds):
            raise LookupUnavailableError(
                f"did not ask {self._store.target}",
                detail=self._waiting.reason if self._waiting else "The run is ending.",
                hint="The batch was not committed; it runs again at the next start.",
            )

    def _sleep(self, seconds: float) -> bool:
        """Sleep; return False as soon as the run is to end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._ended():
                return False
            time.sleep(min(left, _SLICE_S))
        return not (seconds > 0 and self._ended())

    def _note(self, error: LookupUnavailableError) -> None:
        with self._lock:
            standing = self._waiting
            self._waiting = Waiting(
                product=self._user,
                target=self._store.target,
                reason=" ".join(part for part in (error.message, error.detail) if part),
                attempts=standing.attempts + 1 if standing else 1,
                since=standing.since if standing else time.time(),
            )
            self._tell(self._waiting)
        if standing is None:
            facts = {**self._facts(), "reason": error.detail}
            _log.warning("waiting for a lookup store", extra=facts)

    def _over(self) -> None:
        if self._waiting is None:
            return
        with self._lock:
            if self._waiting is not None:
                self._waiting = None
                self._tell(None)
                _log.warning("a lookup store is back", extra=self._facts())

    def _facts(self) -> dict[str, object]:
        return {"stream": self._user, "target": self._store.target}
