"""From a join of two logs in a stream to the join of the plan.

Invariant: a name that could not be built is not blamed on what uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from joinery.model.type import TIMESTAMP
from joinery.plan.build_rolling import TimedEvents, check_time, remember
from joinery.plan.context import Context
from joinery.plan.join import common_type
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.step import Filter, Select, Step, WithColumns
from joinery.plan.timed_step import Join
from joinery.project.mark import Path
from joinery.project.step import JoinSpec
from joinery.project.value import Pairs

Relations = Mapping[str, tuple[Relation, frozenset[str]]]


def build_join(
    context: Context, spec: JoinSpec, path: Path, events: TimedEvents, relations: Relations
) -> Join | None:
    """Return the step, or None where its problem is noted."""
    before = len(context.problems)
    found = relations.get(spec.relation)
    if found is None:
        known = [name for name, (each, _) in relations.items() if each.append]
        if spec.relation:
            context.no_relation((*path, "join"), spec.relation, known)
        return None
    other, lost = found
    _check_other(context, other, (*path, "join"))
    check_time(context, "join", (*path, "join"), events)
    if remember(events.steps):
        message = f'the join with "{other.name}" cannot follow a step that remembers events'
        context.refuse("PLAN_STREAM", message, path, hint="Put the join before that step.")
    if other.name in events.relation.key:
        message = f'a pair has the key of its events, and "{other.name}" would be in it twice'
        hint = f'Give the relation another name: relations: {{…: {{topic: "{other.topic}"}}}}.'
        context.refuse("PLAN_DUPLICATE_OUTPUT", message, (*path, "join"), hint=hint)
    pairs = _pairs(context, spec.on, (*path, "on"), events, other)
    fields = _fields(context, spec, (*path, "fields"), events, other, lost)
    time = events.relation.time
    if len(context.problems) > before or time is None or other.time is None or events.lost:
        return None
    logs = tuple(dict.fromkeys((*events.logs, other)))
    return Join(other, pairs, fields, time, other.time, spec.within, logs, spec.retention_us)


def check_after_join(context: Context, step: Step, stream: str, path: Path) -> None:
    """Refuse a step over pairs that is told of events by the keys of their log."""
    if not isinstance(step, Filter | Select | WithColumns):
        message = f'a step of stream "{stream}" follows a join, and works with events of one log'
        detail = "After a join there are pairs, which only filter, select and with_columns take."
        hint = "Put the step before the join."
        context.refuse("PLAN_STREAM", message, path, detail=detail, hint=hint)


def _check_other(context: Context, other: Relation, path: Path) -> None:
    """Refuse a relation whose rows change, or tell no time."""
    if not other.append:
        message = f'a join needs a log of events, and "{other.name}" is a table'
        context.refuse("PLAN_STREAM", message, path, hint="Use lookup: to add a row of a table.")
    elif other.time is None:
        message = f'"join" needs a time, and relation "{other.name}" has none'
        hint = f'Name its column: "time" of relation "{other.name}".'
        context.refuse("PLAN_STREAM", message, path, hint=hint)
    elif any(e.name == other.time and e.type != TIMESTAMP for e in other.row.fields):
        message = f'the time "{other.time}" of relation "{other.name}" is not a timestamp'
        context.refuse("PLAN_TYPE_MISMATCH", message, path, hint="Cast it with derive.")


def _pairs(
    context: Context, on: Pairs, path: Path, events: TimedEvents, other: Relation
) -> tuple[JoinPair, ...]:
    columns = {each.name: each.type for each in other.row.fields}
    made: list[JoinPair] = []
    for column, name in dict.fromkeys(on):
        place = (*path, column)
        if column not in columns:
            message = f'relation "{other.name}" has no field "{column}"'
            context.unknown("PLAN_UNKNOWN_FIELD", message, place, name=column, known=columns)
        elif name not in events.row:
            if name not in events.lost:
                message = f'the events of "{events.stream}" have no column "{name}" here'
                context.unknown("PLAN_UNKNOWN_COLUMN", message, place, name=name, known=events.row)
        elif (kind := common_type(columns[column], events.row[name])) is None:
            message = (
                f'"{column}" of "{other.name}" ({columns[column]}) cannot equal'
                f' "{name}" of the event ({events.row[name]})'
            )
            hint = "Join on columns of one simple type; cast one of them if need be."
            context.refuse("PLAN_TYPE_MISMATCH", message, place, hint=hint)
        else:
            made.append(JoinPair(column, name, kind))
    return tuple(made)


def _fields(
    context: Context,
    spec: JoinSpec,
    path: Path,
    events: TimedEvents,
    other: Relation,
    lost: AbstractSet[str],
) -> tuple[Computed, ...]:
    scope = {each.name: each.type for each in other.row.fields}
    made: dict[str, Computed] = {}
    for name, text in _asked(spec, list(scope), events):
        place = (*path, name)
        found = context.expression(text, place, scope, failed=lost)
        if name in made:
            message = f'field "{name}" of the join with "{other.name}" appears twice'
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, key=True)
        elif found is not None and "void" in str(found[0].type):
            hint = "Cast the null, as cast(null as string)."
            context.refuse("PLAN_TYPE_MISMATCH", f'"{name}" has no type', place, hint=hint)
        elif found is not None:
            made[name] = Computed(name, found[0])
    return tuple(made.values())


def _asked(spec: JoinSpec, columns: Sequence[str], events: TimedEvents) -> Pairs:
    """Return the fields that are declared, or the other's columns that the event has not."""
    if spec.fields is not None:
        return spec.fields
    compared = {column for column, _ in spec.on}
    return tuple((e, e) for e in columns if e not in compared and e not in events.row)
