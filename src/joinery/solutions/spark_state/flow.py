"""The ways that events take through a stream, and what they need of each relation.

A stream that unites others is several ways, which end alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joinery.plan.nodes import Relation
from joinery.plan.stream import Lookup, Step, Stream, Union
from joinery.solutions.spark_state.stream_columns import needed_before


@dataclass(frozen=True, slots=True)
class Flow:
    """The way of one relation's events through a stream, the streams it unites left out."""

    relation: Relation
    stream: Stream
    steps: tuple[Step, ...]


def flows_of(stream: Stream) -> Iterator[Flow]:
    """Yield the ways of all events that a stream sends, its own first."""
    for relation, steps in _flows(stream.relation, stream.steps):
        yield Flow(relation, stream, steps)


def _flows(
    relation: Relation, steps: Sequence[Step]
) -> Iterator[tuple[Relation, tuple[Step, ...]]]:
    yield relation, _worked(steps)
    for index, step in enumerate(steps):
        if isinstance(step, Union):
            rest = _worked(steps[index + 1 :])
            for other, theirs in _flows(step.other.relation, step.other.steps):
                yield other, (*theirs, *rest)


def _worked(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that do something to an event; a lookup in the event itself does not."""
    return tuple(
        each
        for each in steps
        if not isinstance(each, Union) and not (isinstance(each, Lookup) and each.read == "event")
    )


def needed_relations(flows: Sequence[Flow]) -> dict[str, tuple[Relation, frozenset[str]]]:
    """Return each relation with the columns that are needed of it, in the order of reading."""
    needed: dict[str, tuple[Relation, frozenset[str]]] = {}

    def add(relation: Relation, columns: frozenset[str]) -> None:
        known = needed.get(relation.name, (relation, frozenset[str]()))[1]
        needed[relation.name] = (relation, known | columns)

    for flow in flows:
        columns = flow.relation.row.fields
        add(flow.relation, needed_before(flow.stream, columns, flow.steps))
        for step in flow.steps:
            if isinstance(step, Lookup):
                add(step.table, _read_of(step))
    return needed


def _read_of(lookup: Lookup) -> frozenset[str]:
    read = frozenset(pair.child for pair in lookup.on)
    if lookup.valid_from is not None:
        read |= {lookup.valid_from}
    return read.union(*(each.expression.references for each in lookup.fields))
