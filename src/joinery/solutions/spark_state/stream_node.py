"""The nodes and relations of a program of streams.

Invariant: what a node is told of an event and of a table's row is what later steps need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from joinery.expression.group_aggregate import WINDOW_SECONDS
from joinery.expression.typed import Aggregate, Expression, column_expression
from joinery.model.type import BOOLEAN, DOUBLE, DataType, Field, Struct
from joinery.plan import timed_step as plan
from joinery.plan.relation import Computed, Relation
from joinery.plan.step import Lookup, MapRows
from joinery.plan.stream import PLACE, Stream, key_of
from joinery.solutions.spark_state.assembler import (
    Address,
    AggregateColumn,
    Assembler,
    Slot,
    slots_of,
    struct_of,
)
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.flow import Flow, NodeStep, needed_relations
from joinery.solutions.spark_state.grouping import BY_VALUE, ORDERED, kept_as, kernel_numbers
from joinery.solutions.spark_state.needed import closed_columns
from joinery.solutions.spark_state.program import RelationProgram, Sealed
from joinery.solutions.spark_state.relation_view import view_of
from joinery.solutions.spark_state.sealing import sealed_of
from joinery.solutions.spark_state.stream_program import (
    AsOf,
    Claim,
    CurrentLookup,
    MapEvents,
    PairEvents,
    Rolling,
    Seen,
)


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation as the program reads it: decoded columns, the visible row, its view."""

    relation: Relation
    index: int
    columns: tuple[Slot, ...]
    row: tuple[Slot, ...]
    view: int

    def ordinals(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the places of columns in the row."""
        places = {slot.name: index for index, slot in enumerate(self.row)}
        return tuple(places[each] for each in names)

    def address(self, lookup: Lookup) -> Address:
        """Return the table's side of a lookup's join value."""
        return Address(
            self.ordinals([pair.child for pair in lookup.on]),
            tuple(pair.type for pair in lookup.on),
        )

    @property
    def sealed(self) -> Sealed | None:
        """Which decoded columns are personal; None where the relation has no such columns."""
        return sealed_of(self.relation, [slot.name for slot in self.columns])

    @property
    def subject(self) -> Address | None:
        """Whose values a row holds, where an erasure cannot find it by its key."""
        sealed, subject = self.sealed, self.relation.erased_by
        if subject is None or sealed is None or not sealed.columns:
            return None
        return Address(self.ordinals([subject]), (self.relation.type_of(subject),))


class Relations:
    """Collects assemblers, first the views of all relations.

    Args:
        flows: All ways of events that the program has.
    """

    def __init__(self, flows: Sequence[Flow]) -> None:
        self.assemblers: list[Assembler] = []
        self.rows: dict[str, Rows] = {}
        for name, (relation, needed) in needed_relations(flows).items():
            self._add(name, relation, closed_columns(relation, needed))

    def assembler(self, assembler: Assembler) -> int:
        """Add an assembler and return its place."""
        self.assemblers.append(assembler)
        return len(self.assemblers) - 1

    def programs(self) -> tuple[RelationProgram, ...]:
        """Return the relations as the kernel reads them."""
        return tuple(
            RelationProgram(
                name,
                each.columns,
                each.ordinals(each.relation.key),
                each.view,
                each.sealed,
                each.relation.append or None,
            )
            for name, each in self.rows.items()
        )

    def _add(self, name: str, relation: Relation, needed: frozenset[str]) -> None:
        view = view_of(name, relation, needed)
        row, place = slots_of(view.type), self.assembler(view)
        self.rows[name] = Rows(relation, len(self.rows), view.own, row, place)


NEVER = -1
_REPLACED = "__hidden_"
# Every change of a versioned table tells as many addresses the time.
_BUCKETS = 32
# The identities of all events that are remembered are shared among as many.
_CLAIM_BUCKETS = 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands.

    Attributes:
        name: The node's.
        stream: Whose counts and letters it makes.
        event: The columns that events come with.
        needed: The columns that later steps read.
    """

    name: str
    stream: Stream
    event: tuple[Slot, ...]
    needed: frozenset[str]


def added_by(step: Lookup | plan.Rolling | plan.Join, place: Place) -> tuple[Slot, ...]:
    """Return the columns that a node gives events: those that are needed, or tell a correction."""
    if isinstance(step, plan.Rolling):
        return tuple(Slot(each.name, each.expression.type) for each in step.values)
    if isinstance(step, plan.Join):
        return tuple(Slot(each.name, each.expression.type) for each in step.fields)
    keeps = step.on_change == "keep" and step.late == "hold"
    return tuple(
        Slot(each.name, each.expression.type)
        for each in step.fields
        if not keeps or each.name in place.needed
    )


def own_after(step: Lookup | plan.Rolling | plan.Join, place: Place) -> tuple[Slot, ...]:
    """Return the columns of an event that a node passes on.

    One that the step replaces keeps its place, under no name.
    """
    names = {slot.name for slot in added_by(step, place)}
    return tuple(
        Slot(f"{_REPLACED}{index}", slot.type) if slot.name in names else slot
        for index, slot in enumerate(place.event)
    )


def node_name(step: NodeStep) -> str:
    """Return what the node of a step is called, below its stream."""
    match step:
        case Lookup(table):
            return table.name
        case plan.Rolling():
            return f"rolling_{'_'.join(each.name for each in step.values)}"
        case plan.SeenFilter(column):
            return f"seen_{column}"
        case plan.Join(other):
            return f"join_{other.name}"
        case MapRows():
            return step.name


def make_node(
    step: NodeStep, place: Place, relations: Relations
) -> CurrentLookup | AsOf | MapEvents | Rolling | Seen | PairEvents:
    """Return the node of a step, without what follows on it."""
    match step:
        case MapRows(_, output):
            event, owner = struct_of(place.event), place.stream.name
            return MapEvents(place.name, 0, owner, place.stream.event_key, event, output, ())
        case plan.Rolling():
            return _rolling(step, place, relations)
        case plan.Join():
            return _pairing(step, place, relations)
        case plan.SeenFilter():
            return Seen(
                name=place.name,
                level=0,
                owner=place.stream.name,
                key=place.stream.event_key,
                event=struct_of(place.event),
                by=event_address(step, place.event),
                event_time=[slot.name for slot in place.event].index(step.time),
                for_micros=step.for_us,
                logs=tuple(relations.rows[each.name].index for each in step.logs),
                onward=(),
                hidden=_hidden(place),
            )
        case Lookup(as_of="event"):
            return _as_of(step, place, relations)
        case Lookup():
            return _current_lookup(step, place, relations)


def _current_lookup(step: Lookup, place: Place, relations: Relations) -> CurrentLookup:
    rows = relations.rows[step.table.name]
    return CurrentLookup(
        name=place.name,
        level=0,
        owner=place.stream.name,
        relation=rows.index,
        key=place.stream.event_key,
        event=struct_of(place.event),
        fields=_fields(step, place, rows, relations),
        miss=step.on_miss,
        wait_micros=(step.wait_ms or 0) * 1000,
        for_micros=NEVER if step.on_change == "keep" else (step.for_ms or 0) * 1000,
        every_micros=(step.every_ms or 1) * 1000 if step.on_change == "correct" else 0,
        where=_where(step, place, relations),
        asked=step.read == "database",
        onward=(),
        hidden=_hidden(place),
    )


def _hidden(place: Place) -> tuple[int, ...] | None:
    """Return where an event keeps what is not its column: blind indexes, and what was replaced."""
    personal = place.stream.relation.personal
    indexes = personal.hidden if personal else frozenset[str]()
    found = tuple(
        index
        for index, slot in enumerate(place.event)
        if slot.name in indexes or slot.name.startswith(_REPLACED)
    )
    return found or None


def _as_of(step: Lookup, place: Place, relations: Relations) -> AsOf:
    rows = relations.rows[step.table.name]
    assert step.event_time is not None  # the plan's, under `as_of: event`
    assert step.valid_from is not None
    places = {slot.name: index for index, slot in enumerate(place.event)}
    return AsOf(
        name=place.name,
        level=0,
        owner=place.stream.name,
        relation=rows.index,
        key=place.stream.event_key,
        event=struct_of(place.event),
        fields=_fields(step, place, rows, relations),
        miss=step.on_miss,
        on=event_address(step, place.event),
        table=rows.address(step),
        event_time=places[step.event_time],
        valid_from=rows.ordinals([step.valid_from])[0],
        max_delay_micros=step.max_delay_ms * 1000,
        idle_micros=NEVER if step.idle_ms is None else step.idle_ms * 1000,
        history_micros=NEVER if step.history_ms is None else step.history_ms * 1000,
        corrects=step.late == "correct",
        buckets=_BUCKETS,
        onward=(),
    )


OTHER = "__other"
_OTHER_TIME, _OTHER_ON, _OTHER_FIELD = f"{OTHER}_time", f"{OTHER}_on_", f"{OTHER}_field_"


def columns_of_other(step: plan.Join) -> tuple[Computed, ...]:
    """Return what an event of the other log tells a join, over its row."""
    time = column_expression(step.other_time, step.other.type_of(step.other_time))
    on = [column_expression(each.child, step.other.type_of(each.child)) for each in step.on]
    return (
        Computed(OTHER, Expression("true", BOOLEAN, frozenset())),
        Computed(_OTHER_TIME, time),
        *(Computed(f"{_OTHER_ON}{number}", each) for number, each in enumerate(on)),
        *(Computed(f"{_OTHER_FIELD}{each.name}", each.expression) for each in step.fields),
    )


def nulls_of(columns: Sequence[Slot | Computed]) -> tuple[Computed, ...]:
    """Return columns of the same names and types that are null."""
    return tuple(
        Computed(e.name, Expression(f"cast(null as {e.type})", e.type, frozenset()))
        for e in columns
    )


def other_address(step: plan.Join, event: Sequence[Slot]) -> Address:
    """Return the other's side of a join's value."""
    places = {slot.name: index for index, slot in enumerate(event)}
    ordinals = (places[f"{_OTHER_ON}{number}"] for number in range(len(step.on)))
    return Address(tuple(ordinals), tuple(pair.type for pair in step.on))


def _pairing(step: plan.Join, place: Place, relations: Relations) -> PairEvents:
    places = {slot.name: index for index, slot in enumerate(place.event)}
    return PairEvents(
        name=place.name,
        level=0,
        owner=place.stream.name,
        key=place.stream.event_key,
        other_key=key_of(step.other),
        event=struct_of(place.event),
        other=places[OTHER],
        event_time=places[step.time],
        other_time=places[_OTHER_TIME],
        from_micros=step.within.from_us,
        to_micros=step.within.to_us,
        retention_micros=step.retention_us,
        first=len(place.event) - len(step.fields),
        logs=tuple(relations.rows[each.name].index for each in step.logs),
        onward=(),
    )


def _rolling(step: plan.Rolling, place: Place, relations: Relations) -> Rolling:
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(place.event)}
    aggregates = tuple(_rolled(each, step.time, slots) for each in step.aggregates)
    inputs = (
        *(Slot(each.name, each.type) for each in step.aggregates),
        Slot(WINDOW_SECONDS, DOUBLE),
    )
    given = len(place.event) + len(inputs)
    scope = {slot.name: (i, slot.type) for i, slot in enumerate((*place.event, *inputs))}
    steps = []
    for index, value in enumerate(step.values):
        steps.append(sql_over(value.expression, scope))
        scope[value.name] = (given + index, value.expression.type)
    values = relations.assembler(
        Assembler(
            name=f"{place.name}/values",
            own=place.event,
            inputs=inputs,
            steps=tuple(steps),
            where=None,
            order=(),
            output=tuple(range(given, given + len(steps))),
            type=struct_of(added_by(step, place)),
        )
    )
    return Rolling(
        name=place.name,
        level=0,
        owner=place.stream.name,
        key=place.stream.event_key,
        event=struct_of(place.event),
        by=event_address(step, place.event),
        event_time=slots[step.time][0],
        over_micros=step.over_us,
        retention_micros=step.retention_us,
        logs=tuple(relations.rows[each.name].index for each in step.logs),
        aggregates=aggregates,
        values=values,
        onward=(),
    )


def _rolled(
    aggregate: Aggregate, time: str, slots: Mapping[str, tuple[int, DataType]]
) -> AggregateColumn:
    """Return an aggregate over events that leave again; those of one time stand by their keys."""
    function = kept_as(aggregate)
    return AggregateColumn(
        function,
        sql_over(aggregate.argument, slots) if aggregate.argument else None,
        sql_over(aggregate.filter, slots) if aggregate.filter else None,
        aggregate.type,
        by_value=function in BY_VALUE,
        order=(slots[time][0],) if function in ORDERED else (),
        numbers=kernel_numbers(aggregate),
    )


def make_claim(lookup: CurrentLookup | AsOf | Rolling, target: int, on: Address) -> Claim | None:
    """Return what follows events that are told again; None where none is, or none remembered."""
    if lookup.key.fields == (PLACE,):
        return None
    claim = Claim(
        name=f"{lookup.name}/claim",
        level=0,
        owner=lookup.owner,
        event=lookup.event,
        on=on,
        target=target,
        buckets=_CLAIM_BUCKETS,
        keep_micros=NEVER,
        event_time=NEVER,
        max_delay_micros=0,
        idle_micros=NEVER,
    )
    match lookup:
        case CurrentLookup():
            keep = _kept_micros(lookup)
            return replace(claim, keep_micros=keep) if keep else None
        case Rolling():
            return replace(claim, event_time=lookup.event_time)
        case AsOf():
            return replace(
                claim,
                buckets=lookup.buckets,
                event_time=lookup.event_time,
                max_delay_micros=lookup.max_delay_micros,
                idle_micros=lookup.idle_micros,
            )


def _kept_micros(lookup: CurrentLookup) -> int:
    """Return how long an event may be remembered: it waits, is sent, and may be sent again."""
    waits = lookup.wait_micros if lookup.miss == "wait" else 0
    lasts = lookup.for_micros + lookup.every_micros if lookup.for_micros >= 0 else 0
    return waits + lasts


def event_address(
    step: Lookup | plan.Rolling | plan.SeenFilter | plan.Join, event: Sequence[Slot]
) -> Address:
    """Return the event's side of a lookup's join value, or what its rolling columns count by."""
    places = {slot.name: index for index, slot in enumerate(event)}
    if isinstance(step, plan.Rolling | plan.SeenFilter):
        names = step.by if isinstance(step, plan.Rolling) else (step.column,)
        by = [places[each] for each in names]
        return Address(tuple(by), tuple(event[each].type for each in by))
    return Address(
        tuple(places[pair.parent] for pair in step.on), tuple(pair.type for pair in step.on)
    )


def _fields(step: Lookup, place: Place, rows: Rows, relations: Relations) -> int:
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(rows.row)}
    added = {slot.name for slot in added_by(step, place)}
    fields = [each for each in step.fields if each.name in added]
    steps = tuple(sql_over(each.expression, slots) for each in fields)
    first = len(rows.row)
    return relations.assembler(
        Assembler(
            name=f"{place.name}/fields",
            own=rows.row,
            inputs=(),
            steps=steps,
            where=None,
            order=(),
            output=tuple(range(first, first + len(steps))),
            type=Struct(tuple(Field(each.name, each.expression.type) for each in fields)),
        )
    )


def _where(step: Lookup, place: Place, relations: Relations) -> int:
    if step.where is None:
        return NEVER
    own, added = own_after(step, place), added_by(step, place)
    slots = {slot.name: (index, slot.type) for index, slot in enumerate((*own, *added))}
    where = sql_over(step.where, slots)
    return relations.assembler(
        Assembler(f"{place.name}/where", own, added, (), where, (), (), Struct(()))
    )
