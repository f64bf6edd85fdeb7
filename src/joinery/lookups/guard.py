"""One request to a store, made again until it is answered, never faster than allowed.

Invariant: every request, a repeated one too, has taken a slot and a place in the pace, and
has passed the breaker. None is made before the time that the store has asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from joinery.lookups.pace import Pace
from joinery.lookups.protocol import Answer, Key, LookupStore, LookupUnavailableError
from joinery.lookups.slot import Slots
from joinery.model.progress import Waiting
from joinery.project.step import Limits
from joinery.retry import PATIENCE, Patience, Retry

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
