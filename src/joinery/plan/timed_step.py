"""The steps of a stream that keep its events for a time: columns over them, filters, pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joinery.expression.group_aggregate import WINDOW_SECONDS
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import BOOLEAN, DOUBLE, TIMESTAMP, DataType, Field
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.seen import SEEN
from joinery.plan.step_base import (
    LEAVES_OUT,
    SENT_AGAIN,
    AddingStep,
    Columns,
    Invariants,
    KeepingStep,
    Names,
    reads_there,
)
from joinery.project.window import Within

if TYPE_CHECKING:
    from joinery.plan.step import Lookup
    from joinery.plan.stream import Stream


@dataclass(frozen=True, slots=True)
class Rolling(AddingStep):
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

    @property
    def added(self) -> tuple[Computed, ...]:
        """Its columns."""
        return self.values

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
        """Nothing: it only forgets by a watermark."""
        return ""

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
        yield from reads_there(inner, columns)
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
class SeenFilter(KeepingStep):
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

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed after it, and what it reads."""
        return needed | {self.column, self.time} | (self.where.references & columns)

    @property
    def told(self) -> str:
        """The step, in messages."""
        return f"the filter on seen({self.column})"

    @property
    def by_batch(self) -> str:
        """Nothing: it only forgets by a watermark."""
        return ""

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
        yield from reads_there([self.where], (*columns, Field(SEEN, BOOLEAN)))


@dataclass(frozen=True, slots=True)
class Join(AddingStep):
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

    @property
    def added(self) -> tuple[Computed, ...]:
        """Its columns."""
        return self.fields

    def needed_before(self, needed: Names, columns: Names) -> Names:
        """Return what is needed and not made here, what is compared, and the time."""
        return (needed - self.made) | {pair.parent for pair in self.on} | {self.time}

    @property
    def told(self) -> str:
        """The step, in messages."""
        return f'the join with "{self.other.name}"'

    @property
    def by_batch(self) -> str:
        """Nothing: it only forgets by a watermark."""
        return ""

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
        yield from reads_there((each.expression for each in self.fields), self.other.row.fields)
