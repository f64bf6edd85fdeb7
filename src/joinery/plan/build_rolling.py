"""From steps that count events of a key in time to those of the plan: rolling columns and `seen`.

Invariant: a name that could not be built is not blamed on what uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from joinery.expression.group_aggregate import GROUP_AGGREGATES
from joinery.expression.problem import ExpressionError
from joinery.expression.typed import Aggregate
from joinery.model.type import BOOLEAN, TIMESTAMP, DataType, is_personal
from joinery.plan.context import Context
from joinery.plan.join import comparable
from joinery.plan.relation import Computed, Relation
from joinery.plan.seen import SEEN, SeenCall, read_seen
from joinery.plan.step import Lookup, Step, Union
from joinery.plan.timed_step import Rolling, SeenFilter, rolling_scope
from joinery.project.mark import Path
from joinery.project.step import RollingSpec


@dataclass(frozen=True, slots=True)
class TimedEvents:
    """The events that a step is given which looks at others in the time before them.

    Attributes:
        stream: Whose they are.
        relation: The log that they begin at.
        row: The types of their columns.
        steps: Those before.
        lost: Columns whose own problem is noted.
        volatile: Columns that a correction may change.
    """

    stream: str
    relation: Relation
    row: Mapping[str, DataType]
    steps: Sequence[Step]
    lost: AbstractSet[str]
    volatile: AbstractSet[str]

    @property
    def logs(self) -> tuple[Relation, ...]:
        """The relations whose events have come through the steps, each once."""
        return _logs(self.relation, self.steps)


def build_rolling(
    context: Context, spec: RollingSpec, path: Path, events: TimedEvents
) -> Rolling | None:
    """Return the step, or None where its problem is noted."""
    known = len(context.problems)
    check_time(context, "rolling", path, events)
    for index, name in enumerate(spec.by):
        _check_by(context, name, (*path, "by", index), events)
    values, aggregates = _values(context, spec, path, events)
    time = events.relation.time
    if len(context.problems) > known or time is None or events.lost:
        return None
    step = Rolling(spec.by, time, spec.over_us, aggregates, values, events.logs, spec.retention_us)
    moving = sorted({*spec.by, time} & events.volatile)
    if moving:
        message = f'the rolling columns remember events by "{moving[0]}"'
        detail = f'A correction of an earlier step may change "{moving[0]}".'
        hint = "Put the step before the one that corrects."
        context.refuse("PLAN_STREAM", message, path, detail=detail, hint=hint)
    return step


def _values(
    context: Context, spec: RollingSpec, path: Path, events: TimedEvents
) -> tuple[tuple[Computed, ...], tuple[Aggregate, ...]]:
    columns, lost = events.row, set(events.lost)
    scope = rolling_scope(columns)
    values: dict[str, Computed] = {}
    aggregates: list[Aggregate] = []
    for name, text in spec.values:
        place = (*path, "values", name)
        found = context.expression(
            text,
            place,
            scope,
            failed=lost,
            rows=columns,
            first_aggregate=len(aggregates),
        )
        if name in values:
            message = f'column "{name}" appears twice'
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, key=True)
        elif found is None:
            lost.add(name)
        else:
            if name in columns:
                message = f'rolling replaces the column "{name}" of the event'
                hint = "Give the value another name if what the event has is needed later."
                context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, hint=hint, warning=True)
            values[name] = Computed(name, found[0])
            aggregates += (replace(each, goes=True) for each in found[1])
            scope[name] = found[0].type
    _check_leaving(context, aggregates, path)
    return tuple(values.values()), tuple(aggregates)


def _check_leaving(context: Context, aggregates: Sequence[Aggregate], path: Path) -> None:
    """Refuse an aggregate that cannot take an event back: each leaves after `over`."""
    for each in aggregates:
        function = GROUP_AGGREGATES.get(each.function)
        if function is not None and function.stays:
            message = f'"{each.function}" cannot take events back, and rolling columns do'
            hint = "Use a product that aggregates, over a window that does not slide."
            context.refuse("PLAN_AGGREGATE", message, (*path, "values"), hint=hint)


def seen_call_in(text: str) -> SeenCall | None:
    """Return what a condition asks of `seen`; what is not an expression asks nothing."""
    try:
        return read_seen(text)
    except ExpressionError:
        return None


def build_seen(
    context: Context, call: SeenCall, path: Path, events: TimedEvents
) -> SeenFilter | None:
    """Return a filter that asks what was seen, or None where its problem is noted."""
    known = len(context.problems)
    if call.problem:
        hint = "Write seen(column, for => '1d')."
        context.refuse("PLAN_STREAM", call.problem, path, hint=hint)
        return None
    check_time(context, "seen", path, events)
    _check_by(context, call.column, path, events)
    if remember(events.steps):
        message = '"seen" cannot follow a step that remembers events'
        hint = "Put the filter before that step."
        context.refuse("PLAN_STREAM", message, path, hint=hint)
    scope = {**events.row, SEEN: BOOLEAN}
    where = context.condition(call.condition, path, scope, events.lost, word="filter")
    time = events.relation.time
    if len(context.problems) > known or where is None or time is None or events.lost:
        return None
    return SeenFilter(call.column, time, call.for_us, where, events.logs)


def _check_by(context: Context, name: str, path: Path, events: TimedEvents) -> None:
    """Refuse what events cannot be counted by."""
    if name in events.lost:
        return
    if name not in events.row:
        message = f'the event has no column "{name}"'
        context.unknown("PLAN_UNKNOWN_COLUMN", message, path, name=name, known=events.row)
    elif is_personal(events.row[name]):
        message = f'events cannot be counted by "{name}", which is personal'
        hint = "Name columns that are not personal."
        context.refuse("PLAN_PERSONAL", message, path, hint=hint)
    elif not comparable(events.row[name]):
        message = f'events cannot be counted by "{name}", which is {events.row[name]}'
        hint = "Name columns of simple types."
        context.refuse("PLAN_TYPE_MISMATCH", message, path, hint=hint)


def check_time(context: Context, step: str, path: Path, events: TimedEvents) -> None:
    """Refuse events whose time is not there, or not what their logs say it is."""
    for each in events.logs:
        if each.time is None:
            message = f'"{step}" needs a time, and relation "{each.name}" has none'
            hint = f'Name its column: "time" of relation "{each.name}".'
            context.refuse("PLAN_STREAM", message, path, hint=hint)
            return
    times = sorted({each.time for each in events.logs if each.time is not None})
    if len(times) > 1:
        message = f'the events of stream "{events.stream}" have their times in two columns'
        detail = f'They are "{times[0]}" and "{times[1]}".'
        hint = "Give the relations a time column of one name, with derive."
        context.refuse("PLAN_STREAM", message, path, detail=detail, hint=hint)
    elif times[0] not in events.lost and _replaces(events.steps, times[0]):
        message = f'a step before "{step}" replaces the time "{times[0]}"'
        hint = "Keep the column, and compute under another name."
        context.refuse("PLAN_STREAM", message, path, hint=hint)
    elif times[0] not in events.lost and events.row.get(times[0]) != TIMESTAMP:
        message = f'the event no longer has its time "{times[0]}"'
        hint = "Keep the column until after the step."
        context.refuse("PLAN_STREAM", message, path, hint=hint)


def remember(steps: Sequence[Step]) -> bool:
    """Return whether an event may come from one of `steps` in a later batch than its own."""
    return any(
        isinstance(each, Rolling)
        or (isinstance(each, Lookup) and each.remembers)
        or (isinstance(each, Union) and remember(each.other.steps))
        for each in steps
    )


def _logs(relation: Relation, steps: Sequence[Step]) -> tuple[Relation, ...]:
    """Return the relations whose events have come through `steps`, each once."""
    logs = [relation]
    for each in steps:
        if isinstance(each, Union):
            logs += _logs(each.other.relation, each.other.steps)
    return tuple(dict.fromkeys(logs))


def _replaces(steps: Sequence[Step], column: str) -> bool:
    """Return whether a column may be another than the log's after `steps`."""
    return any(
        _replaces(each.other.steps, column) if isinstance(each, Union) else column in each.made
        for each in steps
    )
