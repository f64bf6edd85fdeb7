"""The steps of a stream: what each reads, what it makes, and what an event has after it.

Invariant: the columns after a step depend on the steps up to it alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from joinery.expression.typed import Expression
from joinery.model.type import TIMESTAMP, Struct, is_personal
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.step_base import (
    LEAVES_OUT,
    SENT_AGAIN,
    AddingStep,
    Columns,
    EventStep,
    Invariants,
    KeepingStep,
    Miss,
    Names,
    Stage,
    fields_of,
    kept,
    names_of,
    read_by,
    reads_there,
)
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.project.function import shown_name
from joinery.project.step import AsOf, Cache, Late, Limits, OnChange, Read, RowFunction, StoreRead

if TYPE_CHECKING:
    from joinery.plan.stream import Stream


@dataclass(frozen=True, slots=True)
class Lookup(AddingStep):
    """Adds columns of one row of a table to each event; one of the same name is replaced.

    Attributes:
        table: Where the row is; `time` of a versioned table names the column from which a
            version is valid.
        on: Event column (`parent`) and table column (`child`), in the order of the table's
            key, which they cover.
        fields: What is added, over the table's row.
        event_time: The event's column under `as_of: event`.
        valid_from: The table's column under `as_of: event`.
        max_delay_ms: The table's watermark is the newest `valid_from` less this.
        idle_ms: After so long without a change the table holds nobody up; None waits on.
        history_ms: Under `as_of: event`, how far an event may be behind the table's watermark;
            None for any distance, so that all versions are kept.
        late: Under `as_of: event`, whether an event waits for the table's watermark, or goes
            at once and is corrected.
        wait_ms: How long an event waits for a missing row (`on_miss` is `wait`).
        for_ms: How long an event is remembered for a changed row (`on_change` is `re_emit`
            or `correct`).
        every_ms: How often corrections are sent (`on_change` is `correct`).
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
    history_ms: int | None = None
    late: Late = "hold"
    on_miss: Miss = "null"
    wait_ms: int | None = None
    on_change: OnChange = "keep"
    for_ms: int | None = None
    every_ms: int | None = None
    where: Expression | None = None
    cache: Cache = field(default_factory=Cache)
    limits: Limits = field(default_factory=Limits)
    store: StoreRead | None = None

    @property
    def added(self) -> tuple[Computed, ...]:
        """Its columns."""
        return self.fields

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return which of `columns` the step needs so that `needed` is there after it."""
        asked = {pair.parent for pair in self.on}
        if self.on_miss == "dead_letter":
            # Blind indexes, which this lookup and later ones compare, are none of the columns.
            return columns | asked | (needed - self.made)
        if self.where is not None:
            asked |= self.where.references & columns
        if self.event_time is not None:
            asked.add(self.event_time)
        return (needed - self.made) | asked

    @property
    def shows_personal(self) -> bool:
        """Whether events get a personal column of the table's row."""
        return any(is_personal(each.expression.type) for each in self.fields)

    @property
    def told(self) -> str:
        """The step, in messages."""
        kept = "state" if self.read == "state" else "a store"
        return f'the lookup of "{self.table.name}" in {kept}'

    @property
    def by_batch(self) -> str:
        """What it does that needs whole batches; empty where each event can go alone."""
        if self.read == "database":
            return f'queries a store for "{self.table.name}", which needs batches'
        if self.as_of == "event":
            return f'waits for the time of "{self.table.name}", known by batch'
        return ""

    @property
    def pinned(self) -> str:
        """Why it cannot go before a step that queries a store; empty where columns tell."""
        return SENT_AGAIN if self.remembers else ""

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return why a lookup in state cannot go before this, whatever its columns."""
        return ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream, given what an event has before it."""
        types = {each.name: each.type for each in columns}
        joined = tuple(pair.child for pair in self.on)
        yield joined == self.table.key, "a lookup compares the table's key, in order"
        there = types.keys() | stream.blind_indexes_at(self)
        yield all(pair.parent in there for pair in self.on), "joined columns are there"
        yield from reads_there((each.expression for each in self.fields), self.table.row.fields)
        if self.where is not None:
            yield from reads_there([self.where], (*columns, *fields_of(self.fields)))
            yield not self.shows_personal, "an erasure reaches all events that are remembered"
        remembers = self.on_change != "keep"
        yield remembers == (self.for_ms is not None), "what is remembered has an end"
        waits = self.on_miss == "wait"
        yield waits == (self.wait_ms is not None), "what waits has an end"
        stored = self.read == "database"
        yield stored == (self.store is not None), "a store is named where one is queried"
        yield not (self.remembers and self.read != "state"), "state alone remembers"
        versioned = self.as_of == "event"
        yield versioned or self.history_ms is None, "versions alone have a history"
        if versioned:
            valid_from = self.table.type_of(self.valid_from or "")
            timed = types.get(self.event_time or "") == TIMESTAMP == valid_from
            yield timed, "both sides of a temporal join have a time"

    @property
    def corrects(self) -> bool:
        """Whether an event that was sent may be sent again, with other columns."""
        return self.on_change != "keep" or (self.as_of == "event" and self.late == "correct")

    @property
    def remembers(self) -> bool:
        """Whether an event may still be needed after its batch."""
        return self.corrects or self.as_of == "event" or self.on_miss == "wait"


@dataclass(frozen=True, slots=True)
class Filter(KeepingStep, EventStep):
    """Keeps the events for which `where` is true."""

    where: Expression

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed after it, and what the condition reads."""
        return needed | self.where.references

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return why, where it decides which events become dead letters."""
        return LEAVES_OUT if lookup.on_miss == "dead_letter" else ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        yield from reads_there([self.where], columns)
        yield str(self.where.type) == "boolean", "a filter is a boolean"


@dataclass(frozen=True, slots=True)
class Select(EventStep):
    """Replaces all columns by `fields`."""

    fields: tuple[Computed, ...]

    def columns_after(self, columns: Columns) -> Columns:
        """Return its own columns."""
        return fields_of(self.fields)

    @property
    def made(self) -> Names:
        """Its columns, but for those that it only keeps."""
        return names_of(each for each in self.fields if not each.kept)

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what the needed ones of its columns read."""
        return read_by(self.fields, needed)

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return nothing: its columns tell."""
        return ""

    def showing(self, columns: Columns) -> Self:
        """Return the step with `columns` kept."""
        return replace(self, fields=self.fields + kept(columns))

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        yield from reads_there((each.expression for each in self.fields), columns)


@dataclass(frozen=True, slots=True)
class WithColumns(AddingStep, EventStep):
    """Adds columns, or replaces those of the same name in their place.

    All of them see the columns before the step.
    """

    fields: tuple[Computed, ...]

    @property
    def added(self) -> tuple[Computed, ...]:
        """Its columns."""
        return self.fields

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed and not made here, and what the needed ones of its columns read."""
        return (needed - self.made) | read_by(self.fields, needed)

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return nothing: its columns tell."""
        return ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        yield from reads_there((each.expression for each in self.fields), columns)


@dataclass(frozen=True, slots=True)
class MapRows(EventStep):
    """Gives each event to a user's function, which returns the columns of `output`, or None.

    Attributes:
        function: `module:name`, beside the project file or installed; or the function.
        output: All columns that an event has afterwards.
    """

    function: str | RowFunction
    output: Struct

    def columns_after(self, columns: Columns) -> Columns:
        """Return what the function returns."""
        return self.output.fields

    @property
    def made(self) -> Names:
        """No column by name: the function may use, and return, any."""
        return frozenset()

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return all columns: the function may read any."""
        return columns

    @property
    def by_batch(self) -> str:
        """It gives a batch to its function."""
        return f"calls the function {self.name}, which needs batches"

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return why: the function may read any column."""
        return f'The function "{self.name}" is between them and may use any column.'

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield nothing: the function may read any column."""
        yield from ()

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.function if isinstance(self.function, str) else shown_name(self.function)


@dataclass(frozen=True, slots=True)
class Union(KeepingStep):
    """Adds the events of another stream whose columns have the same names and types."""

    other: Stream

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed after it."""
        return needed

    @property
    def told(self) -> str:
        """The step, in messages."""
        return f'the union with "{self.other.name}"'

    @property
    def by_batch(self) -> str:
        """What the other stream does."""
        return ""

    @property
    def pinned(self) -> str:
        """Events of the other stream have gone through no store."""
        return "The events of both streams must be there before a store is queried."

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return nothing: its columns tell."""
        return ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        yield self.other.columns == columns, "united streams have the same columns"
        yield self.other.key == stream.key, "united events have the same kind of key"


Step = Lookup | Filter | Select | WithColumns | MapRows | Union | Rolling | SeenFilter | Join


def stage_of(step: Step) -> Stage:
    """Return what a step runs on: the event alone, what the stream keeps or reads, or a store.

    Steps that run in the stream (`state`) stand before those that query a store.
    """
    match step:
        case Lookup(read="state") | Union() | Rolling() | SeenFilter() | Join():
            return "state"
        case Lookup(read="database"):
            return "store"
        case Lookup() | Filter() | Select() | WithColumns() | MapRows():
            return "event"


def standing_after(step: Step, standing: Names) -> Names:
    """Return which columns of a log are as in the log after a step, of those that were before it.

    An event has the blind indexes of these. An index is not a column, so what replaces all columns
    leaves it out.
    """
    match step:
        case Select() | MapRows() | Union():
            return frozenset()
        case Lookup() | WithColumns() | Rolling() | Join():
            return standing - step.made
        case Filter() | SeenFilter():
            return standing


def beside(step: Step) -> Lookup | Union | Join | None:
    """Return a step that brings in what is not in the event: a table's row, other events."""
    match step:
        case (
            Lookup(read="event")
            | Filter()
            | Select()
            | WithColumns()
            | MapRows()
            | Rolling()
            | SeenFilter()
        ):
            return None
        case Lookup() | Union() | Join():
            return step
