"""Lowers what a Group reads and makes: the assembler before it, the one after it, its aggregates.

Everything here follows from the plan alone; nothing depends on the rest of a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from joinery.expression.aggregate import EMBED_AGGREGATES
from joinery.expression.group_aggregate import GROUP_AGGREGATES, MOST_VALUES
from joinery.expression.sketch import bloom_of, precision_of, steps_of
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import Field, Struct
from joinery.plan.aggregate import FINAL, WINDOW_SECONDS, AggregateForm
from joinery.plan.node import Node
from joinery.plan.pattern import PatternForm
from joinery.plan.relation import Relation
from joinery.project.window import Cumulative, Hopping, Session, Sliding, Tumbling, Window
from joinery.semantics.rows import YEARS
from joinery.solutions.spark_state.assembler import AggregateColumn, Assembler, ScopeName, Slot, Sql
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.group_program import (
    Closing,
    Cuts,
    Deadlines,
    LateProgram,
    SessionProgram,
    SlidingProgram,
    WindowProgram,
)
from joinery.solutions.spark_state.needed import expressions_of, time_read

# Over rows that go, the values themselves are kept.
BY_VALUE = frozenset(
    {
        "count_distinct",
        *(name for name, each in EMBED_AGGREGATES.items() if not each.adds_up),
        *(name for name, each in GROUP_AGGREGATES.items() if not each.adds_up),
    }
)
ORDERED = frozenset({"first", "last", "collect"})

# The years whose times tell when a row happened, as `EventTime` of the kernel has them.
_FIRST_TIME = f"timestamp '{YEARS[0]}-01-01T00:00:00Z'"
_AFTER_LAST_TIME = f"timestamp '{YEARS[-1] + 1}-01-01T00:00:00Z'"

# Each task tells as many addresses how far it has come.
CLOSING_BUCKETS = 16


def input_assembler(name: str, row: Sequence[Slot], form: AggregateForm) -> Assembler:
    """Return what makes a Group's input of a row.

    Args:
        name: The product.
        row: The relation's columns as products see them.
        form: What the product is.
    """
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
    read = [sql_over(each, slots) for each in [*_grouped(form), *_read(form)]]
    computed = [len(row) + index for index in range(len(read))]
    times = [slots[each][0] for each in time_read(form)]
    order_times = [_event_time(row, slots[each][0]) for each in _order_times(form)]
    steps = (*read, *order_times)
    ordered = [len(row) + index for index in range(len(read), len(steps))]
    ordered += [slots[each][0] for each in _order_key(form)]
    output = [*computed[: len(form.by)], *times, *computed[len(form.by) :], *ordered]
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


def _grouped(form: AggregateForm) -> list[Expression]:
    return [each.expression for each in form.by]


def _read(form: AggregateForm) -> list[Expression]:
    """Return what the aggregates read of a row, each once."""
    return list(dict.fromkeys(expressions_of(form)[len(form.by) :]))


def _order_times(form: AggregateForm) -> tuple[str, ...]:
    """Return the column of the time by which a group's rows are ordered, where anything is."""
    time = form.relation.time
    return () if time is None or not _is_ordered(form) else (time,)


def _order_key(form: AggregateForm) -> tuple[str, ...]:
    """Return the columns that order rows of one time."""
    return form.relation.key if _is_ordered(form) else ()


def _is_ordered(form: AggregateForm) -> bool:
    return any(each.function in ORDERED for each in form.aggregates)


def _event_time(row: Sequence[Slot], place: int) -> Sql:
    """Return a time, null where it tells none, as 9999-12-31 for never: such rows come first."""
    name, kind = row[place].name, row[place].type
    column = f"`{name.replace('`', '``')}`"
    sql = f"case when {column} >= {_FIRST_TIME} and {column} < {_AFTER_LAST_TIME} then {column} end"
    return Sql(sql, (ScopeName(name, place, kind),), kind)


def group_aggregates(row: Struct, form: AggregateForm) -> tuple[AggregateColumn, ...]:
    """Return the aggregates over a Group's input, whose row is as `input_assembler` makes it."""
    first = len(form.by) + len(time_read(form))
    places = {each: first + index for index, each in enumerate(_read(form))}
    order = tuple(range(first + len(places), len(row.fields)))
    columns = []
    for each in form.aggregates:
        function = kept_as(each)
        columns.append(
            AggregateColumn(
                function,
                _column(places[each.argument], row) if each.argument else None,
                _column(places[each.filter], row) if each.filter else None,
                each.type,
                by_value=not form.relation.append and function in BY_VALUE,
                order=order if function in ORDERED else (),
                numbers=kernel_numbers(each),
            )
        )
    return tuple(columns)


def kernel_numbers(aggregate: Aggregate) -> tuple[float, ...]:
    """Return the numbers that the kernel needs to keep an aggregate."""
    given = aggregate.numbers
    match aggregate.function:
        case "approx_count_distinct" if aggregate.goes:
            return (MOST_VALUES,)
        case "approx_count_distinct":
            return (precision_of(given[0]),)
        case "distinct_sketch":
            return (precision_of(given[0]), MOST_VALUES)
        case "approx_quantile":
            return (steps_of(given[1]), given[0])
        case "quantile_sketch":
            return (steps_of(given[0]),)
        case "approx_top_k":
            return (given[0], MOST_VALUES)
        case "bloom":
            return bloom_of(int(given[0]), given[1])
        case _:
            return given


def kept_as(aggregate: Aggregate) -> str:
    """Return the name by which the kernel knows an aggregate."""
    if aggregate.function == "approx_count_distinct" and aggregate.goes:
        return "count_distinct"
    return f"{aggregate.function}_distinct" if aggregate.distinct else aggregate.function


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


def late_program(form: AggregateForm | PatternForm, *, time: int | None) -> LateProgram | None:
    """Return what becomes of rows that come late; None where that is not told.

    The rows of a product are never late: what they are made of was judged.

    Args:
        form: What the product is.
        time: The place of a row's time among the columns of the relation; None for none.
    """
    relation, emit = form.relation, form.emit
    if time is None or relation.product is not None:
        return None
    forgets = isinstance(form, PatternForm) or form.window is not None
    retention_us = emit.retention_us if forgets else -1
    return LateProgram(emit.late, time, relation.delay_ms * 1000, emit.allowed_us, retention_us)


def closing_of(
    name: str, form: AggregateForm | PatternForm, place: int, *, relation: int, target: int
) -> tuple[Closing | Cuts, ...]:
    """Return what tells a Group that its windows are closed, or how far they have slid.

    There is none where a Group sends its windows as they stand and no time alters them. A Pattern
    is told that the time of a match is over.

    Args:
        name: The product.
        form: What it is.
        place: Of the first that is returned.
        relation: The place of the relation whose times tell the watermark.
        target: The place of its Group or Pattern.
    """
    slides = isinstance(form, AggregateForm) and isinstance(form.window, Sliding)
    waits = form.waits if isinstance(form, PatternForm) else form.emit.when == "closed"
    if not waits and not slides:
        return ()
    closing = Closing(
        name=name,
        level=0,
        relation=relation,
        target=target,
        delay_micros=form.relation.clock[1] * 1000,
        allowed_micros=0 if slides else form.emit.allowed_us,
        buckets=CLOSING_BUCKETS,
        idles=idles(form.relation),
    )
    return (closing, Cuts(name, 0, target, place)) if _is_cut(form) else (closing,)


def decider_of(
    root: Node,
    relation: Relation,
    after_us: int,
    relations: Mapping[str, int],
    *,
    target: int,
    before: bool = False,
) -> Closing | Deadlines:
    """Return what tells a root's Fold which documents the watermark of a relation decides.

    Args:
        root: What the documents are of.
        relation: The one by whose watermark they are decided.
        after_us: How far it has to be past the time of the root.
        relations: The places of relations, by name.
        target: The place of the Fold.
        before: Whether it is to stand before the Fold where it could stand beside it, too.
    """
    clock, behind_ms = relation.clock
    other, other_ms = root.relation.clock
    behind_us = (other_ms - other.delay_ms) * 1000
    # What tasks are told of the time before a batch is of a relation's own log, and a partition is
    # idle by the clock, which a level hears of from an address that has a timer.
    own = clock.name == relation.name and behind_ms == relation.delay_ms
    allowed_us = after_us + 1  # the watermark is to be past it, not at it
    if own and not before and not idles(relation):
        return Deadlines(
            name=root.path,
            level=0,
            relation=relations[clock.name],
            target=target,
            delay_micros=behind_ms * 1000,
            allowed_micros=allowed_us,
        )
    return Closing(
        name=root.path,
        level=0,
        relation=relations[clock.name],
        target=target,
        delay_micros=behind_ms * 1000,
        allowed_micros=allowed_us,
        buckets=CLOSING_BUCKETS,
        idles=idles(relation),
        other=relations[other.name] if idles(relation) else None,
        other_behind_micros=(behind_us or None) if idles(relation) else None,
    )


def idles(relation: Relation) -> bool:
    """Return whether a partition of the changelog that tells a relation's time may be idle."""
    watermark = relation.clock[0].watermark
    return watermark is not None and watermark.idle_ms is not None


def window_program(window: Window | None) -> WindowProgram | None:
    """Return which windows hold a time; None where that does not follow from the time alone."""
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
        case Session() | Sliding():
            return None
        case _:
            assert_never(window)


def session_program(form: AggregateForm) -> SessionProgram | None:
    """Return what makes rows one session; None where groups are not sessions."""
    window = form.window
    if not isinstance(window, Session):
        return None
    divides = not form.relation.append or window.max_us is not None
    return SessionProgram(window.gap_us, window.max_us or 0, divides)


def _is_cut(form: AggregateForm | PatternForm) -> bool:
    """Return whether sessions are cut where they are too long."""
    window = form.window if isinstance(form, AggregateForm) else None
    return isinstance(window, Session) and window.max_us is not None


def sliding_program(window: Window | None) -> SlidingProgram | None:
    """Return how long a time groups hold; None where they do not slide."""
    return SlidingProgram(window.size_us) if isinstance(window, Sliding) else None
