"""The plan of a stream as text, and in words how each lookup runs.

Lines stand in the order in which events pass them, as in a project file; what is indented
below a Lookup or a Union is its other side. Pairs of `on` name the table's column first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joinery.plan.explain.words import (
    INDENT,
    computed_text,
    scanned,
    values_text,
    with_sources,
)
from joinery.plan.relation import Relation
from joinery.plan.seen import SEEN
from joinery.plan.step import Filter, Lookup, MapRows, Select, Step, Union, WithColumns, beside
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.plan.whole import whole_ms, why_no_filter, why_not_whole
from joinery.project.quantity import duration_text, micros_text, offset_text


def render_stream(stream: Stream) -> str:
    """Return the plan of one stream.

    Example:
        >>> from joinery.model.type import LONG, Field
        >>> clicks = Relation("clicks", "", "clicks", "json", (), (Field("at", LONG),), append=True)
        >>> print(render_stream(Stream("views", clicks, columns=clicks.columns)))
        Scan clicks [at]
        Emit views by place
    """
    return "\n".join([*_lines(stream), _emit(stream)]) + "\n"


def step_text(step: Step) -> str:
    """Return one step as a line."""
    match step:
        case Filter(where):
            return f"Filter {where.sql}"
        case Select(fields):
            return f"Select {computed_text(fields)}"
        case WithColumns(fields):
            return f"With {computed_text(fields)}"
        case MapRows(_, output):
            return f"Map {step.name} -> {', '.join(each.name for each in output.fields)}"
        case Union(other):
            return f"Union {other.name}"
        case SeenFilter(column, _, for_us, where):
            call = f"seen({column}, for => '{micros_text(for_us)}')"
            # The name is padded to the length of the call in whose place it stands.
            asked = re.sub(rf"{SEEN} *(\)?)", lambda end: call + (end[1] or " "), where.sql)
            return f"Filter {asked.rstrip()}"
        case Rolling(by, _, over_us):
            values = values_text(step.values, step.aggregates)
            return f"Rolling {micros_text(over_us)} by {', '.join(by)} -> {values}"
        case Join(other, pairs, fields):
            on = ", ".join(f"{pair.child} = {pair.parent}" for pair in pairs)
            ends = (offset_text(step.within.from_us), offset_text(step.within.to_us))
            near = f"{step.other_time} from {ends[0]} to {ends[1]} of {step.time}"
            return f"Join {other.name} on {on}, {near} -> {computed_text(fields) or 'nothing'}"
        case Lookup():
            on = ", ".join(f"{pair.child} = {pair.parent}" for pair in step.on)
            return "; ".join([f"Lookup {step.table.name} on {on}", *switches(step)])


def switches(lookup: Lookup) -> list[str]:
    """Return what is said of a lookup, switch by switch."""
    if lookup.read == "event":
        return ["in the event already"]
    told = ["in state" if lookup.read == "state" else f"in {_store(lookup)}"]
    if lookup.as_of == "event":
        told.append(f"as of {lookup.event_time} by {lookup.valid_from}, {_late(lookup)}")
    if lookup.on_miss != "null":
        told.append(f"on miss: {_miss(lookup)}")
    if lookup.on_change != "keep":
        told.append(_change(lookup))
    return told


def runs(stream: Stream) -> list[str]:
    """Return how each lookup runs and what follows from that, and what the plan moved."""
    told: list[str] = []
    for each in stream.lookups:
        told.append(f"{each.table.name}: {_runs(each)}")
        told += [f"{each.table.name}: {why}" for why in _chosen(each)]
    for other in stream.united:
        told += runs(other)
    return told + list(stream.notes)


def _emit(stream: Stream) -> str:
    told = f"Emit {stream.name} by {', '.join(each.name for each in stream.key.fields)}"
    if stream.continued and not stream.sinks:
        told = told.removeprefix("Emit ")
        return f"Pass {told} to the streams that continue it"
    if stream.sinks:
        told += " to " + ", ".join(sink.kind for sink in stream.sinks)
    return told + (f", corrections marked in {stream.correction}" if stream.correction else "")


def _lines(stream: Stream) -> Iterator[str]:
    """Yield what is read, and the steps with what they read beside it."""
    yield from _scan(stream.relation, {each.name for each in stream.relation.row.fields})
    for step in stream.steps:
        yield step_text(step)
        match beside(step):
            case Lookup() as lookup:
                yield from (INDENT + line for line in _table(lookup))
                yield f"{INDENT}Project {computed_text(lookup.fields) or 'nothing'}"
            case Union(other):
                yield from (INDENT + line for line in _lines(other))
            case Join(other, _, fields):
                used = set(other.key).union(*(each.expression.references for each in fields))
                yield from (INDENT + line for line in _scan(other, used))
            case None:
                pass


def _table(lookup: Lookup) -> Iterator[str]:
    used = {*lookup.table.key, *({lookup.valid_from} if lookup.valid_from else set())}
    for each in lookup.fields:
        used |= each.expression.references
    yield from _scan(lookup.table, used)


def _scan(relation: Relation, used: set[str]) -> Iterator[str]:
    found = with_sources(relation, set(used))
    columns, sealed = scanned(relation, found)
    yield f"Scan {relation.name} [{columns}]"
    if sealed:
        yield f"Derive and seal {computed_text(sealed)}"
    derived = tuple(each for each in relation.derived if each.name in found)
    if derived:
        yield f"Derive {computed_text(derived)}"
    if relation.where is not None:
        yield f"Filter {relation.where.sql}"


def _store(lookup: Lookup) -> str:
    return lookup.store.kind if lookup.store else "a store"


def _late(lookup: Lookup) -> str:
    return "held" if lookup.late == "hold" else "corrected"


def _miss(lookup: Lookup) -> str:
    return (
        f"wait up to {duration_text(lookup.wait_ms or 0)}"
        if lookup.on_miss == "wait"
        else (lookup.on_miss.replace("_", " "))
    )


def _change(lookup: Lookup) -> str:
    word = lookup.on_change.replace("_", "-")
    told = f"on change: {word} for {duration_text(lookup.for_ms or 0)}"
    if lookup.every_ms is not None:
        told += f", every {duration_text(lookup.every_ms)}"
    return told + (f", where {lookup.where.sql}" if lookup.where else "")


def _runs(lookup: Lookup) -> str:
    """Return where a lookup's rows are, and what that means for replay and staleness."""
    if lookup.read == "event":
        return "nothing is looked up; the columns are checked"
    if lookup.read == "database":
        cache, limits = lookup.cache, lookup.limits
        rate = "" if limits.per_second is None else f", {limits.per_second:g} a second"
        return (
            f"{_store(lookup)} is queried once a batch, {limits.batch} keys a request,"
            f" {limits.concurrency} at once{rate}; an answer is at most"
            f" {duration_text(cache.ttl_ms)} old, and of now on replay"
        )
    key = ", ".join(lookup.table.key)
    told = f"its changes are kept as state under {key}, beside the events of the same key"
    if lookup.as_of == "processing":
        return f"{told}; on replay an event may meet a newer row"
    versions = _versions(lookup)
    if lookup.late == "correct":
        return f"{told}, {versions}; an event is sent at once and corrected"
    waits = f"an event waits until they are {duration_text(lookup.max_delay_ms)} past its time"
    if lookup.idle_ms is None:
        return f"{told}, {versions}; {waits}; the same on replay"
    quiet = f"or quiet for {duration_text(lookup.idle_ms)}"
    return f"{told}, {versions}; {waits}, {quiet}; but for the quiet the same on replay"


def _chosen(lookup: Lookup) -> list[str]:
    """Return what is chosen for a table that is small or lacks keys, or why nothing is."""
    if lookup.read == "event":
        return []
    if lookup.read == "database":
        return [_broadcast(lookup), _filtered(lookup)]
    return [
        "not broadcast, as its changes are state and events meet state by key;"
        " keys without a row are found absent by the state store's own filter"
    ]


def _broadcast(lookup: Lookup) -> str:
    """Return when a table of a store is broadcast, or why never."""
    if why := why_not_whole(lookup):
        return f"not broadcast, as {why}"
    return (
        f"broadcast while it has at most {lookup.limits.batch} rows, as to read it whole then"
        f" costs no more than one request for keys; read again once"
        f" {duration_text(whole_ms(lookup))} old"
    )


def _filtered(lookup: Lookup) -> str:
    """Return when there is a filter of all keys, or why never."""
    negative = duration_text(lookup.cache.negative_ms)
    told = f"a key without a row is not requested again for {negative}"
    if why := why_no_filter(lookup):
        return f"{told}; no filter of all keys, as {why}"
    return (
        f"{told}; once most keys have no row, all keys are read into a filter by one request,"
        f" and those that it lacks are not requested; read again once {negative} old"
    )


def _versions(lookup: Lookup) -> str:
    """Return which versions are kept."""
    if lookup.history_ms is None:
        return "all versions"
    return f"the versions of the last {duration_text(lookup.history_ms)} before its watermark"
