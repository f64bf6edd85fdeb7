"""The plan of a stream: events that are looked up, filtered and sent on, each once.

A stream reads one append-only relation and applies its steps in order. Each step sees the
columns that the step before it gives. Solutions lower it; nothing changes it.

Invariant: `Stream.columns` after a step depends on the steps up to it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from joinery.model.type import Field, Struct
from joinery.plan.nodes import Computed, Expression, JoinPair, Relation, Sink

Read = Literal["state", "database", "event"]
AsOf = Literal["processing", "event"]
OnChange = Literal["keep", "re_emit", "correct"]
Late = Literal["hold", "correct"]
Miss = Literal["null", "drop", "dead_letter", "wait"]


@dataclass(frozen=True, slots=True)
class Cache:
    """How long an answer of a store may be used again.

    Attributes:
        rows: The most answers that are kept.
        ttl_ms: How old an answer may be.
        negative_ttl_ms: How long a key without a row is not asked for again.
    """

    rows: int = 100_000
    ttl_ms: int = 60_000
    negative_ttl_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a store is spared, also after a restart with an empty cache.

    Attributes:
        concurrency: The most requests under way.
        per_second: The most requests a second; None sets no bound.
        batch: The most keys a request.
        warm_up_ms: How long the rate rises, from a tenth of `per_second`, after a start.
    """

    concurrency: int = 4
    per_second: float | None = None
    batch: int = 1000
    warm_up_ms: int = 0


@dataclass(frozen=True, slots=True)
class StoreRead:
    """A store that rows are queried from: `kind` such as `postgres`, with its options."""

    kind: str
    options: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Lookup:
    """Adds columns of one row of a table to each event.

    Attributes:
        table: Where the row is; `time` of a versioned table names the column from which a
            version is valid.
        on: Event column (`parent`) and table column (`child`), pair by pair; the table's key.
        fields: What is added, over the table's row.
        wait_ms: How long an event waits for a missing row (`on_miss` is `wait`).
        as_of: The row of now, or the row valid at the event's `time`.
        late: Under `as_of: event`, whether an event waits for the table's watermark, or goes
            at once and is corrected.
        for_ms: How long an event is remembered for a changed row (`on_change` is `re_emit`).
        where: Over the event's columns and `fields`: which events are sent again.
        store: Under `read: database`.
    """

    table: Relation
    on: tuple[JoinPair, ...]
    fields: tuple[Computed, ...]
    read: Read = "state"
    as_of: AsOf = "processing"
    event_time: str | None = None
    valid_from: str | None = None
    max_delay_ms: int = 0
    idle_ms: int | None = None
    late: Late = "hold"
    on_miss: Miss = "null"
    wait_ms: int | None = None
    on_change: OnChange = "keep"
    for_ms: int | None = None
    where: Expression | None = None
    cache: Cache = Cache()
    limits: Limits = Limits()
    store: StoreRead | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the events for which `where` is true."""

    where: Expression


@dataclass(frozen=True, slots=True)
class Select:
    """Replaces all columns by `fields`."""

    fields: tuple[Computed, ...]


@dataclass(frozen=True, slots=True)
class WithColumns:
    """Adds columns, or replaces those of the same name in their place."""

    fields: tuple[Computed, ...]


@dataclass(frozen=True, slots=True)
class MapRows:
    """Gives each event to a user's function, which returns the columns of `output`, or None."""

    function: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    output: Struct


@dataclass(frozen=True, slots=True)
class Union:
    """Adds the events of another stream whose columns have the same names and types."""

    other: Stream


Step = Lookup | Filter | Select | WithColumns | MapRows | Union


@dataclass(frozen=True, slots=True)
class Stream:
    """Events of one relation, what happens to them, and where they go.

    Attributes:
        name: The stream's, its query's and its checkpoint folder's.
        relation: Append-only; its key identifies an event (its place in the log where the
            key is empty).
        steps: In order. Branches of one stream are several streams that begin alike.
        columns: What an event has after the last step.
    """

    name: str
    relation: Relation
    steps: tuple[Step, ...] = ()
    columns: tuple[Field, ...] = ()
    sinks: tuple[Sink, ...] = ()
    group: str | None = None

    @property
    def tables(self) -> tuple[Relation, ...]:
        """The relations whose changes this stream reads, each once."""
        tables = (each.table for each in self.steps if isinstance(each, Lookup))
        return tuple(dict.fromkeys(tables))


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """All streams of a project."""

    streams: tuple[Stream, ...] = field(default=())
