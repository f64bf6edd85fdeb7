"""Which columns, fields and values are never null, by the declaration alone.

Invariant: what is returned here is null in no document, whatever rows there are; anything else
may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from joinery.expression.typed import Aggregate, Apply, Constant, Expression, Read, Typed
from joinery.plan.aggregate import AggregateForm
from joinery.plan.history import IS_CURRENT, HistoryForm
from joinery.plan.node import Node
from joinery.plan.null_key import is_filled
from joinery.plan.relation import Computed, Relation
from joinery.plan.step import Filter, Lookup, MapRows, Select, Step, Union, WithColumns
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter

if TYPE_CHECKING:
    from joinery.plan.product import Form

Names = frozenset[str]


def filled_columns(relation: Relation) -> Names:
    """Return the columns of a relation's rows that are never null."""
    known = (frozenset(relation.key) - relation.nullable_key) | required(relation.where)
    for each in relation.derived:
        if is_filled(each.expression.typed, known):
            known |= {each.name}
    return known


def required(condition: Expression | None) -> Names:
    """Return the names that are not null where a condition is true."""
    return frozenset() if condition is None else _required(condition.typed)


def _required(typed: Typed | None) -> Names:
    match typed:
        case Apply("and", (first, second)):
            return _required(first) | _required(second)
        case Apply("not", (Apply("is null", (argument,)),)):
            return _read(argument)
        case _:
            return frozenset()


def _read(typed: Typed) -> Names:
    """Return the name that a value is, or is a field of: without it the value would be null."""
    match typed:
        case Read(name):
            return frozenset({name})
        case Apply("field", (of, Constant())):
            return _read(of)
        case _:
            return frozenset()


def filled_members(node: Node) -> Names:
    """Return the names of a node's objects that are never null: fields, embeds, values."""
    own = frozenset(each.name for each in node.values)
    ones = frozenset(each.name for each in node.embeds if each.cardinality == "one")
    asked = required(node.where)
    there = ones & (asked - own)
    columns = ((filled_columns(node.relation) | (asked - own)) - ones) | there
    fields = _filled(node.fields, columns)
    embeds = {name for each in node.embeds for name in _embedded(each, there)}
    hidden = {name for each in node.embeds if each.hidden for name in _embedded(each, there)}
    scope = (fields - {each.name for each in node.embeds}) | embeds | _counts(node.aggregates)
    values = (_with_values(node.values, scope) | asked) & own
    return fields | (embeds - hidden) | values


def _embedded(embed: Node, there: Names) -> Iterator[str]:
    """Yield what is never null of an embed, its total and its hot ones."""
    if embed.cardinality == "many" or embed.name in there:
        yield embed.name
    yield from (name for name in (embed.total_name, embed.hot_name) if name is not None)


def filled_outputs(form: Form) -> Names:
    """Return the names of what a form without a tree sends that are never null."""
    keys = frozenset(each.name for each in form.key.fields) - form.nullable_key
    match form:
        case AggregateForm():
            bounds = {each.name for each in form.bounds}
            final = {"final"} if form.waits else set()
            known = keys | bounds | final | _counts(form.aggregates)
            return _with_values(form.values, known)
        case HistoryForm():
            tracked = filled_columns(form.relation) & set(form.track)
            return keys | tracked | {IS_CURRENT.name}
        case Stream():
            return _after_steps(form) | ({form.correction} if form.correction else set())
        case _:
            return keys


def _counts(aggregates: Iterable[Aggregate]) -> Names:
    """Return the names of those that are a number also where there is no row."""
    plain = (each for each in aggregates if each.function == "count" and not each.distinct)
    return frozenset(each.name for each in plain)


def _with_values(values: Iterable[Computed], known: Names) -> Names:
    """Return the names that are never null with those of `values`, each of which sees the last."""
    for each in values:
        if is_filled(each.expression.typed, known):
            known |= {each.name}
        else:
            known -= {each.name}
    return known


def _after_steps(stream: Stream) -> Names:
    known = filled_columns(stream.relation)
    for each in stream.steps:
        known = _after(each, known)
    return known


def _after(step: Step, known: Names) -> Names:
    match step:
        case Filter(where):
            return known | required(where)
        case SeenFilter():
            return known
        case Select(fields):
            return _filled(fields, known)
        case WithColumns(fields):
            return (known - step.made) | _filled(fields, known)
        case Lookup() | Rolling() | Join():
            return known - step.made
        case MapRows():
            return frozenset()
        case Union(other):
            return known & _after_steps(other)


def _filled(fields: Iterable[Computed], known: Names) -> Names:
    return frozenset(each.name for each in fields if is_filled(each.expression.typed, known))
