"""From a stream's spec to the stream of the plan: steps resolved in order, columns typed.

Invariant: a name that could not be built is not blamed on what uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from joinery.model.type import DataType, Field, Struct, parse_type
from joinery.plan.build_join import build_join, check_after_join
from joinery.plan.build_lookup import Events, build_lookup
from joinery.plan.build_rolling import TimedEvents, build_rolling, build_seen, seen_call_in
from joinery.plan.context import Context
from joinery.plan.relation import Computed, Relation
from joinery.plan.reorder import state_first
from joinery.plan.sink import Owner, build_sink
from joinery.plan.step import (
    Filter,
    Lookup,
    MapRows,
    Select,
    Step,
    Union,
    WithColumns,
    stage_of,
    standing_after,
)
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.project.mark import Path
from joinery.project.step import (
    FilterSpec,
    JoinSpec,
    LookupSpec,
    MapSpec,
    RollingSpec,
    SelectSpec,
    StepSpec,
    UnionSpec,
    WithColumnsSpec,
)
from joinery.project.stream import StreamSpec
from joinery.project.value import Pairs

Relations = Mapping[str, tuple[Relation, frozenset[str]]]


def build_streams(context: Context, relations: Relations) -> tuple[Stream, ...]:
    """Return the streams that could be built, and note what is wrong with the others."""
    context.solution = "spark-state"
    builder = _Streams(context, relations)
    built = [builder.stream(each.name) for each in context.spec.streams]
    read = context.spec.continued_streams
    return tuple(replace(each, continued=each.name in read) for each in built if each is not None)


@dataclass(slots=True)
class _Begun:
    """A stream under construction.

    Attributes:
        lost: Columns whose own problem is noted.
        volatile: Columns that a correction may change.
        standing: Columns of the log that are still as they were.
    """

    relation: Relation
    columns: tuple[Field, ...]
    steps: tuple[Step, ...] = ()
    lost: set[str] = field(default_factory=set)
    volatile: set[str] = field(default_factory=set)
    standing: frozenset[str] = frozenset()

    @property
    def scope(self) -> dict[str, DataType]:
        return {each.name: each.type for each in self.columns}


class _Streams:
    """Builds each stream once; one may go on from another."""

    def __init__(self, context: Context, relations: Relations) -> None:
        self.context, self.relations = context, relations
        self.specs = {each.name: each for each in context.spec.streams}
        self.built: dict[str, Stream | None] = {}
        self.begun: dict[str, _Begun] = {}
        self.under_way: list[str] = []

    def stream(self, name: str) -> Stream | None:
        """Return a stream by name, or None where its problem is noted."""
        if name not in self.built:
            self.under_way.append(name)
            self.built[name] = self.build(self.specs[name])
            self.under_way.pop()
        return self.built[name]

    def build(self, spec: StreamSpec) -> Stream | None:
        path: Path = ("streams", spec.name)
        before = len(self.context.problems)
        if spec.name in self.relations:
            message = f'stream "{spec.name}" has the name of a relation'
            hint = "Give the stream another name."
            self.context.refuse("PLAN_STREAM", message, path, key=True, hint=hint)
        begun = self.origin(spec, path)
        if begun is None:
            return None
        for index, step in enumerate(spec.steps):
            if not self.add(begun, step, spec, (*path, "steps", index)):
                return None
        self.begun[spec.name] = begun
        if len(self.context.problems) > before:
            return None
        return self.finish(spec, begun, path)

    def finish(self, spec: StreamSpec, begun: _Begun, path: Path) -> Stream | None:
        relation = begun.relation
        indexes = relation.personal.hidden if relation.personal else frozenset[str]()
        steps, notes, problem = state_first(begun.steps, relation.row.fields, indexes)
        if problem:
            hint = "Put lookups in state before lookups in a store."
            self.context.refuse(
                "PLAN_STREAM", problem.message, path, key=True, detail=problem.reason, hint=hint
            )
            return None
        self.check_correction(spec, begun, path)
        made = Stream(
            name=spec.name,
            relation=relation,
            steps=steps,
            columns=begun.columns,
            group=spec.group,
            correction=spec.correction,
            notes=notes,
        )
        read = frozenset(each.name for each in made.relations)
        owner = Owner("streams", spec.name, len(spec.sinks), read)
        sinks = (build_sink(self.context, e, owner, i) for i, e in enumerate(spec.sinks))
        return replace(made, sinks=tuple(sinks))

    def check_correction(self, spec: StreamSpec, begun: _Begun, path: Path) -> None:
        if spec.correction in begun.scope:
            message = f'"correction" of stream "{spec.name}" names a column that already exists'
            place = (*path, "correction")
            self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, hint="Use another name.")

    def origin(self, spec: StreamSpec, path: Path) -> _Begun | None:
        """Return where a stream begins: its relation's columns, or another stream's."""
        place, name = (*path, "from"), spec.origin
        if name in self.specs and name not in self.relations:
            known = self.other(name, spec, place)
            begun = self.begun.get(name) if known else None
            if begun is None:
                return None
            return replace(begun, lost=set(begun.lost), volatile=set(begun.volatile))
        if name not in self.relations:
            known_names = [*self.events, *(each for each in self.specs if each != spec.name)]
            if name:
                self.context.no_relation(place, name, known_names)
            return None
        relation, lost = self.relations[name]
        if not relation.append:
            message = f'stream "{spec.name}" begins at "{name}", which is a table'
            detail = "A stream begins at a log of events, whose rows never change."
            hint = f'Write append: true under relation "{name}".'
            self.context.refuse("PLAN_STREAM", message, place, detail=detail, hint=hint)
            return None
        columns = relation.row.fields
        standing = frozenset(each.name for each in columns)
        return _Begun(relation, columns, lost=set(lost), standing=standing)

    @property
    def events(self) -> list[str]:
        return [name for name, (each, _) in self.relations.items() if each.append]

    def other(self, name: str, spec: StreamSpec, place: Path) -> Stream | None:
        """Return another stream that `spec` reads, unless the two read one another."""
        if name in self.under_way:
            message = f'stream "{spec.name}" reads itself'
            circle = " reads ".join([*self.under_way[self.under_way.index(name) :], name])
            self.context.refuse("PLAN_STREAM", message, place, detail=f"{circle}.")
            return None
        return self.stream(name)

    def add(self, begun: _Begun, spec: StepSpec, stream: StreamSpec, path: Path) -> bool:
        """Add one step; False where what follows cannot be judged."""
        step = self.step(begun, spec, stream, path)
        declared = _declared(spec)
        if step is None:
            begun.lost |= declared or set()
            return declared is not None
        if any(isinstance(each, Join) for each in begun.steps):
            check_after_join(self.context, step, stream.name, path)
        begun.volatile = _volatile(begun, step)
        begun.standing = standing_after(step, begun.standing)
        begun.columns = step.columns_after(begun.columns)
        begun.lost -= {each.name for each in begun.columns}
        begun.steps += (step,)
        begun.lost |= (declared or set()) - begun.scope.keys()
        return True

    def step(self, begun: _Begun, spec: StepSpec, stream: StreamSpec, path: Path) -> Step | None:
        match spec:
            case LookupSpec():
                events = _events(begun, stream)
                step = build_lookup(self.context, spec, path, events, self.relations)
                return self.checked(step, begun, path) if step else None
            case FilterSpec(where):
                place = (*path, "filter")
                call = seen_call_in(where)
                if call is not None:
                    return build_seen(self.context, call, place, _timed(begun, stream))
                found = self.context.condition(where, place, begun.scope, begun.lost, word="filter")
                return Filter(found) if found else None
            case SelectSpec(fields):
                return Select(self.computed(begun, fields, (*path, "select")))
            case WithColumnsSpec(fields):
                return WithColumns(self.computed(begun, fields, (*path, "with_columns")))
            case MapSpec(function, output):
                columns = tuple(Field(name, parse_type(text)) for name, text in output)
                return MapRows(function, Struct(columns))
            case UnionSpec(name):
                return self.union(begun, name, stream, (*path, "union"))
            case JoinSpec():
                return build_join(self.context, spec, path, _timed(begun, stream), self.relations)
            case RollingSpec():
                place = (*path, "rolling")
                return build_rolling(self.context, spec, place, _timed(begun, stream))

    def computed(self, begun: _Begun, pairs: Pairs, path: Path) -> tuple[Computed, ...]:
        made: dict[str, Computed] = {}
        for name, text in pairs:
            place = (*path, name)
            found = self.context.expression(text, place, begun.scope, failed=begun.lost)
            if name in made:
                message = f'column "{name}" appears twice'
                self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, key=True)
            elif found is not None and "void" in str(found[0].type):
                message, hint = f'"{name}" has no type', "Cast the null, as cast(null as string)."
                self.context.refuse("PLAN_TYPE_MISMATCH", message, place, hint=hint)
            elif found is not None:
                made[name] = Computed(name, found[0])
        return tuple(made.values())

    def checked(self, step: Lookup, begun: _Begun, path: Path) -> Lookup:
        """Refuse a lookup that remembers events under columns that a correction may change."""
        used = {pair.parent for pair in step.on} | ({step.event_time} if step.event_time else set())
        moving = sorted(used & begun.volatile)
        if step.remembers and moving:
            message = f'the lookup of "{step.table.name}" remembers events by "{moving[0]}"'
            detail = f'A correction of an earlier lookup may change "{moving[0]}".'
            hint = "Keep the earlier lookup (on_change: keep), or this one."
            self.context.refuse("PLAN_LOOKUP", message, path, detail=detail, hint=hint)
        return step

    def union(self, begun: _Begun, name: str, stream: StreamSpec, path: Path) -> Step | None:
        if name not in self.specs:
            message = f'there is no stream "{name}"'
            known = [each for each in self.specs if each != stream.name]
            self.context.unknown("PLAN_UNKNOWN_STREAM", message, path, name=name, known=known)
            return None
        other = self.other(name, stream, path)
        if other is None or begun.lost or not (begun.relation.keyed and other.relation.keyed):
            return None
        problem = _differs(begun, other)
        if problem:
            message = f'stream "{stream.name}" cannot be united with "{name}"'
            hint = "Give both the same columns with select."
            self.context.refuse("PLAN_STREAM", message, path, detail=problem, hint=hint)
            return None
        return Union(replace(other, sinks=(), group=None))


def _events(begun: _Begun, stream: StreamSpec) -> Events:
    return Events(stream.name, begun.relation, begun.columns, begun.lost, begun.standing)


def _timed(begun: _Begun, stream: StreamSpec) -> TimedEvents:
    return TimedEvents(
        stream.name, begun.relation, begun.scope, begun.steps, begun.lost, begun.volatile
    )


def _declared(spec: StepSpec) -> set[str] | None:
    """Return the columns that a step names as its own; None where the table's row has them."""
    match spec:
        case LookupSpec(fields=fields):
            return None if fields is None else {name for name, _ in fields}
        case JoinSpec(fields=fields):
            return None if fields is None else {name for name, _ in fields}
        case SelectSpec(fields) | WithColumnsSpec(fields) | MapSpec(_, fields):
            return {name for name, _ in fields}
        case RollingSpec():
            return {name for name, _ in spec.values}
        case FilterSpec() | UnionSpec():
            return set()


def _corrects(steps: Sequence[Step]) -> bool:
    """Return whether an event may come again from one of `steps`, with other columns."""
    return any(
        isinstance(each, Rolling)
        or (isinstance(each, Lookup) and each.corrects)
        or (isinstance(each, Union) and _corrects(each.other.steps))
        for each in steps
    )


def _differs(begun: _Begun, other: Stream) -> str:
    """Return why the events of two streams cannot be one; empty where they can."""
    mine = Stream("", begun.relation)
    if mine.key != other.key:
        return f"Their events are identified by {mine.key} and {other.key}."
    if any(stage_of(each) == "store" for each in other.steps):
        return f'"{other.name}" reads a store, which comes after everything else.'
    columns = Struct(begun.columns)
    return (
        ""
        if columns.fields == other.columns
        else (f"Their columns are {columns} and {Struct(other.columns)}.")
    )


def _volatile(begun: _Begun, step: Step) -> set[str]:
    """Return the columns after `step` that a correction may change."""
    before = begun.volatile
    match step:
        case Lookup():
            added = {each.name for each in step.fields}
            moved = step.corrects or any(pair.parent in before for pair in step.on)
            return before | added if moved else before - added
        case Select(fields):
            return _moved(before, fields)
        case WithColumns(fields):
            return (before - {each.name for each in fields}) | _moved(before, fields)
        case MapRows(_, output):
            return {each.name for each in output.fields} if before else set()
        case Union(other):
            return {each.name for each in begun.columns} if _corrects(other.steps) else before
        case Rolling() | Join():
            return before | step.made
        case Filter() | SeenFilter():
            return before


def _moved(before: set[str], fields: tuple[Computed, ...]) -> set[str]:
    return {each.name for each in fields if not before.isdisjoint(each.expression.references)}
