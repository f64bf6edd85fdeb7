"""Lookups in state before lookups in a store, where their order makes no difference.

State is read inside the stream, a store after it, once a batch. So a lookup in state that
is declared behind one in a store goes before it, if nothing between the two matters to it.

Invariant: the events of the new order are those of the declared one, column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from joinery.model.type import Field
from joinery.plan.step import Lookup, Select, Step, stage_of
from joinery.plan.step_base import Names, kept


@dataclass(frozen=True, slots=True)
class Conflict:
    """A step that must come before a lookup in a store, and cannot."""

    message: str
    reason: str


def state_first(
    steps: Sequence[Step], columns: tuple[Field, ...], indexes: Names = frozenset()
) -> tuple[tuple[Step, ...], tuple[str, ...], Conflict | None]:
    """Return the steps in an order that can run, what was moved, and what cannot be.

    Args:
        steps: As declared.
        columns: What an event has before the first of them.
        indexes: The blind indexes that it has there; one that a step can use is there before, too.
    """
    order, notes = list(steps), list[str]()
    for index, step in enumerate(steps):
        first = next((i for i, each in enumerate(order) if stage_of(each) == "store"), len(order))
        if index < first or stage_of(step) != "state":
            continue
        store = order[first]
        assert isinstance(store, Lookup)  # nothing else queries a store
        known = frozenset(e.name for e in _columns(columns, order[:first])) | indexes
        reason = _obstacle(step, order[first:index], known)
        if reason:
            message = f"{step.told} comes after {store.told}"
            return tuple(steps), (), Conflict(message, reason)
        assert isinstance(step, Lookup)  # all else that runs in state is pinned
        given = tuple(Field(each.name, each.expression.type) for each in step.fields)
        order[first : index + 1] = [step, *(each.showing(given) for each in order[first:index])]
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
    return (*order, Select(kept(declared)))


def _columns(columns: tuple[Field, ...], steps: Sequence[Step]) -> tuple[Field, ...]:
    return reduce(lambda had, step: step.columns_after(had), steps, columns)


def _obstacle(step: Step, between: Sequence[Step], known: Names) -> str:
    """Return why `step` cannot go before `between`, where events have what is `known`."""
    if step.pinned:
        return step.pinned
    assert isinstance(step, Lookup)  # all else that runs in state is pinned
    needed = {pair.parent for pair in step.on}
    needed |= {step.event_time} if step.event_time else set()
    needed |= step.where.references - {e.name for e in step.fields} if step.where else set()
    for name in (each.name for each in step.fields):
        if name in known:
            return f'It replaces the column "{name}", which the steps before it may use.'
    for each in between:
        if reason := each.obstacle_to(step) or _between(step, each, needed):
            return reason
    missing = sorted(needed - known)
    return f'It needs the column "{missing[0]}", which does not exist before it.' if missing else ""


def _between(step: Lookup, other: Step, needed: set[str]) -> str:
    """Return what a lookup needs or gives that a step before it makes, too."""
    touched = sorted(needed & other.made)
    if touched:
        giver = f'lookup of "{other.table.name}"' if isinstance(other, Lookup) else "step"
        return f'It needs the column "{touched[0]}", which the {giver} before it gives.'
    again = sorted(other.made & {each.name for each in step.fields})
    return f'It gives the column "{again[0]}", as a step before it does.' if again else ""
