"""Lowers what a Group reads and makes: the assembler before it, the one after it, its aggregates.

Everything here follows from the plan alone; nothing depends on the rest of a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from joinery.errors import PlanError
from joinery.model.type import Field, Struct
from joinery.plan.aggregate import FINAL, WINDOW_SECONDS, AggregateForm
from joinery.project.window import Cumulative, Hopping, Session, Sliding, Tumbling, Window
from joinery.solutions.spark_state.embedding import expressions_of, sql_over, time_read
from joinery.solutions.spark_state.program import (
    AggregateColumn,
    Arm,
    Assembler,
    Closing,
    LateProgram,
    ScopeName,
    SessionProgram,
    Slot,
    Sql,
    WindowProgram,
)

# Their state cannot take a value back: where rows may go, the rows themselves are kept.
_NEED_ROWS = frozenset({"min", "max"})

# Each task tells as many addresses how far it has come.
CLOSING_BUCKETS = 16


def keeps_rows(form: AggregateForm) -> bool:
    """True where an aggregate cannot take a row back without the others."""
    if form.relation.append:
        return False
    return any(each.function in _NEED_ROWS for each in form.aggregates)


def input_assembler(name: str, row: Sequence[Slot], form: AggregateForm) -> Assembler:
    """Return what makes a Group's input of a row: `by`, the time, what the aggregates read.

    Args:
        name: The product.
        row: The relation's columns as products see them.
        form: What the product is.
    """
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
    expressions = expressions_of(form)
    steps = tuple(sql_over(each, slots) for each in expressions)
    computed = [len(row) + index for index in range(len(steps))]
    times = [slots[each][0] for each in time_read(form)]
    output = [*computed[: len(form.by)], *times, *computed[len(form.by) :]]
    types = [row[each].type if each < len(row) else steps[each - len(row)].type for each in output]
    return Assembler(
        name=f"{name}/rows",
        own=tuple(row),
        inputs=(),
        steps=steps,
        where=sql_over(form.where, slots) if form.where else None,
        order=(),
        output=tuple(output),
        type=Struct(tuple(Field(f"c{i}", each) for i, each in enumerate(types))),
    )


def arm_of(name: str, input_type: Struct, form: AggregateForm) -> Arm:
    """Return the aggregates over a Group's input."""
    place = len(form.by) + len(time_read(form))
    columns: list[AggregateColumn] = []
    for aggregate in form.aggregates:
        read: list[Sql | None] = []
        for each in (aggregate.argument, aggregate.filter):
            read.append(_column(place, input_type) if each else None)
            place += 1 if each else 0
        columns.append(AggregateColumn(aggregate.function, read[0], read[1], aggregate.type))
    return Arm(
        name=name,
        child_type=input_type,
        limit=0,
        one=False,
        entries=False,
        total=False,
        aggregates=tuple(columns),
        branch=0,
    )


def _column(place: int, row: Struct) -> Sql:
    field = row.fields[place]
    return Sql(field.name, (ScopeName(field.name, place, field.type),), field.type)


def group_assembler(name: str, form: AggregateForm) -> Assembler:
    """Return what makes a group's object of its key and its aggregates."""
    own = [Slot(each.name, each.type) for each in form.by]
    own += [Slot(each.name, each.type) for each in form.bounds]
    shown = list(range(len(own)))
    if form.window is not None:
        own.append(Slot(WINDOW_SECONDS.name, WINDOW_SECONDS.type))
    inputs = [Slot(each.name, each.type) for each in form.aggregates]
    values = [Slot(each.name, each.type) for each in form.values]
    places = {slot.name: (i, slot.type) for i, slot in enumerate([*own, *inputs])}
    given = len(own) + len(inputs)
    steps: list[Sql] = []
    for index, value in enumerate(form.values):
        above = {slot.name: (given + i, slot.type) for i, slot in enumerate(values[:index])}
        steps.append(sql_over(value.expression, places | above))
    if form.emit.when == "closed":
        steps.append(Sql("true", (), FINAL.type))
    return Assembler(
        name=name,
        own=tuple(own),
        inputs=tuple(inputs),
        steps=tuple(steps),
        where=None,
        order=(),
        output=(*shown, *(given + i for i in range(len(steps)))),
        type=form.output,
    )


def late_program(form: AggregateForm) -> LateProgram | None:
    """Return what becomes of rows that come late; None where that is not told.

    Of a relation whose rows change it is not: only where a row is kept it is known whether a
    change is stale, which is never late.
    """
    relation = form.relation
    if relation.time is None or not relation.append:
        return None
    return LateProgram(form.emit.late, _delay_micros(form), form.emit.allowed_us)


def closing_of(name: str, form: AggregateForm, *, relation: int, target: int) -> Closing | None:
    """Return what tells a Group that its windows are closed; None where it sends as they stand.

    Args:
        name: The product.
        form: What it is.
        relation: The place of its relation.
        target: The place of its Group.
    """
    if form.emit.when != "closed":
        return None
    return Closing(
        name=name,
        level=0,
        relation=relation,
        target=target,
        delay_micros=_delay_micros(form),
        allowed_micros=form.emit.allowed_us,
        buckets=CLOSING_BUCKETS,
    )


def _delay_micros(form: AggregateForm) -> int:
    watermark = form.relation.watermark
    return watermark.delay_ms * 1000 if watermark else 0


def window_program(window: Window | None) -> WindowProgram | None:
    """Return which windows hold a time; None where that does not follow from the time alone.

    Raises:
        PlanError: This solution does not keep such windows.
    """
    match window:
        case None:
            return None
        case Tumbling():
            return WindowProgram(
                "tumbling", window.size, window.size, window.offset_us, window.zone
            )
        case Hopping():
            return WindowProgram(
                "hopping", window.size, window.every, window.offset_us, window.zone
            )
        case Cumulative():
            return WindowProgram(
                "cumulative", window.size, window.every, window.offset_us, window.zone
            )
        case Session():
            return None
        case Sliding():
            raise PlanError("spark-state does not keep sliding windows yet")
        case _:
            assert_never(window)


def session_program(form: AggregateForm) -> SessionProgram | None:
    """Return what makes rows one session; None where groups are no sessions."""
    window = form.window
    if not isinstance(window, Session):
        return None
    divides = not form.relation.append or window.max_us is not None
    return SessionProgram(window.gap_us, window.max_us or 0, divides)
