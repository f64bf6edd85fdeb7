"""Lowers the streams of one query to a kernel program.

Each lookup becomes one node, the steps between two lookups one assembler. Streams that
begin alike share the nodes of what they have in common, and events that a union brings
together meet at the same nodes.

Invariant: every message goes to a later level.

Shapes an event by the steps between two lookups: one assembler for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from joinery.model.type import BOOLEAN, DataType, Field, Struct
from joinery.plan.relation import Computed
from joinery.plan.seen import SEEN
from joinery.plan.step import Filter, Lookup, MapRows, Select, WithColumns
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.solutions.spark_state.assembler import (
    Address,
    Assembler,
    ScopeName,
    Slot,
    Sql,
    slots_of,
    struct_of,
)
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.flow import (
    FlowStep,
    NodeStep,
    ShapingStep,
    flows_of,
    live,
    needed_before,
    split,
)
from joinery.solutions.spark_state.program import (
    ROLE_PRIMARY,
    KernelNode,
    KernelProgram,
    ProductProgram,
    Route,
    Subjects,
)
from joinery.solutions.spark_state.stream_level import leveled
from joinery.solutions.spark_state.stream_node import (
    Place,
    Relations,
    added_by,
    columns_of_other,
    event_address,
    make_claim,
    make_node,
    node_name,
    nulls_of,
    other_address,
    own_after,
)
from joinery.solutions.spark_state.stream_program import (
    Claim,
    Entry,
    MapEvents,
    Onward,
    PairEvents,
    Seen,
    StreamNode,
)

Scope = dict[str, tuple[int, DataType]]


class Shape:
    """Collects what an assembler computes, step by step.

    Args:
        name: The assembler's, below its stream.
        own: The columns that an event comes with.
        inputs: What the lookup before adds; it hides a column of the same name.
        mark: A last input that no step sees.
    """

    def __init__(
        self,
        name: str,
        own: Sequence[Slot],
        inputs: Sequence[Slot],
        mark: Slot | None = None,
    ) -> None:
        self._name = name
        self._own = tuple(own)
        self._mark = mark
        self._inputs = (*inputs, *(() if mark is None else (mark,)))
        self._computed: list[Sql] = []
        self._filters: list[Sql] = []
        self._scope: Scope = {
            slot.name: (index, slot.type) for index, slot in enumerate((*own, *inputs))
        }

    @property
    def columns(self) -> Mapping[str, tuple[int, DataType]]:
        """The columns after the steps so far."""
        return self._scope

    def take(self, steps: Sequence[ShapingStep]) -> None:
        """Add steps."""
        for step in steps:
            match step:
                case Filter(where):
                    self._filters.append(sql_over(where, self._scope))
                case Select(fields):
                    self._scope = self._fields(fields)
                case WithColumns(fields):
                    self._scope = self._scope | self._fields(fields)

    def _fields(self, fields: Sequence[Computed]) -> Scope:
        """Return where the values of `fields` are, over the columns before the step."""
        return {each.name: self._place(each) for each in fields}

    def _place(self, field: Computed) -> tuple[int, DataType]:
        known = self._scope.get(field.expression.sql)
        if known is not None and known[1] == field.expression.type:
            return known
        return self._step(sql_over(field.expression, self._scope))

    def _step(self, sql: Sql) -> tuple[int, DataType]:
        self._computed.append(sql)
        return len(self._own) + len(self._inputs) + len(self._computed) - 1, sql.type

    def assembler(self, columns: Sequence[str]) -> Assembler:
        """Return the assembler that gives `columns`, then the mark where there is one."""
        where = self._where()
        shown = [self._scope[each] for each in columns]
        fields = [Field(name, kind) for name, (_, kind) in zip(columns, shown, strict=True)]
        output = [slot for slot, _ in shown]
        if self._mark is not None:
            fields.append(Field(self._mark.name, self._mark.type))
            output.append(len(self._own) + len(self._inputs) - 1)
        return Assembler(
            name=self._name,
            own=self._own,
            inputs=self._inputs,
            steps=tuple(self._computed),
            where=where,
            order=(),
            output=tuple(output),
            type=Struct(tuple(fields)),
        )

    def _where(self) -> Sql | None:
        if len(self._filters) < 2:
            return self._filters[0] if self._filters else None
        names = tuple(
            ScopeName(f"__filter_{number}", *self._step(each))
            for number, each in enumerate(self._filters)
        )
        return Sql(" and ".join(each.name for each in names), names, BOOLEAN)


_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class LoweredStreams:
    """A program, and the steps whose nodes need more than the kernel.

    Attributes:
        maps: The functions, by node.
        asked: The lookups in stores, by node.
    """

    program: KernelProgram
    maps: dict[int, MapRows]
    asked: dict[int, Lookup]


def lower_streams(
    streams: Sequence[Stream], *, tombstone_retention_micros: int, max_document_bytes: int
) -> LoweredStreams:
    """Return the program of one query that sends `streams`.

    Args:
        streams: The members of the query, in the order of the project.
        tombstone_retention_micros: How long a delete is remembered.
        max_document_bytes: The size of JSON above which an event is refused.
    """
    lowering = _Lowering(streams)
    program = replace(
        lowering.finish(),
        tombstone_retention_micros=tombstone_retention_micros,
        max_document_bytes=max_document_bytes,
    )
    lowered = LoweredStreams(program, {}, {})
    for index, step in enumerate(lowering.steps):
        match step:
            case MapRows():
                lowered.maps[index] = step
            case Lookup(read="database"):
                lowered.asked[index] = step
            case Lookup() | Rolling() | SeenFilter() | Join():
                pass
    return lowered


@dataclass(frozen=True, slots=True)
class _Tail:
    """What is left of a stream."""

    stream: Stream
    steps: tuple[FlowStep, ...]


@dataclass(frozen=True, slots=True)
class _Given:
    """What an event has: the columns it comes with, and what the node before adds."""

    own: tuple[Slot, ...]
    inputs: tuple[Slot, ...] = ()


class _Lowering:
    """Collects nodes from the entries on; `steps` are theirs."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._streams = tuple(streams)
        self._flows = [flow for stream in streams for flow in flows_of(stream)]
        self._relations = Relations(self._flows)
        self._nodes: list[StreamNode] = []
        self._known: list[tuple[object, int]] = []
        self._claims: dict[int, int | None] = {}
        self._joins: dict[int, Join] = {}
        self._routes: list[Route] = []
        self.steps: list[NodeStep] = []

    def finish(self) -> KernelProgram:
        entries = tuple(self._entries())
        placed, levels = leveled(self._nodes, entries)
        nodes: tuple[KernelNode, ...] = placed
        if subjects := tuple(self._subjects()):  # in front of what they send erasures to
            nodes = (*(replace(each, level=each.level + 1) for each in placed), *subjects)
            levels += 1
        products = tuple(ProductProgram(each.name, each.key, each.output) for each in self._streams)
        return KernelProgram(
            levels=levels,
            relations=self._relations.programs(),
            nodes=nodes,
            assemblers=tuple(self._relations.assemblers),
            products=products,
            routes=tuple(self._routes),
            tombstone_retention_micros=0,
            max_document_bytes=0,
            entries=entries,
        )

    def _subjects(self) -> Iterator[Subjects]:
        """Yield what finds the rows of an erased subject of a table, and route the table to it."""
        looked_up = {each.relation for each in self._routes}
        tables = [each for each in self._relations.rows.values() if each.index in looked_up]
        found = [(rows, rows.subject) for rows in tables]
        told = [(rows, address) for rows, address in found if address is not None]
        for node, (rows, address) in enumerate(told, len(self._nodes)):
            self._routes.append(Route(rows.index, node, 0, address))
            yield Subjects(rows.relation.name, 1, rows.index)

    def _entries(self) -> Iterator[Entry]:
        made: dict[int, tuple[Onward, ...]] = {}
        for rows in list(self._relations.rows.values()):
            tails = [
                _Tail(flow.stream, flow.steps)
                for flow in self._flows
                if flow.relation == rows.relation and flow.joins is None
            ]
            if tails:
                made[rows.index] = self._onwards(tails, _Given(rows.row))
        for node, step in self._joins.items():
            rows = self._relations.rows[step.other.name]
            made[rows.index] = (*made.get(rows.index, ()), self._other(node, step, rows.row))
        return (Entry(relation, made[relation]) for relation in sorted(made))

    def _other(self, node: int, step: Join, row: tuple[Slot, ...]) -> Onward:
        """Return the way of the other log's events to a join."""
        into = self._nodes[node]
        event = slots_of(into.event)
        told = columns_of_other(step)
        own = nulls_of(event[: len(event) - len(told)])
        shape = Shape(f"{into.name}/other", row, ())
        shape.take((Select((*own, *told)),))
        assembler = self._relations.assembler(shape.assembler([each.name for each in event]))
        return Onward(assembler, node, _NOWHERE, other_address(step, event))

    def _onwards(self, tails: Sequence[_Tail], given: _Given) -> tuple[Onward, ...]:
        """Return what follows on an event, once for tails that go on alike."""
        alike: list[tuple[tuple[tuple[ShapingStep, ...], NodeStep], list[_Tail]]] = []
        onwards: list[Onward] = []
        for tail in tails:
            before, step, rest = split(tail.steps)
            if step is None:
                onwards.append(self._end(tail.stream, before, given))
                continue
            same = next((found for head, found in alike if head == (before, step)), None)
            if same is None:
                alike.append(((before, step), [_Tail(tail.stream, rest)]))
            else:
                same.append(_Tail(tail.stream, rest))
        for (passed, next_step), found in alike:
            onwards.append(self._onward(passed, next_step, found, given))
        return tuple(onwards)

    def _end(self, stream: Stream, steps: Sequence[ShapingStep], given: _Given) -> Onward:
        mark = Slot(stream.correction, BOOLEAN) if stream.correction else None
        shape = Shape(f"{stream.name}/", given.own, given.inputs, mark)
        columns = [each.name for each in stream.columns]
        shape.take(live(steps, columns))
        assembler = shape.assembler(columns)
        product = self._streams.index(stream)
        place = self._relations.assembler(assembler)
        return Onward(place, _NOWHERE, product, None, marked=mark is not None)

    def _onward(
        self,
        passed: Sequence[ShapingStep],
        step: NodeStep,
        tails: Sequence[_Tail],
        given: _Given,
    ) -> Onward:
        name = f"{tails[0].stream.name}/{node_name(step)}"
        shape = Shape(f"{name}/before", given.own, given.inputs)
        columns = tuple(Field(each, kind) for each, (_, kind) in shape.columns.items())
        columns = reduce(lambda had, each: each.columns_after(had), passed, columns)
        event = _event(columns, _needed(tails, columns, (step,)))
        shape.take(live(passed, [each.name for each in event]))
        if isinstance(step, Join):
            nulls = nulls_of(columns_of_other(step))
            shape.take((WithColumns(nulls),))
            event = (*event, *(Slot(each.name, each.type) for each in nulls))
        assembler = self._relations.assembler(shape.assembler([each.name for each in event]))
        node = self._node(name, step, event, tails)
        match step:
            case MapRows():
                return Onward(assembler, node, _NOWHERE, None)
            case SeenFilter() | Join():
                return Onward(assembler, node, _NOWHERE, event_address(step, event))
            case Lookup() | Rolling():
                address = event_address(step, event)
                claim = self._claim(node, step, address)
                if claim is not None:
                    return Onward(assembler, claim, _NOWHERE, None)
                return Onward(assembler, node, _NOWHERE, address)

    def _claim(self, lookup: int, step: Lookup | Rolling, on: Address) -> int | None:
        """Return the claim before a node that remembers events, once; None where none is."""
        if lookup not in self._claims:
            node = self._nodes[lookup]
            assert not isinstance(
                node, Claim | MapEvents | Seen | PairEvents
            )  # as `make_node` says
            made = make_claim(node, lookup, on)
            self._claims[lookup] = None if made is None else len(self._nodes)
            if made is not None:
                self._nodes.append(made)
                self.steps.append(step)
        return self._claims[lookup]

    def _node(
        self,
        name: str,
        step: NodeStep,
        event: tuple[Slot, ...],
        tails: Sequence[_Tail],
    ) -> int:
        sought = (step, event, tuple(tails))
        for known, index in self._known:
            if known == sought:
                return index
        after = step.columns_after(struct_of(event).fields)
        place = Place(name, tails[0].stream, event, _needed(tails, after, ()))
        node = make_node(step, place, self._relations)
        index = len(self._nodes)
        self._nodes.append(node)
        self.steps.append(step)
        self._known.append((sought, index))
        match step:
            case Lookup():
                if step.read == "state":
                    self._route(step, index)
                given = _Given(own_after(step, place), added_by(step, place))
            case Join():
                self._joins[index] = step
                given = _Given(own_after(step, place), added_by(step, place))
            case Rolling():
                given = _Given(own_after(step, place), added_by(step, place))
            case SeenFilter(where=where):
                given = _Given(event, (Slot(SEEN, BOOLEAN),))
                tails = [replace(each, steps=(Filter(where), *each.steps)) for each in tails]
            case MapRows():
                given = _Given(slots_of(step.output))
        self._nodes[index] = replace(node, onward=self._onwards(tails, given))
        return index

    def _route(self, lookup: Lookup, node: int) -> None:
        """Send the table's changes to the node; one node of a relation counts them."""
        rows = self._relations.rows[lookup.table.name]
        counted = any(each.relation == rows.index for each in self._routes)
        role = 0 if counted else ROLE_PRIMARY
        self._routes.append(Route(rows.index, node, role, rows.address(lookup)))


def _needed(
    tails: Sequence[_Tail], columns: Sequence[Field], steps: tuple[FlowStep, ...]
) -> frozenset[str]:
    """Return which columns are needed by `steps` and whatever follows on them."""
    return frozenset[str]().union(
        *(needed_before(tail.stream, columns, (*steps, *tail.steps)) for tail in tails)
    )


def _event(columns: Sequence[Field], needed: frozenset[str]) -> tuple[Slot, ...]:
    """Return the needed columns in the order of their names, so that united events agree."""
    ordered = sorted(columns, key=lambda each: each.name)
    return tuple(Slot(each.name, each.type) for each in ordered if each.name in needed)
