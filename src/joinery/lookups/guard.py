"""One request to a store, made again until it is answered, never faster than allowed.

Invariant: every request, a repeated one too, has taken a slot and a place in the pace, and
has passed the breaker. None is made before the time that the store has asked for.

When the next request may go: evenly spaced, slower at first, never a saved-up burst.

Nothing is saved up while a run is down or idle, so a store that a restarted run finds with
an empty cache sees no more than its declared rate.

How many requests are under way: one at first, one more with each that is answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from joinery.lookups.protocol import Answer, Key, LookupStore, LookupUnavailableError
from joinery.model.progress import Waiting
from joinery.project.step import Limits
from joinery.retry import PATIENCE, Patience, Retry

_FIRST_SHARE = 0.1


class Pace:
    """Spaces requests.

    Args:
        per_second: The most requests a second; None sets no bound.
        warm_up_s: How long the rate rises, from a tenth of it, after the first request.
        clock: Gives seconds.
    """

    def __init__(
        self,
        per_second: float | None,
        warm_up_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_second
        self._warm_up_s = warm_up_s
        self._clock = clock
        self._turn = threading.Lock()
        self._first_at: float | None = None
        self._next_at = 0.0

    def wait(self, sleep: Callable[[float], None]) -> None:
        """Return when the next request may go.

        Args:
            sleep: Sleeps so many seconds; what it raises takes no turn.
        """
        if self._per_second is None:
            return
        with self._turn:
            if (early_s := self._next_at - self._clock()) > 0:
                sleep(early_s)
            now = self._clock()
            self._first_at = now if self._first_at is None else self._first_at
            self._next_at = now + 1 / self._rate(self._per_second, now - self._first_at)

    def _rate(self, full: float, since_s: float) -> float:
        if since_s >= self._warm_up_s:
            return full
        return full * (_FIRST_SHARE + (1 - _FIRST_SHARE) * since_s / self._warm_up_s)


class Slots:
    """Bounds requests under way, and starts slowly, also after a failure.

    Args:
        most: The bound that is reached at last.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = 1
        self._taken = 0
        self._free = threading.Condition()

    @property
    def allowed(self) -> int:
        """How many may be under way now."""
        return self._now

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a slot for the length of a block; one that fails makes the next start slowly."""
        with self._free:
            self._free.wait_for(lambda: self._taken < self._now)
            self._taken += 1
        answered = False
        try:
            yield
            answered = True
        finally:
            self._give_back(answered)

    def _give_back(self, answered: bool) -> None:
        with self._free:
            self._taken -= 1
            self._now = min(self._now + 1, self._most) if answered else 1
            self._free.notify_all()


_LONGEST_REST_S = 600.0


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
        tell: Called with what is waited for, and None once that is over.
        counted: Notified of each request by the name of what it was.
    """

    def __init__(
        self,
        store: LookupStore,
        limits: Limits,
        *,
        patience: Patience = PATIENCE,
        user: str = "",
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        counted: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._store = store
        self._counted = counted
        self._slots = Slots(limits.concurrency)
        self._pace = Pace(limits.per_second, limits.warm_up_ms / 1000)
        self._retry = Retry(
            "lookup store",
            {"stream": user},
            lambda: store.target,
            outage=LookupUnavailableError,
            ended=ended,
            tell=tell,
            patience=patience,
        )
        self._lock = threading.Lock()
        self._not_before = 0.0

    def request(self, keys: Sequence[Key]) -> Reply[Mapping[Key, Answer]]:
        """Return what the store holds under `keys`, as `read` does."""
        return self.read(partial(self._store.fetch, keys))

    def read(self, fetch: Callable[[], Rows]) -> Reply[Rows]:
        """Return what a request to the store gives, however long that takes.

        Raises:
            LookupUnavailableError: The run ended while the store was not there.
            LookupStoreError: The store cannot be asked.
        """
        return self._retry.until_done(partial(self._once, fetch), self._failed)

    def _once(self, fetch: Callable[[], Rows]) -> Reply[Rows]:
        with self._slots.one():
            self._pace.wait(self._pause)
            while (wait_s := self._not_before - time.monotonic()) > 0:
                self._pause(wait_s)
            read_at = time.monotonic()
            self._counted("requests")
            try:
                return Reply(fetch(), read_at)
            except LookupUnavailableError as error:
                self._counted("failures")
                self._rest(error.after_s)
                raise

    def _rest(self, asked_s: float | None) -> None:
        """Leave the store alone for as long as it asks, within reason."""
        if asked_s is not None:
            until = time.monotonic() + min(asked_s, _LONGEST_REST_S)
            with self._lock:
                self._not_before = max(self._not_before, until)

    def _pause(self, seconds: float) -> None:
        self._retry.pause(seconds, self._failed)

    @property
    def _failed(self) -> str:
        return f"did not query {self._store.target}"
