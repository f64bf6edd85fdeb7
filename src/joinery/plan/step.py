"""The steps of a stream: what each reads, what it makes, and what an event has after it.

Invariant: the columns after a step depend on the steps up to it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

from joinery.expression.group_aggregate import WINDOW_SECONDS
from joinery.expression.typed import Aggregate, Expression, column_expression
from joinery.model.type import BOOLEAN, DOUBLE, TIMESTAMP, DataType, Field, Struct
from joinery.plan.nodes import Computed, JoinPair, Relation
from joinery.plan.seen import SEEN
from joinery.project.stream import (
    AsOf,
    Cache,
    Late,
    Limits,
    OnChange,
    Read,
    RowFunction,
    StoreRead,
)
from joinery.project.window import Within

if TYPE_CHECKING:
    from joinery.plan.stream import Stream

Columns = tuple[Field, ...]


Names = frozenset[str]
Invariants = Iterator[tuple[bool, str]]
"""Whether each holds, and what it is."""


SENT_AGAIN = "An event that it sends later, or again, would query the store again."
LEAVES_OUT = "A filter between them decides which events may become dead letters."


Stage = Literal["event", "state", "store"]
Miss = Literal["null", "drop", "dead_letter", "wait"]


class _Step:
    """What all steps have in common."""

    __slots__ = ()

    def showing(self, columns: Columns) -> Self:
        """Return the step where `columns` come before it: they are there after it, too."""
        return self


class _EventStep(_Step):
    """A step that takes each event alone, and may come after a store is queried."""

    __slots__ = ()

    @property
    def told(self) -> str:
        """The step, in messages."""
        return "a step"

    @property
    def by_batch(self) -> str:
        """What it does that needs whole batches: nothing."""
        return ""

    @property
    def pinned(self) -> str:
        """Why it cannot go before a step that queries a store: nothing but its columns."""
        return ""


@dataclass(frozen=True, slots=True)
class Lookup(_Step):
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

    def columns_after(self, columns: Columns) -> Columns:
        """Return what an event has after the step, given what it had before."""
        return _replaced(columns, _fields(self.fields))

    @property
    def made(self) -> Names:
        """The columns that may have another value after the step than before."""
        return _names(self.fields)

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return which of `columns` the step needs so that `needed` is there after it."""
        if self.on_miss == "dead_letter":
            return columns
        asked = {pair.parent for pair in self.on}
        if self.where is not None:
            asked |= self.where.references & columns
        if self.event_time is not None:
            asked.add(self.event_time)
        return (needed - self.made) | asked

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
        yield all(pair.parent in types for pair in self.on), "joined columns are there"
        yield from _read_there((each.expression for each in self.fields), self.table.row.fields)
        if self.where is not None:
            yield from _read_there([self.where], (*columns, *_fields(self.fields)))
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
class Filter(_EventStep):
    """Keeps the events for which `where` is true."""

    where: Expression

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns as they are."""
        return columns

    @property
    def made(self) -> Names:
        """No column."""
        return frozenset()

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed after it, and what the condition reads."""
        return needed | self.where.references

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return why, where it decides which events become dead letters."""
        return LEAVES_OUT if lookup.on_miss == "dead_letter" else ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        yield from _read_there([self.where], columns)
        yield str(self.where.type) == "boolean", "a filter is a boolean"


@dataclass(frozen=True, slots=True)
class Select(_EventStep):
    """Replaces all columns by `fields`."""

    fields: tuple[Computed, ...]

    def columns_after(self, columns: Columns) -> Columns:
        """Return its own columns."""
        return _fields(self.fields)

    @property
    def made(self) -> Names:
        """Its columns, but for those that it only keeps."""
        return _names(each for each in self.fields if not each.kept)

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what the needed ones of its columns read."""
        return _read_by(self.fields, needed)

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return nothing: its columns tell."""
        return ""

    def showing(self, columns: Columns) -> Self:
        """Return the step with `columns` kept."""
        return replace(self, fields=self.fields + kept(columns))

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        yield from _read_there((each.expression for each in self.fields), columns)


@dataclass(frozen=True, slots=True)
class WithColumns(_EventStep):
    """Adds columns, or replaces those of the same name in their place.

    All of them see the columns before the step.
    """

    fields: tuple[Computed, ...]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns with its own, in the places of those that they replace.

        Example:
            >>> from joinery.model.type import INT
            >>> more = WithColumns((Computed("b", Expression("a", INT, frozenset({"a"}))),))
            >>> [each.name for each in more.columns_after((Field("a", INT),))]
            ['a', 'b']
        """
        return _replaced(columns, _fields(self.fields))

    @property
    def made(self) -> Names:
        """Its columns."""
        return _names(self.fields)

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed and not made here, and what the needed ones of its columns read."""
        return (needed - self.made) | _read_by(self.fields, needed)

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return nothing: its columns tell."""
        return ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        yield from _read_there((each.expression for each in self.fields), columns)


@dataclass(frozen=True, slots=True)
class MapRows(_EventStep):
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
        if isinstance(self.function, str):
            return self.function
        return str(getattr(self.function, "__qualname__", "function"))


@dataclass(frozen=True, slots=True)
class Union(_Step):
    """Adds the events of another stream whose columns have the same names and types."""

    other: Stream

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns, which the other stream's events have, too."""
        return columns

    @property
    def made(self) -> Names:
        """No column."""
        return frozenset()

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


@dataclass(frozen=True, slots=True)
class Rolling(_Step):
    """Adds columns over the events that have the same `by`, in the time up to each event.

    Attributes:
        by: Columns of the event; a null is a value of its own.
        time: The column with the event's time, as all of `logs` have it.
        over_us: An event of time t sees those of times in (t - over, t], itself among them.
        aggregates: Those that `values` read, over the columns before the step.
        values: What is added, each over the columns, the aggregates and the values above it.
        logs: The relations whose events come here.
        retention_us: How far an event may be below the watermark of `logs`, and counts.
    """

    by: tuple[str, ...]
    time: str
    over_us: int
    aggregates: tuple[Aggregate, ...]
    values: tuple[Computed, ...]
    logs: tuple[Relation, ...]
    retention_us: int

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns with its own, in the places of those that they replace."""
        return _replaced(columns, _fields(self.values))

    @property
    def made(self) -> Names:
        """Its columns."""
        return _names(self.values)

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed and not made here, and all that it reads."""
        read = {*self.by, self.time}
        for each in self.aggregates:
            read |= each.argument.references if each.argument else frozenset()
            read |= each.filter.references if each.filter else frozenset()
        for value in self.values:
            read |= value.expression.references & columns
        return (needed - self.made) | read

    @property
    def told(self) -> str:
        """The step, in messages."""
        return "the step rolling"

    @property
    def by_batch(self) -> str:
        """It forgets by a watermark."""
        return "has rolling columns, which need batches"

    @property
    def pinned(self) -> str:
        """It sends events again."""
        return SENT_AGAIN

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return nothing: its columns tell."""
        return ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        types = {each.name: each.type for each in columns}
        yield types.get(self.time) == TIMESTAMP, "rolling columns need a time"
        yield {*self.by} <= types.keys(), "what it counts by is there"
        inner = (each for one in self.aggregates for each in (one.argument, one.filter) if each)
        yield from _read_there(inner, columns)
        for place, value in enumerate(self.values):
            known = self.values_scope(types, before=place).keys()
            yield value.expression.references <= known, "an event has what its values read"

    def values_scope(
        self, columns: Mapping[str, DataType], before: int | None = None
    ) -> dict[str, DataType]:
        """Return the types of what `values` may name, their aggregates included.

        Args:
            columns: Those before the step.
            before: The place of the value that asks: it sees those above it. None for all.
        """
        scope = rolling_scope(columns) | {each.name: each.type for each in self.aggregates}
        return scope | {each.name: each.type for each in self.values[:before]}


def rolling_scope(columns: Mapping[str, DataType]) -> dict[str, DataType]:
    """Return the types of what a value may name beside aggregates: columns, and for `rate`."""
    return {**columns, WINDOW_SECONDS: DOUBLE}


@dataclass(frozen=True, slots=True)
class SeenFilter(_Step):
    """Keeps the events for which `where` is true, which asks whether a value was seen.

    Attributes:
        column: Of the event; a null was never seen.
        time: The column with the event's time, as all of `logs` have it.
        for_us: Seen is what stands before it in the log with the same value, less than this
            from its time.
        where: Over the columns and `SEEN`.
        logs: The relations whose events come here.
    """

    column: str
    time: str
    for_us: int
    where: Expression
    logs: tuple[Relation, ...]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns as they are."""
        return columns

    @property
    def made(self) -> Names:
        """No column."""
        return frozenset()

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed after it, and what it reads."""
        return needed | {self.column, self.time} | (self.where.references & columns)

    @property
    def told(self) -> str:
        """The step, in messages."""
        return f"the filter on seen({self.column})"

    @property
    def by_batch(self) -> str:
        """It forgets by a watermark."""
        return "filters by what was seen, which needs batches"

    @property
    def pinned(self) -> str:
        """It is kept in the stream."""
        return "What it has met is kept in the stream, before a store is queried."

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return why, where it decides which events become dead letters."""
        return LEAVES_OUT if lookup.on_miss == "dead_letter" else ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        types = {each.name: each.type for each in columns}
        yield types.get(self.time) == TIMESTAMP, "what is seen has a time"
        yield self.column in types, "what was seen is there"
        yield from _read_there([self.where], (*columns, Field(SEEN, BOOLEAN)))


@dataclass(frozen=True, slots=True)
class Join(_Step):
    """Makes a pair of each event and each event of another log whose times are near.

    Attributes:
        other: The other log.
        on: Its column (`child`) and the event's (`parent`), compared.
        fields: What is added, over the other's row; one of the same name is replaced.
        time: The column with the event's time, as all of its logs have it.
        other_time: The other's.
        within: How far the other's time may be from that of the event.
        logs: The relations whose events come here, the other among them.
        retention_us: How far an event may be below the watermark of `logs`, and counts.
    """

    other: Relation
    on: tuple[JoinPair, ...]
    fields: tuple[Computed, ...]
    time: str
    other_time: str
    within: Within
    logs: tuple[Relation, ...]
    retention_us: int

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns with its own, in the places of those that they replace."""
        return _replaced(columns, _fields(self.fields))

    @property
    def made(self) -> Names:
        """Its columns."""
        return _names(self.fields)

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed and not made here, what is compared, and the time."""
        return (needed - self.made) | {pair.parent for pair in self.on} | {self.time}

    @property
    def told(self) -> str:
        """The step, in messages."""
        return f'the join with "{self.other.name}"'

    @property
    def by_batch(self) -> str:
        """It forgets by a watermark."""
        return f'joins "{self.other.name}", which needs batches'

    @property
    def pinned(self) -> str:
        """It sends events later."""
        return SENT_AGAIN

    def obstacle_to(self, lookup: Lookup) -> str:
        """Return nothing: its columns tell."""
        return ""

    def invariants(self, stream: Stream, columns: Columns) -> Invariants:
        """Yield what holds of it in a stream."""
        types = {each.name: each.type for each in columns}
        times = (types.get(self.time), self.other.type_of(self.other_time))
        yield times == (TIMESTAMP, TIMESTAMP), "both sides have a time"
        yield all(pair.parent in types for pair in self.on), "joined columns are there"
        yield from _read_there((each.expression for each in self.fields), self.other.row.fields)


Step = Lookup | Filter | Select | WithColumns | MapRows | Union | Rolling | SeenFilter | Join


def _read_there(expressions: Iterable[Expression], columns: Columns) -> Invariants:
    """Yield that each expression reads columns that are there."""
    known = {each.name for each in columns}
    for each in expressions:
        missing = sorted(each.references - known)
        yield not missing, f"what it reads is known, and {missing} is not"


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


def kept(columns: Iterable[Field]) -> tuple[Computed, ...]:
    """Return columns under their own names."""
    return tuple(Computed(e.name, column_expression(e.name, e.type)) for e in columns)


def _fields(computed: Iterable[Computed]) -> tuple[Field, ...]:
    return tuple(Field(each.name, each.expression.type) for each in computed)


def _names(computed: Iterable[Computed]) -> Names:
    return frozenset(each.name for each in computed)


def _read_by(computed: Iterable[Computed], needed: Names) -> Names:
    read = (each.expression.references for each in computed if each.name in needed)
    return frozenset[str]().union(*read)


def _replaced(columns: tuple[Field, ...], more: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return `columns` with those of `more` in the places of their names, new ones last."""
    types = {each.name: each for each in columns} | {each.name: each for each in more}
    return tuple(types.values())
