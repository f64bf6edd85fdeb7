"""What holds of every stream of a plan, checked after building.

A failure here is a defect of Joinery, not of a user's declaration.
"""

from __future__ import annotations

from collections.abc import Iterable

from joinery.errors import PlanError
from joinery.model.type import TIMESTAMP, Field
from joinery.plan.nodes import Computed, Expression
from joinery.plan.stream import (
    Filter,
    Lookup,
    MapRows,
    Select,
    Step,
    Stream,
    Union,
    WithColumns,
    columns_after,
)


def verify_stream(stream: Stream) -> None:
    """Check the invariants of `stream`.

    Raises:
        PlanError: Naming the first step that breaks one.
    """
    _require(stream.relation.append, stream, "it begins at a log of events")
    columns = stream.relation.row.fields
    asked = False
    for step in stream.steps:
        _step(stream, step, columns)
        kept = isinstance(step, Union) or (isinstance(step, Lookup) and step.read == "state")
        _require(not (asked and kept), stream, "state is read before a store is asked")
        asked = asked or (isinstance(step, Lookup) and step.read == "database")
        columns = columns_after(columns, step)
        names = [each.name for each in columns]
        _require(len(set(names)) == len(names), stream, "each column is there once")
    _require(columns == stream.columns, stream, "its columns are those of its last step")
    _require(stream.correction not in {each.name for each in columns}, stream, "its mark is new")


def _step(stream: Stream, step: Step, columns: tuple[Field, ...]) -> None:
    match step:
        case Lookup():
            _lookup(stream, step, columns)
        case Filter(where):
            _reads(stream, [where], columns)
            _require(str(where.type) == "boolean", stream, "a filter is a boolean")
        case Select(fields) | WithColumns(fields):
            _reads(stream, [each.expression for each in fields], columns)
        case Union(other):
            verify_stream(other)
            _require(other.columns == columns, stream, "united streams have the same columns")
            _require(other.key == stream.key, stream, "united events have the same kind of key")
        case MapRows():
            pass


def _lookup(stream: Stream, lookup: Lookup, columns: tuple[Field, ...]) -> None:
    types = {each.name: each.type for each in columns}
    joined = tuple(pair.child for pair in lookup.on)
    _require(joined == lookup.table.key, stream, "a lookup compares the table's key, in order")
    _require(all(pair.parent in types for pair in lookup.on), stream, "joined columns are there")
    _reads(stream, [each.expression for each in lookup.fields], lookup.table.row.fields)
    if lookup.where is not None:
        _reads(stream, [lookup.where], (*columns, *_made(lookup.fields)))
    remembers = lookup.on_change != "keep"
    _require(remembers == (lookup.for_ms is not None), stream, "what is remembered has an end")
    waits = lookup.on_miss == "wait"
    _require(waits == (lookup.wait_ms is not None), stream, "what waits has an end")
    stored = lookup.read == "database"
    _require(stored == (lookup.store is not None), stream, "a store is named where one is asked")
    _require(not (lookup.remembers and lookup.read != "state"), stream, "state alone remembers")
    versioned = lookup.as_of == "event"
    _require(versioned or lookup.history_ms is None, stream, "versions alone have a history")
    if versioned:
        valid_from = lookup.table.type_of(lookup.valid_from or "")
        timed = types.get(lookup.event_time or "") == TIMESTAMP == valid_from
        _require(timed, stream, "both sides of a temporal join have a time")


def _made(fields: tuple[Computed, ...]) -> tuple[Field, ...]:
    return tuple(Field(each.name, each.expression.type) for each in fields)


def _reads(stream: Stream, expressions: Iterable[Expression], columns: tuple[Field, ...]) -> None:
    known = {each.name for each in columns}
    for each in expressions:
        missing = sorted(each.references - known)
        _require(not missing, stream, f"what it reads is known, and {missing} is not")


def _require(holds: bool, stream: Stream, invariant: str) -> None:
    if not holds:
        raise PlanError(f'stream "{stream.name}" breaks the plan', detail=f"It needs: {invariant}.")
