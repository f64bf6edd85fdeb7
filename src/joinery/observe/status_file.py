"""The status files of a run: one a query, beside its checkpoint, written between batches.

Invariant: a file stands whole or not at all, and is that of the run which has the query. Nothing
here holds up a batch or fails a run: a disk that takes no status file is warned of once.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from joinery.errors import JoineryError
from joinery.files import write_whole
from joinery.model.batch import BatchProgress, Counts
from joinery.model.progress import Progress
from joinery.model.status import LastBatch, ProductTotals, QueryStatus, RunState
from joinery.observe.history_file import HistoryFile, history_folder
from joinery.observe.hot_keys import RecentKeys
from joinery.place.place import Place
from joinery.plan.product import Product

log = logging.getLogger("joinery.run")
_EVERY_S = 0.5
_RECENT_S = 60.0
_BATCHES = 20
_UNCOUNTED: Counts = {}

Sample = tuple[float, int, int, int]
"""When it was taken; documents and tombstones, timed changes and the sum of their ages, so far."""


class Recent:
    """What a product did in the last minute, from totals that only rise."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()

    def note(self, sample: Sample) -> None:
        """Note totals; keep one sample from before the last minute, which it is compared with."""
        self._samples.append(sample)
        while len(self._samples) > 2 and self._samples[1][0] < sample[0] - _RECENT_S:
            self._samples.popleft()

    @property
    def per_second(self) -> float:
        """Documents and tombstones a second."""
        first, last = self._samples[0], self._samples[-1]
        return (last[1] - first[1]) / max(_EVERY_S, last[0] - first[0])

    @property
    def age_ms(self) -> int | None:
        """The mean age of the changes when they were published."""
        first, last = self._samples[0], self._samples[-1]
        timed = last[2] - first[2]
        return round((last[3] - first[3]) / timed) if timed else None


class StatusFiles:
    """Writes the status files of one run.

    Args:
        files: By query, where its file stands.
        products: By query.
        targets: By product, where its documents go.
        progress: Returns the run as it stands.
        is_taken_over: Whether another run has taken over a query, whose file is then that run's.
    """

    def __init__(
        self,
        files: Mapping[str, Place],
        products: Mapping[str, Sequence[Product]],
        targets: Mapping[str, Sequence[str]],
        progress: Callable[[], Progress],
        is_taken_over: Callable[[str], bool] = lambda query: False,
    ) -> None:
        self._files, self._products, self._targets = files, products, targets
        self._progress = progress
        self._is_taken_over = is_taken_over
        self._relations = {
            each.name: [(one.name, one.source) for one in each.relations]
            for every in products.values()
            for each in every
        }
        self._began_at = time.time()
        self._recent = {each.name: Recent() for every in products.values() for each in every}
        self._caught_up_at: dict[str, float] = {}
        self._batches = {query: deque[LastBatch](maxlen=_BATCHES) for query in files}
        self._keys = {query: RecentKeys() for query in files}
        self._history = {query: HistoryFile(history_folder(file)) for query, file in files.items()}
        self._written: dict[str, QueryStatus] = {}
        self._due_at = 0.0
        self._paused: frozenset[str] = frozenset()
        self._broken = False
        self._writing = threading.Lock()
        self._over = False

    def begin(self) -> None:
        """Tell that the run has begun."""
        self._write_all({}, "running")

    def note(self, batch: BatchProgress) -> None:
        """Remember a batch that is through; nothing is written yet."""
        if batch.query in self._history:
            self._history[batch.query].count(batch)
        if batch.query in self._batches and not batch.live:
            self._batches[batch.query].appendleft(_last(batch))
            self._keys[batch.query].note(batch.keys)

    def look(self, caught_up: Mapping[str, bool], paused: Collection[str] = ()) -> None:
        """Write what has changed, at most twice a second, until the run has ended.

        Args:
            caught_up: By query, whether nothing is left to read, now.
            paused: The queries that stand still because somebody paused them.
        """
        if time.monotonic() >= self._due_at or self._paused != frozenset(paused):
            self._paused = frozenset(paused)
            self._due_at = time.monotonic() + _EVERY_S
            self._write_all(caught_up, "running")

    def end(self, failure: Exception | None) -> None:
        """Tell how the run ended."""
        state: RunState = "ended" if failure is None else "failed"
        code, why, hint = "", str(failure or ""), ""
        if isinstance(failure, JoineryError):
            code, why, hint = failure.code, failure.message, failure.hint
        self._write_all({}, state, why=why, code=code, hint=hint)

    def _write_all(
        self,
        caught_up: Mapping[str, bool],
        state: RunState,
        *,
        why: str = "",
        code: str = "",
        hint: str = "",
    ) -> None:
        with self._writing:  # what is waited for before the queries start, any thread tells
            if self._over:
                return
            self._over = state != "running"
            progress, now = self._progress(), time.time()
            for query, products in self._products.items():
                if self._is_taken_over(query):
                    continue
                status = self._status(query, products, progress, now, caught_up.get(query, False))
                self._write(replace(status, state=state, why=why, code=code, hint=hint))
                self._note_minute(status, last=state != "running")

    def _status(
        self,
        query: str,
        products: Sequence[Product],
        progress: Progress,
        now: float,
        caught_up: bool,
    ) -> QueryStatus:
        batch = progress.latest.get(query)
        live = batch is not None and batch.live
        # Real time takes each change as it comes; what is left then, Spark does not tell.
        caught_up = caught_up or live
        if caught_up:
            self._caught_up_at[query] = now
        elif batch is not None and not _left(batch):
            ended_at = max(batch.ended_at, self._caught_up_at.get(query, 0.0))
            self._caught_up_at[query] = ended_at
        names = {query, *(each.name for each in products)}
        sources = {source for each in products for source in self._sources_of(each)}
        return QueryStatus(
            query=query,
            state="running",
            began_at=self._began_at,
            written_at=now,
            paused=query in self._paused,
            live=live,
            caught_up=caught_up,
            caught_up_at=self._caught_up_at.get(query),
            batch=None if batch is None else _last(batch),
            batches=tuple(self._batches[query]),
            rows_left={} if batch is None else batch.remaining_rows,
            bytes_left={} if batch is None else batch.remaining,
            state_bytes=None if batch is None else batch.state_bytes,
            products={each.name: self._totals(query, each, progress, now) for each in products},
            waiting=tuple(each for each in progress.waiting.values() if each.is_of(names, sources)),
            silences=tuple(each for each in progress.silences.values() if each.source in sources),
            warnings=tuple(str(each) for each in progress.warnings),
            watermarks={}
            if batch is None
            else {name: each.to_json() for name, each in batch.event_times.items()},
            building=progress.building.get(query, ()),
            marks=progress.marks.get(query),
            frontiers=progress.frontiers.get(query, ()),
        )

    def _totals(
        self, query: str, product: Product, progress: Progress, now: float
    ) -> ProductTotals:
        sent = progress.documents.get(product.name, _UNCOUNTED)
        counters = progress.counters.get(product.name, _UNCOUNTED)
        relations = [name for name, _ in self._relations[product.name]]
        read = [progress.relations.get(each, _UNCOUNTED) for each in relations]
        if lost := sum(each.get("lost", 0) for each in read):
            counters = {**counters, "lost": lost}
        documents, tombstones = sent.get("upserts", 0), sent.get("tombstones", 0)
        timed, age_ms = (sum(each.get(name, 0) for each in read) for name in ("timed", "age_ms"))
        recent = self._recent[product.name]
        recent.note((now, documents + tombstones, timed, age_ms))
        return ProductTotals(
            relations=tuple(relations),
            sources=self._sources_of(product),
            targets=tuple(self._targets.get(product.name, ())),
            documents=documents,
            tombstones=tombstones,
            per_second=recent.per_second,
            age_ms=recent.age_ms,
            dead=sum(each.get("dead", 0) for each in read) + counters.get("refused", 0),
            counters=counters,
            cost_us=progress.costs.get(product.name, _UNCOUNTED).get("us", 0),
            hot_keys=self._keys[query].of(product.name),
            held_by=_held_by(product),
        )

    def _sources_of(self, product: Product) -> tuple[str, ...]:
        read = self._relations[product.name]
        return tuple(dict.fromkeys(source for _, source in read if source))

    def _note_minute(self, status: QueryStatus, *, last: bool) -> None:
        try:
            self._history[status.query].note(status, last=last)
        except OSError as error:
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        if not self._broken:
            log.warning("could not write status", extra={"why": str(error)})
        self._broken = True

    def _write(self, status: QueryStatus) -> None:
        """Write a status, unless the file says the same but for when it was written."""
        known = self._written.get(status.query)
        if known is not None and _news(known) == _news(status):
            return
        content = json.dumps(status.to_json(), ensure_ascii=False) + "\n"
        try:
            write_whole(self._files[status.query], content, synced=False)
        except OSError as error:
            self._warn(error)
            return
        self._written[status.query] = status


def _news(status: QueryStatus) -> QueryStatus:
    """Return what is worth writing: while a query is caught up, time alone is no news."""
    since = None if status.caught_up else status.caught_up_at
    return replace(status, written_at=0.0, caught_up_at=since)


def _held_by(product: Product) -> str:
    """Return what may hold back documents of what was read; empty where nothing does."""
    if product.settle_ms:
        return "settle"
    if product.ready:
        return "ready"
    return "spool" if any(each.spools for each in product.sinks) else ""


def _left(batch: BatchProgress) -> bool:
    return any(batch.remaining.values()) or any(batch.remaining_rows.values())


def _last(batch: BatchProgress) -> LastBatch:
    return LastBatch(
        number=batch.batch_id,
        ended_at=batch.ended_at,
        seconds=batch.seconds,
        rows=batch.read,
        durations_ms=batch.durations_ms,
        sinks_ms=batch.sinks_ms,
    )
