"""What one batch did: counts by relation and product, where its time went, what is left to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from joinery.model.hot_key import NodeKeys
from joinery.model.lookup import LookupProgress
from joinery.model.watermark import EventTimes

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
