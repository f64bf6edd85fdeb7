"""How far a run is: counts by relation and product, batch by batch and in total.

Invariant: every change read is counted once as applied, stale, repeated, ignored or dead.

Whether nearly all changes of a relation come too late, which is seldom meant.

Changes are stale one by one where a log is read again; all of them are where positions began
anew: a database that was restored, a topic that was given more partitions.

What a run is at: behind its sources, caught up with them, or idle.

Invariant: a short batch does not end `caught up`, so a trickle of changes is not told twice
a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from joinery.model.columns import aligned
from joinery.model.figure import counted_text
from joinery.model.hot_key import NodeKeys
from joinery.model.lookup import LookupProgress
from joinery.model.warning import RunWarning
from joinery.model.watermark import EventTimes

_ENOUGH = 50
_REMEMBERED = 200
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class Staleness:
    """How many of a relation's latest changes were applied, how many stale.

    Attributes:
        applied: Of some hundred changes, the latest weighing most.
        stale: Of the same.
    """

    applied: float = 0.0
    stale: float = 0.0

    def plus(self, applied: int, stale: int) -> Staleness:
        """Return the staleness after some more changes.

        Args:
            applied: Negative where more were counted before, which real time does: it hears
                later that a change was stale than that it was read.
            stale: Changes that were stale.
        """
        before, more = self.applied + self.stale, applied + stale
        # What came just now outweighs what came before.
        kept = min(1.0, max(0.0, _REMEMBERED - more) / before) if before else 0.0
        return Staleness(max(0.0, self.applied * kept + applied), self.stale * kept + stale)

    @property
    def ratio(self) -> float:
        """The share of stale changes, from 0 to 1."""
        seen = self.applied + self.stale
        return self.stale / seen if seen else 0.0

    @property
    def nearly_all(self) -> bool:
        """Whether enough changes were seen, and nearly all of them were stale.

        Example:
            >>> Staleness().plus(2, 48).nearly_all, Staleness().plus(48, 2).nearly_all
            (True, False)
        """
        return self.applied + self.stale >= _ENOUGH and self.ratio >= _NEARLY_ALL


Counts = Mapping[str, int]


Bound = Literal["setting", "time", "memory", "backlog"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimit:
    """How much of a source a batch may take, where its size fits the backlog, and why no more.

    Attributes:
        rows: At most.
        bytes: About at most.
        bound: Which bound the batch met: a `setting` of the project, the `time` that a batch
            should last, `memory`; or the end of the `backlog`, which met none.
    """

    rows: int
    bytes: int
    bound: Bound

    def to_json(self) -> dict[str, object]:
        """Return the limit as one JSON object, for machines."""
        return {"rows": self.rows, "bytes": self.bytes, "bound": self.bound}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """What one batch of one query did.

    Attributes:
        relations: By relation: `read`, `stale`, `repeated`, `dead` and others; `timed` changes
            say when their source committed them, `age_ms` is the sum of their ages.
        documents: By product: `upserts`, `tombstones`, `bytes`.
        counters: By product: `multiple_matches`, `expression_errors` and others.
        costs: By product: `us` that tasks took for its nodes, and for its part of those that
            products share.
        keys: By node, its keys with the most messages.
        dead: Dead letters of all kinds.
        seconds: The whole batch, Spark's own bookkeeping included.
        ended_at: Seconds since 1970.
        durations_ms: Where the time went, by step.
        sinks_ms: What each target took of it.
        remaining: By relation, the bytes still to read; empty where nobody can tell.
        remaining_rows: By relation, the records still to read, where the log counts them.
        lag: By topic and partition, the records still to read.
        limits: By source, how much a batch may take, where that fits the backlog.
        state_bytes: Join state on disk; None where nobody can tell.
        store: What a store of join state was asked; empty where none keeps it.
        live: True in real-time mode: what happened since the last telling, not a whole batch.
        lookups: What lookups in stores did since the run began, by stream and table
            (`orders/customers`).
        event_times: By relation with a watermark, how far its times had come after the batch.
        through_driver: By product, documents that the driver wrote or held, once a sink.
        columns: By relation, the `rows` decoded, and `unseen:<column>` with how many came in
            parts that had the column in no row, `undeclared:<name>` for what they had instead.
    """

    query: str
    batch_id: int
    relations: Mapping[str, Counts]
    documents: Mapping[str, Counts]
    counters: Mapping[str, Counts]
    dead: int
    seconds: float
    ended_at: float
    durations_ms: Counts = field(default_factory=dict)
    sinks_ms: Counts = field(default_factory=dict)
    remaining: Counts = field(default_factory=dict)
    remaining_rows: Counts = field(default_factory=dict)
    lag: Mapping[str, Counts] = field(default_factory=dict)
    limits: Mapping[str, BatchLimit] = field(default_factory=dict)
    state_bytes: int | None = None
    store: Counts = field(default_factory=dict)
    live: bool = False
    lookups: Mapping[str, LookupProgress] = field(default_factory=dict)
    columns: Mapping[str, Counts] = field(default_factory=dict)
    event_times: Mapping[str, EventTimes] = field(default_factory=dict)
    through_driver: Counts = field(default_factory=dict)
    costs: Mapping[str, Counts] = field(default_factory=dict)
    keys: tuple[NodeKeys, ...] = ()

    @property
    def read(self) -> int:
        """All changes read."""
        return sum(each.get("read", 0) for each in self.relations.values())

    @property
    def freshness_ms(self) -> int | None:
        """The mean age of its changes, from their commit at the source, when it was published."""
        timed = sum(each.get("timed", 0) for each in self.relations.values())
        ages = sum(each.get("age_ms", 0) for each in self.relations.values())
        return round(ages / timed) if timed else None

    def to_json(self) -> dict[str, object]:
        """Return the batch as one JSON object, for machines."""
        rate = round(self.read / self.seconds) if self.seconds > 0 else 0
        return {
            "query": self.query,
            "batch": self.batch_id,
            "live": self.live,
            "ended_at": round(self.ended_at, 3),
            "rows": self.read,
            "seconds": round(self.seconds, 3),
            "rows_per_second": rate,
            "relations": {name: dict(counts) for name, counts in self.relations.items()},
            "documents": {name: dict(counts) for name, counts in self.documents.items()},
            "counters": {name: dict(counts) for name, counts in self.counters.items()},
            "costs": {name: dict(counts) for name, counts in self.costs.items()},
            "dead": self.dead,
            "remaining_bytes": dict(self.remaining),
            "lag": {topic: dict(partitions) for topic, partitions in self.lag.items()},
            "limits": {source: each.to_json() for source, each in self.limits.items()},
            "duration_ms": dict(self.durations_ms),
            "sinks_ms": dict(self.sinks_ms),
            "through_driver": dict(self.through_driver),
            **({"store": dict(self.store)} if self.store else {}),
            "lookups": {name: each.to_json() for name, each in self.lookups.items()},
            **_times_json(self.event_times),
            "freshness_ms": self.freshness_ms,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a run did so far, over all its queries."""

    read: int = 0
    applied: int = 0
    stale: int = 0
    dead: int = 0
    documents: int = 0
    tombstones: int = 0
    batches: int = 0

    def __str__(self) -> str:
        """Return what was done, as text.

        Example:
            >>> print(Totals(read=3, applied=2, dead=1, documents=2))
            3 changes read: 2 applied, 0 stale, 1 dead; 2 documents and 0 tombstones written
            >>> str(Totals(read=4, applied=2, dead=1, documents=1)).partition(";")[0]
            '4 changes read: 2 applied, 0 stale, 1 dead, 1 without effect'
        """
        idle = self.read - self.applied - self.stale - self.dead  # such as a tombstone
        return (
            f"{counted_text(self.read, 'change')} read: {self.applied:,} applied,"
            f" {self.stale:,} stale, {self.dead:,} dead"
            f"{f', {idle:,} without effect' if idle > 0 else ''};"
            f" {counted_text(self.documents, 'document')} and"
            f" {counted_text(self.tombstones, 'tombstone')} written"
        )

    def plus(self, batch: BatchProgress) -> Totals:
        """Return the totals with one more batch."""
        counts = batch.relations.values()
        return Totals(
            read=self.read + batch.read,
            applied=self.applied + sum(_applied(each) for each in counts),
            stale=self.stale + sum(each.get("stale", 0) for each in counts),
            dead=self.dead + batch.dead,
            documents=self.documents + _sum(batch.documents, "upserts"),
            tombstones=self.tombstones + _sum(batch.documents, "tombstones"),
            batches=self.batches + (0 if batch.live else 1),
        )

    def to_json(self) -> dict[str, int]:
        """Return the totals as one JSON object."""
        return {
            "read": self.read,
            "applied": self.applied,
            "stale": self.stale,
            "dead": self.dead,
            "documents": self.documents,
            "tombstones": self.tombstones,
            "batches": self.batches,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a run waits for before it can go on.

    Attributes:
        product: Whose documents wait.
        target: The sink's target, or the sources of a query.
        reason: Why it cannot be written, or read, now.
        attempts: How often it was tried.
        since: Seconds since 1970.
        grace_s: For how long a run counts as ready all the same.
    """

    product: str
    target: str
    reason: str
    attempts: int
    since: float
    grace_s: float = 30.0

    def to_json(self) -> dict[str, object]:
        """Return the wait as one JSON object, for machines."""
        return {
            "product": self.product,
            "target": self.target,
            "reason": self.reason,
            "attempts": self.attempts,
            "since": round(self.since, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A run as it stands.

    Attributes:
        totals: Over the whole run.
        relations: By relation, the counts of the whole run.
        documents: By product, the counts of the whole run.
        counters: By product, what else was counted over the whole run.
        costs: By product, what its nodes took over the whole run.
        latest: By query, its last batch.
        waiting: By target, what is waited for now.
        lookups: By stream and table, what lookups in stores did over the whole run.
        warnings: What someone should look at, each once.
        staleness: By relation, how many of its latest changes were stale.
        through_driver: By product, documents that the driver wrote or held, once a sink; those
            that tasks write do not pass it.
        partitions: By query, in how many its state is kept.
        ignored_bytes: By relation, what was added to its change files after they were seen.
    """

    totals: Totals = Totals()
    relations: Mapping[str, Counts] = field(default_factory=dict)
    documents: Mapping[str, Counts] = field(default_factory=dict)
    counters: Mapping[str, Counts] = field(default_factory=dict)
    latest: Mapping[str, BatchProgress] = field(default_factory=dict)
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    lookups: Mapping[str, LookupProgress] = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()
    staleness: Mapping[str, Staleness] = field(default_factory=dict)
    through_driver: Counts = field(default_factory=dict)
    partitions: Counts = field(default_factory=dict)
    costs: Mapping[str, Counts] = field(default_factory=dict)
    ignored_bytes: Counts = field(default_factory=dict)

    def __str__(self) -> str:
        """Return it as text: the totals, what every product sent, what is waited for."""
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"{self.totals} in {counted_text(self.totals.batches, 'batch', 'batches')}"
        rows = [
            (f"  {name}", f"{counts.get('upserts', 0):,}", f"{counts.get('tombstones', 0):,}")
            for name, counts in self.documents.items()
        ]
        if rows:
            yield from aligned([("  product", "documents", "tombstones"), *rows], right=(1, 2))
        for target, waiting in self.waiting.items():
            yield f"waiting for {target}: {waiting.reason}"
        yield from (f"warning: {each}" for each in self.warnings)

    def plus(self, batch: BatchProgress) -> Progress:
        """Return the progress with one more batch."""
        return replace(
            self,
            staleness={**self.staleness, **self._staleness_after(batch)},
            totals=self.totals.plus(batch),
            relations=_added(self.relations, batch.relations),
            documents=_added(self.documents, batch.documents),
            counters=_added(self.counters, batch.counters),
            costs=_added(self.costs, batch.costs),
            latest={**self.latest, batch.query: batch},
            lookups={**self.lookups, **batch.lookups},
            through_driver=_summed(self.through_driver, batch.through_driver),
        )

    def waits(self, target: str, waiting: Waiting | None) -> Progress:
        """Return the progress with what `target` is waited for; None where it is back."""
        rest = {name: each for name, each in self.waiting.items() if name != target}
        return replace(self, waiting={**rest, target: waiting} if waiting else rest)

    def _staleness_after(self, batch: BatchProgress) -> dict[str, Staleness]:
        return {
            name: self.staleness.get(name, Staleness()).plus(
                _applied(counts), counts.get("stale", 0)
            )
            for name, counts in batch.relations.items()
        }

    def timed(self, batch: BatchProgress) -> Progress:
        """Return the progress with a batch it has counted, now that its times are known."""
        latest = self.latest.get(batch.query)
        if latest is None or latest.batch_id != batch.batch_id:
            return self
        return replace(self, latest={**self.latest, batch.query: batch})


def _times_json(times: Mapping[str, EventTimes]) -> dict[str, object]:
    told = {name: each.to_json() for name, each in times.items()}
    return {"watermarks": told} if told else {}


def split_columns(relations: Mapping[str, Counts]) -> tuple[dict[str, Counts], dict[str, Counts]]:
    """Return the counts of relations, and apart from them those of columns.

    Example:
        >>> split_columns({"user": {"read": 2, "rows": 2, "unseen:name": 2}})
        ({'user': {'read': 2}}, {'user': {'rows': 2, 'unseen:name': 2}})
    """
    plain: dict[str, Counts] = {}
    columns: dict[str, Counts] = {}
    for name, counts in relations.items():
        mine = {each: count for each, count in counts.items() if each == "rows" or ":" in each}
        plain[name] = {each: count for each, count in counts.items() if each not in mine}
        if mine:
            columns[name] = mine
    return plain, columns


def with_ages(relations: Mapping[str, Counts], now_ms: int) -> dict[str, Counts]:
    """Return counts with how old the changes are at `now_ms`, for when they were committed.

    Args:
        relations: By relation: `timed` changes and the sum of their `commit_times_ms`.
        now_ms: Since 1970.

    Example:
        >>> with_ages({"user": {"read": 3, "timed": 2, "commit_times_ms": 170}}, 100)
        {'user': {'read': 3, 'timed': 2, 'age_ms': 30}}
    """
    aged: dict[str, Counts] = {}
    for name, counts in relations.items():
        rest = {each: count for each, count in counts.items() if each != "commit_times_ms"}
        if "commit_times_ms" in counts:
            age_ms = counts["timed"] * now_ms - counts["commit_times_ms"]
            # The kernel sums times in 64 bits and may have wrapped; their ages do not.
            rest["age_ms"] = max(0, (age_ms + 2**63) % 2**64 - 2**63)
        aged[name] = rest
    return aged


def _applied(counts: Counts) -> int:
    not_applied = (
        "stale",
        "repeated",
        "tombstones",
        "tombstones_without_key",
        "ignored_messages",
        "dead",
    )
    rest = counts.get("read", 0) - sum(counts.get(each, 0) for each in not_applied)
    return counts.get("applied", rest)


def _sum(products: Mapping[str, Counts], name: str) -> int:
    return sum(each.get(name, 0) for each in products.values())


def _summed(first: Counts, second: Counts) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def _added(first: Mapping[str, Counts], second: Mapping[str, Counts]) -> dict[str, dict[str, int]]:
    added = {name: dict(counts) for name, counts in first.items()}
    for name, counts in second.items():
        standing = added.setdefault(name, {})
        for counter, count in counts.items():
            standing[counter] = standing.get(counter, 0) + count
    return added


Phase = Literal["reading", "caught up", "idle"]

_BEHIND_S = 10.0
_IDLE_S = 60.0


class Phases:
    """Says when a run goes from one phase to another.

    It begins with `reading`. It is `caught up` once there is nothing left to read, `idle`
    once there was nothing for a minute, and `reading` again once it is behind for ten seconds.

    Args:
        tell: Called with each new phase.
        clock: In seconds.
    """

    def __init__(
        self, tell: Callable[[Phase], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell, self._clock = tell, clock
        self._phase: Phase = "reading"
        self._caught_up = False
        self._since = clock()

    def note(self, caught_up: bool) -> None:
        """Note whether all that the sources have is read, now."""
        now = self._clock()
        if caught_up != self._caught_up:
            self._caught_up, self._since = caught_up, now
        phase = self._now(now - self._since)
        if phase != self._phase:
            self._phase = phase
            self._tell(phase)

    def _now(self, lasted_s: float) -> Phase:
        if self._caught_up:
            return "idle" if lasted_s >= _IDLE_S else "caught up"
        behind = self._phase == "reading" or lasted_s >= _BEHIND_S
        return "reading" if behind else "caught up"
