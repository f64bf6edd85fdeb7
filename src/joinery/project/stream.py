"""What a user declares of streams, as values: where events come from, and each step.

Names and expressions are still text; `joinery.plan.build_stream` resolves them.

Invariant: two streams that declare the same are equal, from YAML or from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from joinery.project.form import Pairs
from joinery.project.option import count, duration, rate, text, word
from joinery.project.product import Options, SinkSpec
from joinery.project.window import WEEK_US, Within

Read = Literal["state", "database", "event"]
AsOf = Literal["processing", "event"]
OnChange = Literal["keep", "re_emit", "correct"]
Late = Literal["hold", "correct"]
Miss = Literal["null", "drop", "dead_letter", "wait"]
SUSPECTS = ("received", "dead_letter")
LOG_TIME_WORD = "$log"
RowFunction = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class WatermarkSpec:
    """How far a relation's times may be behind one another; None sets no bound."""

    delay_ms: int = duration("How far behind the newest time a row may still arrive.", default="0s")
    idle_ms: int | None = duration(
        "Without a row for this long, the relation is not waited for; by default never.",
        default=None,
    )
    ahead_ms: int | None = duration(
        "A time further ahead of the log's own, which files do not have, does not move the"
        " watermark; by default all do.",
        default=None,
    )


@dataclass(frozen=True, slots=True)
class ClocksSpec:
    """The clocks of a device and of what received its events: columns with times."""

    event: str = text("The column with the time of the event, by the device's clock.")
    sent: str = text("The column with the time at which the event was sent, by the same clock.")
    received: str = text(
        "The column with the time at which it was received, by a clock you trust; or `$log`, the"
        " time of its record in Kafka."
    )
    tolerance_ms: int = duration(
        "How much the two clocks may differ before the event's time is corrected.", default="5m"
    )
    max_ms: int = duration(
        "How much they may differ before they are not believed (`suspect`).", default="30d"
    )
    suspect: Literal["received", "dead_letter"] = word(
        "What becomes of an event whose clocks are not believed: it gets the time at which it was"
        " received, or becomes a dead letter.",
        SUSPECTS,
        default="received",
    )


@dataclass(frozen=True, slots=True)
class Cache:
    """Which answers of a store may be used again."""

    size: int = count("The most answers to keep.", default=100_000)
    ttl_ms: int = duration("How old an answer may be.", default="60s")
    negative_ms: int = duration(
        "How long a key without a row is not requested again.", default="10s"
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """What a store is spared, also after a restart with an empty cache; None sets no bound."""

    concurrency: int = count("The most requests under way at once.", default=4)
    per_second: float | None = rate("The most requests per second; by default unlimited.")
    batch: int = count("The most keys per request.", default=1000)
    warm_up_ms: int = duration(
        "How long the rate rises after a start, from a tenth of it.", default="0s"
    )


@dataclass(frozen=True, slots=True)
class StoreRead:
    """A store that rows are queried from: `kind` such as `postgres`, with its options."""

    kind: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class LookupSpec:
    """Columns of one row of a table for each event.

    Attributes:
        on: Table column and event column, pair by pair, as in an embed.
        fields: Over the table's row; None means all columns that `on` does not name.
        time: The event's time; by default that of the stream's relation.
        for_ms: How long an event is remembered (`on_change`), or how far it may be behind the
            table (`as_of: event`).
        every_ms: How often corrections are sent (`on_change: correct`).
    """

    table: str
    on: Pairs = ()
    fields: Pairs | None = None
    read: Read = "state"
    as_of: AsOf = "processing"
    time: str | None = None
    late: Late = "hold"
    on_miss: Miss = "null"
    wait_ms: int | None = None
    on_change: OnChange = "keep"
    for_ms: int | None = None
    every_ms: int | None = None
    where: str | None = None
    cache: Cache = Cache()
    limits: Limits = Limits()
    store: StoreRead | None = None


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """Keeps the events for which `where` is true."""

    where: str


@dataclass(frozen=True, slots=True)
class SelectSpec:
    """Replaces all columns by `fields`."""

    fields: Pairs


@dataclass(frozen=True, slots=True)
class WithColumnsSpec:
    """Adds columns, or replaces those of the same name."""

    fields: Pairs


@dataclass(frozen=True, slots=True)
class MapSpec:
    """Gives each event to a function, which returns its columns anew, or None to drop it.

    Attributes:
        function: `module:name`, or the function itself where it has no such name.
        output: The columns it returns and their Spark DDL types.
    """

    function: str | RowFunction
    output: Pairs


@dataclass(frozen=True, slots=True)
class UnionSpec:
    """Adds the events of another stream."""

    stream: str


@dataclass(frozen=True, slots=True)
class RollingSpec:
    """Adds columns over the events of the same `by` in the time up to each event.

    Attributes:
        by: Columns of the event.
        over_us: How far back from an event's time, which it has itself, others count.
        retention_us: How far an event may be below the watermark.
    """

    by: tuple[str, ...]
    over_us: int
    values: Pairs
    retention_us: int = WEEK_US


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """Makes a pair of each event and each event of another log whose times are near.

    Attributes:
        relation: The other log.
        on: Its column and the event's, compared.
        within: How far its time may be from that of the event.
        fields: What it adds; None for all columns that the event lacks.
        retention_us: How far an event may be below the watermark.
    """

    relation: str
    on: Pairs
    within: Within
    fields: Pairs | None = None
    retention_us: int = WEEK_US


StepSpec = (
    LookupSpec
    | FilterSpec
    | SelectSpec
    | WithColumnsSpec
    | MapSpec
    | UnionSpec
    | RollingSpec
    | JoinSpec
)


def _read_by(step: StepSpec) -> str | None:
    """Return the relation or stream that a step reads beside its events."""
    match step:
        case LookupSpec(table):
            return table
        case UnionSpec(stream):
            return stream
        case JoinSpec(relation):
            return relation
        case FilterSpec() | SelectSpec() | WithColumnsSpec() | MapSpec() | RollingSpec():
            return None


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """Events, what happens to them in order, and where they go.

    Attributes:
        origin: A relation with `append: true`, or another stream that this one goes on from.
        correction: The name of a boolean column that tells a correction from a first event.
    """

    name: str
    origin: str
    steps: tuple[StepSpec, ...] = ()
    sinks: tuple[SinkSpec, ...] = ()
    group: str | None = None
    correction: str | None = None

    @property
    def reads(self) -> frozenset[str]:
        """The names of all relations and streams that it reads."""
        beside = (_read_by(each) for each in self.steps)
        return frozenset((self.origin, *(each for each in beside if each is not None)))
