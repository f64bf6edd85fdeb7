"""Parts of a plan in words: expressions under their names, aggregates, windows, scans."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from joinery.expression.typed import Aggregate
from joinery.model.type import quoted
from joinery.plan.aggregate import WINDOW_SECONDS
from joinery.plan.relation import Computed, Relation
from joinery.project.quantity import micros_text, span_text
from joinery.project.window import Cumulative, Hopping, Session, Sliding, Tumbling, Window

INDENT = "  "
LATE = {"correct": "correct", "dead_letter": "are dead letters", "drop": "are dropped"}
"""What becomes of late rows, as `emit` says it."""


def all_columns(relation: Relation) -> frozenset[str]:
    """Return the columns that a relation has, derived ones too."""
    return frozenset(each.name for each in relation.row.fields)


def window_text(window: Window) -> str:
    """Return a window in words."""
    match window:
        case Tumbling(size):
            text = f"windows of {span_text(size)}"
        case Hopping(size, every):
            text = f"windows of {span_text(size)} every {span_text(every)}"
        case Cumulative(size, every):
            text = f"windows up to {span_text(size)}, longer by {span_text(every)}"
        case Session(gap_us, max_us):
            most = "" if max_us is None else f", at most {micros_text(max_us)}"
            return f"sessions with gaps below {micros_text(gap_us)}{most}"
        case Sliding(size_us):
            return f"the last {micros_text(size_us)}"
    zone = f" in {window.zone}" if window.zone else ""
    return text + zone + (f" from {micros_text(window.offset_us)}" if window.offset_us else "")


def scan_lines(relation: Relation, used: frozenset[str]) -> Iterator[str]:
    """Yield what reads a relation, last first."""
    if relation.where is not None:
        yield f"Filter {relation.where.sql}"
    derived = tuple(each for each in relation.derived if each.name in used)
    if derived:
        yield f"Derive {computed_text(derived)}"
    columns, sealed = scanned(relation, used)
    if sealed:
        yield f"Derive and seal {computed_text(sealed)}"
    if relation.product is None:
        yield f"Scan {relation.name} [{columns}]"
    else:
        alias = "" if relation.name == relation.product.name else f" as {relation.name}"
        yield f"Read {relation.product.name}{alias} [{columns}]"


def scanned(relation: Relation, used: Collection[str]) -> tuple[str, tuple[Computed, ...]]:
    """Return the columns that records have, of those used, and those derived before sealing."""
    sealed = () if relation.personal is None else relation.personal.sealed_of(used)
    told = {*used}.difference(each.name for each in sealed)
    return ", ".join(each.name for each in relation.columns if each.name in told), sealed


def with_sources(relation: Relation, used: set[str]) -> set[str]:
    """Return `used` with the columns that its derived columns and the filter read."""
    found = used | (relation.where.references if relation.where else set())
    for derived in reversed(relation.derived):
        if derived.name in found:
            found |= derived.expression.references
    return found if relation.personal is None else {*relation.personal.inputs_of(found)}


def computed_text(pairs: Iterable[Computed]) -> str:
    """Return expressions under their names, a name alone where it stands for itself."""
    return ", ".join(_assignment(each) for each in pairs)


def _assignment(each: Computed) -> str:
    sql = each.expression.sql
    return sql if sql in (each.name, quoted(each.name)) else f"{each.name} = {sql}"


def values_text(values: Iterable[Computed], aggregates: Iterable[Aggregate]) -> str:
    """Return values under their names, the aggregates in them as calls."""
    calls = {each.name: aggregate_text(each) for each in aggregates}
    calls[WINDOW_SECONDS.name] = "window_seconds"
    text = computed_text(values)
    return _PLACEHOLDER.sub(lambda found: calls.get(found.group(), found.group()), text)


_PLACEHOLDER = re.compile(r"\b__\w+")


def aggregate_text(aggregate: Aggregate) -> str:
    """Return an aggregate as its call, over the names of its embed or its group."""
    argument = aggregate.argument.sql if aggregate.argument else aggregate.embed or "*"
    distinct = "distinct " if aggregate.distinct else ""
    most = "".join(f", {each:g}" for each in aggregate.numbers)
    call = f"{aggregate.function}({distinct}{argument}{most})"
    over = f"{call} over {aggregate.embed}" if aggregate.argument and aggregate.embed else call
    return f"{over} filter (where {aggregate.filter.sql})" if aggregate.filter else over
