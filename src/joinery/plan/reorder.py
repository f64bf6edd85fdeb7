"""Lookups in state before lookups in a store, where their order makes no difference.

State is read inside the stream, a store after it, once a batch. So a lookup in state that
is declared behind one in a store goes before it, if nothing between the two matters to it.

Invariant: the events of the new order are those of the declared one, column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from joinery.expression.typed import column_expression
from joinery.model.type import Field
from joinery.plan.nodes import Computed
from joinery.plan.step import (
    Filter,
    Join,
    Lookup,
    MapRows,
    Rolling,
    SeenFilter,
    Select,
    Step,
    Union,
    WithColumns,
    stage_of,
)

_SENT_AGAIN = "An event that it sends later, or again, would query the store again."


@dataclass(frozen=True, slots=True)
class Conflict:
    """A step that must come before a lookup in a store, and cannot."""

    message: str
    reason: str


def state_first(
    steps: Sequence[Step], columns: tuple[Field, ...]
) -> tuple[tuple[Step, ...], tuple[str, ...], Conflict | None]:
    """Return the steps in an order that can run, what was moved, and what cannot be.

    Args:
        steps: As declared.
        columns: What an event has before the first of them.
    """
    order, notes = list(steps), list[str]()
    for index, step in enumerate(steps):
        first = next((i for i, each in enumerate(order) if stage_of(each) == "store"), len(order))
        if index < first or stage_of(step) != "state":
            continue
        store = order[first]
        assert isinstance(store, Lookup)  # nothing else queries a store
        reason = _obstacle(step, order[first:index], _columns(columns, order[:first]))
        if reason:
            return tuple(steps), (), Conflict(_message(step, store), reason)
        assert isinstance(step, Lookup)  # anything else is an obstacle of its own
        order[first : index + 1] = [step, *(_showing(each, step) for each in order[first:index])]
        notes.append(
            f"lookup {step.table.name} goes before lookup {store.table.name}:"
            " state is read in the stream, a store after it"
        )
    return _in_place(order, _columns(columns, steps), columns), tuple(notes), None


def _in_place(
    order: list[Step], declared: tuple[Field, ...], columns: tuple[Field, ...]
) -> tuple[Step, ...]:
    """Return `order`, its last columns in the places where the declared order has them."""
    if _columns(columns, order) == declared:
        return tuple(order)
    return (*order, Select(tuple(_itself(each) for each in declared)))


def _columns(columns: tuple[Field, ...], steps: Sequence[Step]) -> tuple[Field, ...]:
    return reduce(lambda had, step: step.columns_after(had), steps, columns)


def _message(step: Step, store: Lookup) -> str:
    return f'{_told(step)} comes after the lookup of "{store.table.name}" in a store'


def _told(step: Step) -> str:
    match step:
        case Lookup(read="state"):
            return f'the lookup of "{step.table.name}" in state'
        case Union(other):
            return f'the union with "{other.name}"'
        case Rolling():
            return "the step rolling"
        case Join():
            return f'the join with "{step.other.name}"'
        case SeenFilter():
            return f"the filter on seen({step.column})"
        case Lookup() | Filter() | Select() | WithColumns() | MapRows():
            raise AssertionError(step)  # may come after a store is queried


def _obstacle(step: Step, between: Sequence[Step], columns: tuple[Field, ...]) -> str:
    """Return why `step` cannot go before `between`, where events have `columns`."""
    match step:
        case Lookup():
            return _obstacle_to_lookup(step, between, columns)
        case Rolling() | Join():
            return _SENT_AGAIN
        case SeenFilter():
            return "What it has met is kept in the stream, before a store is queried."
        case Union():
            return "The events of both streams must be there before a store is queried."
        case Filter() | Select() | WithColumns() | MapRows():
            raise AssertionError(step)  # may come after a store is queried


def _obstacle_to_lookup(step: Lookup, between: Sequence[Step], columns: tuple[Field, ...]) -> str:
    if step.remembers:
        return _SENT_AGAIN
    known = {each.name: each.type for each in columns}
    needed = {pair.parent for pair in step.on}
    needed |= {step.event_time} if step.event_time else set()
    needed |= step.where.references - {e.name for e in step.fields} if step.where else set()
    for name in (each.name for each in step.fields):
        if name in known:
            return f'It replaces the column "{name}", which the steps before it may use.'
    for each in between:
        if reason := _between(step, each, needed):
            return reason
    missing = sorted(needed - known.keys())
    return f'It needs the column "{missing[0]}", which is not there before.' if missing else ""


def _between(step: Lookup, other: Step, needed: set[str]) -> str:
    giver = "step"
    match other:
        case MapRows():
            return f'The function "{other.name}" is between them and may use any column.'
        case Filter() | SeenFilter():
            if step.on_miss == "dead_letter":
                return "A filter between them decides which events may become dead letters."
        case Lookup():
            giver = f'lookup of "{other.table.name}"'
        case Select() | WithColumns() | Union() | Rolling() | Join():
            pass
    touched = sorted(needed & other.made)
    if touched:
        return f'It needs the column "{touched[0]}", which the {giver} before it gives.'
    again = sorted(other.made & {each.name for each in step.fields})
    return f'It gives the column "{again[0]}", as a step before it does.' if again else ""


def _showing(step: Step, moved: Lookup) -> Step:
    """Return `step` with the columns that now come before it shown as well."""
    match step:
        case Select(fields):
            made = (Field(each.name, each.expression.type) for each in moved.fields)
            return Select(fields + tuple(_itself(each) for each in made))
        case (
            Lookup()
            | Filter()
            | WithColumns()
            | MapRows()
            | Union()
            | Rolling()
            | SeenFilter()
            | Join()
        ):
            return step


def _itself(column: Field) -> Computed:
    """Return a column under its own name."""
    return Computed(column.name, column_expression(column.name, column.type))
