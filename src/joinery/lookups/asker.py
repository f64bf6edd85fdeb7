"""Asks one store for the rows of sets of keys: what is cached is not asked, nothing twice at once.

All tasks of a run ask through one asker, so a cold cache costs each key one request,
however many events wait for it.

Invariants: a key is in at most one request at a time; an answer that was read before its key
was invalidated is given to those who asked before, and is never kept.

Counts of one asker's work, and the ages of the answers that it gave.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from joinery.lookups.cache import AnswerCache
from joinery.lookups.guard import Guard, Reply
from joinery.lookups.key_filter import MOST_KEYS, KeyFilter, KeyListingStore
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStore,
    LookupStoreError,
    LookupUnavailableError,
    Unfit,
)
from joinery.lookups.whole import Whole, WholeStore, WholeTable
from joinery.model.lookup import AGE_BOUNDS_S, LookupProgress
from joinery.model.progress import Waiting
from joinery.project.step import Cache, Limits
from joinery.retry import PATIENCE, Patience


class Tally:
    """Counts; whoever shares it between threads holds a lock.

    Attributes:
        counts: By the names of `LookupProgress`.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(LookupProgress().counts(), 0)
        self._ages = [0] * (len(AGE_BOUNDS_S) + 1)
        self._sum_s = 0.0
        self._oldest_s = 0.0

    def aged(self, ages_s: Iterable[float]) -> None:
        """Count answers by their ages."""
        for age_s in ages_s:
            self._ages[bisect_left(AGE_BOUNDS_S, age_s)] += 1
            self._sum_s += age_s
            if age_s > self._oldest_s:
                self._oldest_s = age_s

    def progress(self) -> LookupProgress:
        """Return what stands now."""
        return LookupProgress(
            **self.counts,
            ages=tuple(self._ages),
            age_sum_s=self._sum_s,
            oldest_s=self._oldest_s,
        )


_START_WAIT_S = 60.0
_POLL_S = 0.2
_SEEN = 10_000
_CACHE = Cache()
_LIMITS = Limits()


@dataclass(eq=False, slots=True)
class _Flight:
    """A request under way, and the keys whose answers it may still keep."""

    keys: Sequence[Key]
    reply: Future[Reply[Mapping[Key, Answer]]] = field(default_factory=Future)


@dataclass(slots=True)
class _Sorted:
    """The keys of one question, by where their answers come from."""

    answers: dict[Key, Answer]
    ages_s: list[float]
    flights: dict[_Flight, list[Key]]
    new: list[_Flight]


class Asker:
    """Answers sets of keys from a cache, and asks a store for the rest.

    May be used from several threads.

    Args:
        store: Not yet opened; the asker opens and closes it.
        cache: How long answers may be used again.
        limits: What the store is spared.
        patience: How failed requests are repeated.
        user: The stream that asks, for messages.
        ended: True once the run is to end; a wait ends then.
        tell: Called with what is waited for, and None once that is over.
        start_wait_s: How long a store that is not there at the start is waited for.
        whole_s: How long a table that was read whole may answer; 0 asks by keys alone.
        filter_s: How long a key may be told absent by a filter of all keys; 0 makes none.
    """

    def __init__(
        self,
        store: LookupStore,
        cache: Cache = _CACHE,
        limits: Limits = _LIMITS,
        *,
        patience: Patience = PATIENCE,
        user: str = "",
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        start_wait_s: float = _START_WAIT_S,
        whole_s: float = 0.0,
        filter_s: float = 0.0,
    ) -> None:
        self._store = store
        self._limits = limits
        self._ended = ended
        self._tell = tell
        self._user = user
        self._start_wait_s = start_wait_s
        self._lock = threading.Lock()
        self._cache = AnswerCache(cache)
        self._in_flight: dict[Key, _Flight] = {}
        self._tally = Tally()
        self._pool: ThreadPoolExecutor | None = None
        self._opening = threading.Lock()
        self._opened = False
        self._attempts = 0
        self._started_at = self._open_until = 0.0
        self._guard = Guard(
            store,
            limits,
            patience=patience,
            user=user,
            ended=ended,
            tell=tell,
            counted=self._count,
        )
        self._whole = WholeTable(self._read_whole, whole_s)
        self._filter = KeyFilter(self._list_keys, filter_s)

    @property
    def target(self) -> str:
        """Where the rows are, for messages."""
        return self._store.target

    def open(self) -> None:
        """Open the store; one that is not there yet is waited for by who asks first.

        So what fills the store may start beside what asks it.

        Raises:
            LookupStoreError: It cannot be used.
        """
        self._opened = False
        self._started_at, self._attempts = time.time(), 0
        self._open_until = time.monotonic() + self._start_wait_s
        self._pool = ThreadPoolExecutor(self._limits.concurrency, "joinery-lookup")
        self._try_open()

    def ask(self, keys: Iterable[Key]) -> dict[Key, Answer]:
        """Return the answer of each of `keys`; one that holds None has no row.

        Raises:
            LookupUnavailableError: The run ended while the store was not there, or it was
                not there in time after the start.
            LookupStoreError: The store cannot be asked.
        """
        asked = dict.fromkeys(keys)
        pool = self._ready()
        if self._mostly_absent():
            self._filter.refresh()
        with self._lock:
            sorted_keys = self._sort(asked)
        for flight in sorted_keys.new:
            pool.submit(self._fly, flight)
        for flight, waiting in sorted_keys.flights.items():
            reply = flight.reply.result()
            sorted_keys.answers.update((key, reply.answers.get(key)) for key in waiting)
            age_s = max(0.0, time.monotonic() - reply.read_at)
            sorted_keys.ages_s += [age_s] * len(waiting)
        with self._lock:
            self._tally.aged(sorted_keys.ages_s)
        return sorted_keys.answers

    def whole(self) -> Whole | None:
        """Return the whole table while it is small; None where it is to be asked by keys.

        Raises:
            LookupUnavailableError, LookupStoreError: As `ask` does.
        """
        self._ready()
        found = self._whole.rows()
        if found is not None:
            with self._lock:
                self._tally.aged([max(0.0, time.monotonic() - found.read_at)])
        return found

    def invalidate(self, keys: Iterable[Key]) -> None:
        """Forget what is known of `keys`: the table's own changes say that they changed.

        Who asks from now on gets what the store holds now.
        """
        changed = list(keys)
        dropped = self._whole.forget(changed) if changed else 0
        self._filter.note(changed)
        with self._lock:
            self._tally.counts["invalidated"] += dropped + self._cache.forget(changed)
            for key in changed:
                self._in_flight.pop(key, None)

    def progress(self) -> LookupProgress:
        """Return what was done since the asker was made."""
        with self._lock:
            return self._tally.progress()

    def close(self) -> None:
        """Forget all answers, and close the store once its requests have ended."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=False)
            self._pool = None
        with self._lock:
            self._cache.clear()
            self._in_flight.clear()
        self._whole.forget(())
        self._filter.clear()
        self._store.close()

    def _ready(self) -> ThreadPoolExecutor:
        """Wait until the store is open, and return what its requests run in."""
        if self._pool is None:
            raise LookupStoreError(f"{self._store.target} is not open")
        with self._opening:
            while not self._opened:
                time.sleep(_POLL_S)
                self._try_open()
        return self._pool

    def _read_whole(self) -> Whole | None:
        """Read the whole table by one request, if the store can and it is small."""
        store = self._store
        if not isinstance(store, WholeStore):
            return None
        reply = self._guard.read(partial(store.fetch_whole, self._limits.batch))
        if reply.answers is None:
            return None
        unfit = sum(isinstance(each, Unfit) for each in reply.answers.values())
        with self._lock:
            self._tally.counts["wholes"] += 1
            self._tally.counts["unfit"] += unfit
            self._tally.counts["rows"] += len(reply.answers) - unfit
        return Whole(reply.answers, reply.read_at)

    def _mostly_absent(self) -> bool:
        """Return whether most keys that the cache does not know have no row."""
        with self._lock:
            counts = self._tally.counts
            asked = counts["misses"] + counts["filtered"]
            absent = asked - counts["rows"] - counts["unfit"]
        return asked >= _SEEN and absent * 2 > asked

    def _list_keys(self) -> tuple[Collection[Key], float] | None:
        """List all keys by one request, if the store can and they are not too many."""
        store = self._store
        if not isinstance(store, KeyListingStore):
            return None
        reply = self._guard.read(partial(store.fetch_keys, MOST_KEYS))
        return None if reply.answers is None else (reply.answers, reply.read_at)

    def _try_open(self) -> None:
        """Open the store once; where it is not there, tell so, or give up."""
        try:
            self._store.open()
        except LookupUnavailableError as error:
            self._store.close()
            if self._ended() or time.monotonic() >= self._open_until:
                raise self._gave_up(error) from error
            self._attempts += 1
            self._tell(
                Waiting(
                    product=self._user,
                    target=self._store.target,
                    reason=". ".join(part for part in (error.message, error.detail) if part),
                    attempts=self._attempts,
                    since=self._started_at,
                )
            )
            return
        self._opened = True
        if self._attempts:
            self._tell(None)

    def _sort(self, keys: Mapping[Key, None]) -> _Sorted:
        now = time.monotonic()
        found = _Sorted({}, [], {}, [])
        missing: list[Key] = []
        for key in keys:
            if None in key:
                found.answers[key] = None
            elif held := self._cache.get(key, now):
                found.answers[key] = held[0]
                found.ages_s.append(now - held[1])
                self._tally.counts["negative_hits" if held[0] is None else "hits"] += 1
            elif flight := self._in_flight.get(key):
                found.flights.setdefault(flight, []).append(key)
                self._tally.counts["shared"] += 1
            elif (absent_at := self._filter.absent_since(key, now)) is not None:
                found.answers[key] = None
                found.ages_s.append(now - absent_at)
                self._tally.counts["filtered"] += 1
            else:
                missing.append(key)
        self._tally.counts["keys"] += len(keys)
        self._tally.counts["misses"] += len(missing)
        size = min(self._limits.batch, self._store.most_keys or self._limits.batch)
        for start in range(0, len(missing), size):
            flight = _Flight(missing[start : start + size])
            found.new.append(flight)
            found.flights[flight] = list(flight.keys)
            self._in_flight.update(dict.fromkeys(flight.keys, flight))
        return found

    def _fly(self, flight: _Flight) -> None:
        try:
            reply = self._guard.request(flight.keys)
        except BaseException as error:
            with self._lock:
                self._land(flight)
            flight.reply.set_exception(error)
            return
        with self._lock:
            for key in self._land(flight):
                self._cache.put(key, reply.answers.get(key), reply.read_at)
            unfit = sum(isinstance(each, Unfit) for each in reply.answers.values())
            self._tally.counts["unfit"] += unfit
            self._tally.counts["rows"] += len(reply.answers) - unfit
        flight.reply.set_result(reply)

    def _land(self, flight: _Flight) -> list[Key]:
        """End a request; return the keys that were not invalidated meanwhile."""
        kept = [key for key in flight.keys if self._in_flight.get(key) is flight]
        for key in kept:
            del self._in_flight[key]
        return kept

    def _count(self, name: str) -> None:
        with self._lock:
            self._tally.counts[name] += 1

    def _gave_up(self, error: LookupUnavailableError) -> LookupUnavailableError:
        waited = "the run ended" if self._ended() else f"waited {self._start_wait_s:g} s"
        return LookupUnavailableError(
            f"{self._store.target} is not available: {waited}",
            detail=" ".join(part for part in (error.message + ".", error.detail) if part),
            hint=error.hint or "Check its address, and that it is up.",
        )
