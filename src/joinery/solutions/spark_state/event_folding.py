"""Lowers what folds the events of a log: its node, and the assemblers of states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from joinery.expression.typed import Expression
from joinery.model.type import LONG, DataType, Field, Struct
from joinery.plan.fold import EVENT, FoldForm, Transition
from joinery.project.form import WaitEvents, WaitTime
from joinery.solutions.spark_state.assembler import Assembler, ScopeName, Slot, Sql
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.event_fold_program import EventFold, TransitionProgram
from joinery.solutions.spark_state.group_program import Closing
from joinery.solutions.spark_state.grouping import CLOSING_BUCKETS, idles
from joinery.solutions.spark_state.places import RelationUses

NUMBER, TIME = "number", "time"


def event_fold(
    name: str, form: FoldForm, uses: RelationUses, kept: Callable[[Assembler], int], *, product: int
) -> EventFold:
    """Return the node that folds a log.

    Args:
        name: The product.
        form: What it is.
        uses: The log's rows, and what they are for.
        kept: Keeps an assembler, and returns its place.
        product: The place of the product.
    """
    event = Struct(tuple(Field(slot.name, slot.type) for slot in uses.row))
    return EventFold(
        name=name,
        level=0,
        relation=uses.index,
        input=kept(event_assembler(name, uses.row, form)),
        by=len(form.by),
        timed=form.relation.time is not None,
        event_kind=uses.ordinal(form.kind),
        compared=tuple(uses.ordinal(each.name) for each in form.compared.fields),
        initial=kept(initial_assembler(name, form)),
        when=tuple(
            TransitionProgram(each.kind, kept(transition_assembler(name, event, form, each)))
            for each in form.when
        ),
        wait_micros=form.wait.us if isinstance(form.wait, WaitTime) else 0,
        product=product,
        wait_events=form.wait.count if isinstance(form.wait, WaitEvents) else None,
    )


def event_assembler(name: str, row: Sequence[Slot], form: FoldForm) -> Assembler:
    """Return what finds the state that an event is about, its number and its time.

    Args:
        name: The product.
        row: The relation's columns as products see them.
        form: What the product is.
    """
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
    number = slots[form.sequence]
    read = ScopeName(form.sequence, *number)
    steps = [sql_over(each.expression, slots) for each in form.by]
    steps.append(Sql(f"cast(`{form.sequence}` as bigint)", (read,), LONG))
    output = [len(row) + index for index in range(len(steps))]
    fields = [*form.key.fields, Field(NUMBER, LONG)]
    if form.relation.time is not None:
        time, kind = slots[form.relation.time]
        output.append(time)
        fields.append(Field(TIME, kind))
    return Assembler(
        name=f"{name}/events",
        own=tuple(row),
        inputs=(),
        steps=tuple(steps),
        where=None,
        order=(),
        output=tuple(output),
        type=_numbered(fields),
    )


def _numbered(fields: Sequence[Field]) -> Struct:
    """Return fields under names that no two of them have."""
    return Struct(tuple(Field(f"c{i}", each.type) for i, each in enumerate(fields)))


def initial_assembler(name: str, form: FoldForm) -> Assembler:
    """Return what makes the state before the first event, of one that is null throughout."""
    values = {each.name: each.initial for each in form.state if each.initial is not None}
    return _state_assembler(f"{name}/initial", form, (), values, {})


def transition_assembler(name: str, event: Struct, form: FoldForm, when: Transition) -> Assembler:
    """Return what makes the state after an event of a kind, of the one before and the event.

    Args:
        name: The product.
        event: The relation's columns as products see them.
        form: What the product is.
        when: What the kind assigns.
    """
    values = {each.name: each.expression for each in when.assigned}
    slots = {each.name: (index, each.type) for index, each in enumerate(form.state)}
    slots[EVENT] = (len(form.state), event)
    return _state_assembler(f"{name}/{when.kind}", form, (Slot(EVENT, event),), values, slots)


def _state_assembler(
    name: str,
    form: FoldForm,
    inputs: tuple[Slot, ...],
    values: Mapping[str, Expression],
    slots: Mapping[str, tuple[int, DataType]],
) -> Assembler:
    """Return what makes a state of another; columns that have no value here stay."""
    own = tuple(Slot(each.name, each.type) for each in form.state)
    assigned = {each: len(own) + len(inputs) + i for i, each in enumerate(values)}
    return Assembler(
        name=name,
        own=own,
        inputs=inputs,
        steps=tuple(sql_over(each, slots) for each in values.values()),
        where=None,
        order=(),
        output=tuple(assigned.get(slot.name, index) for index, slot in enumerate(own)),
        type=form.states,
    )


def waiting_of(name: str, form: FoldForm, *, relation: int, target: int) -> Closing | None:
    """Return what tells an EventFold that events have waited; None where none waits for a time.

    Where the clock decides, it tells only that the log has ended.

    Args:
        name: The product.
        form: What it is.
        relation: The place of the relation whose times tell the watermark.
        target: The place of its EventFold.
    """
    if not isinstance(form.wait, WaitTime) or form.wait.us == 0:
        return None
    return Closing(
        name=name,
        level=0,
        relation=relation,
        target=target,
        delay_micros=form.relation.delay_ms * 1000,
        allowed_micros=form.wait.us + 1,  # the watermark is to be past it, not at it
        buckets=CLOSING_BUCKETS,
        idles=idles(form.relation),
    )
