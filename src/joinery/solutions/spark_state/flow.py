"""The ways that events take through a stream, and what they need of each relation.

A stream that unites others is several ways, which end alike.

Finds the columns of an event that the rest of a stream needs.

What no later step reads is left behind at the lookup before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from joinery.model.type import Field
from joinery.plan.relation import Relation
from joinery.plan.step import Filter, Lookup, MapRows, Select, Step, Union, WithColumns
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.solutions.spark_state.needed import sealing_columns

# What one assembler does with others, what has a node of its own, and either of the two.
ShapingStep = Filter | Select | WithColumns
NodeStep = Lookup | MapRows | Rolling | SeenFilter | Join
FlowStep = ShapingStep | NodeStep


def needed_before(
    stream: Stream, columns: Sequence[Field], steps: Sequence[Step]
) -> frozenset[str]:
    """Return which of `columns` are needed by `steps`, the last ones of a stream.

    Args:
        stream: What the steps end in.
        columns: What an event has before them.
        steps: All that are left.
    """
    had = [tuple(columns)]
    for step in steps:
        had.append(step.columns_after(had[-1]))
    needed = frozenset(each.name for each in stream.columns)
    for step, before in zip(reversed(steps), reversed(had[:-1]), strict=True):
        needed = step.needed_before(needed, frozenset(each.name for each in before))
    return needed


def live(steps: Sequence[ShapingStep], needed: Iterable[str]) -> tuple[ShapingStep, ...]:
    """Return steps between two nodes without the columns that nobody reads.

    What such a column is computed from may not be there: it is left behind, too.

    Args:
        steps: In order.
        needed: The columns that are read after them.
    """
    kept: list[ShapingStep] = []
    read = frozenset(needed)
    for step in reversed(steps):
        match step:
            case Select(fields) | WithColumns(fields):
                step = replace(step, fields=tuple(e for e in fields if e.name in read))
            case Filter():
                pass
        kept.append(step)
        read = step.needed_before(read, read)
    return tuple(reversed(kept))


@dataclass(frozen=True, slots=True)
class Flow:
    """The way of one relation's events through a stream, the streams it unites left out.

    Attributes:
        joins: Where its events make pairs with those of the stream's own log, which alone go
            on by `steps`.
    """

    relation: Relation
    stream: Stream
    steps: tuple[FlowStep, ...]
    joins: Join | None = None


def flows_of(stream: Stream) -> Iterator[Flow]:
    """Yield the ways of all events that a stream sends, its own first."""
    for relation, steps in _flows(stream.relation, stream.steps):
        yield Flow(relation, stream, steps)
    for step in stream.steps:
        if isinstance(step, Join):
            yield Flow(step.other, stream, (), step)


def _flows(
    relation: Relation, steps: Sequence[Step]
) -> Iterator[tuple[Relation, tuple[FlowStep, ...]]]:
    yield relation, _worked(steps)
    for index, step in enumerate(steps):
        if isinstance(step, Union):
            rest = _worked(steps[index + 1 :])
            for other, theirs in _flows(step.other.relation, step.other.steps):
                yield other, (*theirs, *rest)


def _worked(steps: Sequence[Step]) -> tuple[FlowStep, ...]:
    """Return the steps that do something to an event; a lookup in the event itself does not."""
    worked: list[FlowStep] = []
    for step in steps:
        match step:
            case Union() | Lookup(read="event"):
                pass
            case (
                Lookup()
                | Filter()
                | Select()
                | WithColumns()
                | MapRows()
                | Rolling()
                | SeenFilter()
                | Join()
            ):
                worked.append(step)
    return tuple(worked)


def split(
    steps: tuple[FlowStep, ...],
) -> tuple[tuple[ShapingStep, ...], NodeStep | None, tuple[FlowStep, ...]]:
    """Return the steps before the first that has a node, that one, and the steps after it."""
    before: list[ShapingStep] = []
    for index, step in enumerate(steps):
        match step:
            case Filter() | Select() | WithColumns():
                before.append(step)
            case Lookup() | MapRows() | Rolling() | SeenFilter() | Join():
                return tuple(before), step, steps[index + 1 :]
    return tuple(before), None, ()


def needed_relations(flows: Sequence[Flow]) -> dict[str, tuple[Relation, frozenset[str]]]:
    """Return each relation with the columns that are needed of it, in the order of reading."""
    needed: dict[str, tuple[Relation, frozenset[str]]] = {}

    def add(relation: Relation, columns: frozenset[str]) -> None:
        known = needed.get(relation.name, (relation, frozenset[str]()))[1]
        needed[relation.name] = (relation, known | columns)

    for flow in flows:
        columns = flow.relation.row.fields
        if flow.joins is not None:
            add(flow.relation, _read_of_other(flow.joins))
            continue
        add(flow.relation, needed_before(flow.stream, columns, flow.steps))
        for step in flow.steps:
            match step:
                case Lookup():
                    add(step.table, _read_of(step))
                case (
                    Filter()
                    | Select()
                    | WithColumns()
                    | MapRows()
                    | Rolling()
                    | SeenFilter()
                    | Join()
                ):
                    pass
    return {
        name: (relation, columns | sealing_columns(relation, columns))
        for name, (relation, columns) in needed.items()
    }


def _read_of_other(join: Join) -> frozenset[str]:
    read = frozenset(pair.child for pair in join.on) | {join.other_time, *join.other.key}
    return read.union(*(each.expression.references for each in join.fields))


def _read_of(lookup: Lookup) -> frozenset[str]:
    read = frozenset(pair.child for pair in lookup.on)
    if lookup.valid_from is not None:
        read |= {lookup.valid_from}
    return read.union(*(each.expression.references for each in lookup.fields))
