"""How an embed hangs on its parent: as what, over which edge, with which inputs.

Everything here follows from the plan alone; nothing depends on the rest of a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import LONG, WHOLE_NUMBERS, Array, Atomic, DataType, Decimal, Map, Struct
from joinery.plan.node import Hot, Node
from joinery.plan.relation import JoinPair
from joinery.solutions.spark_state.assembler import AggregateColumn, ScopeName, Slot, Sql

# A Match numbers the pages of its parents and of each arm's children in four bits.
MAX_ARMS = 15
# How many embeds of a Fold may have pages of their own.
_MAX_PAGED = 128


def sql_over(expression: Expression, scope: Mapping[str, tuple[int, DataType]]) -> Sql:
    """Return an expression over the slots that `scope` gives its names."""
    names = tuple(
        ScopeName(name, *scope[name]) for name in sorted(expression.references) if name in scope
    )
    return Sql(expression.sql, names, expression.type)


def inputs_of(node: Node, embed: Node) -> list[Slot]:
    """Return what a Fold of `node` gives its assembler for one embed, in order."""
    slots = [] if shape_of(node, embed) == "none" else [Slot(embed.name, embed.type)]
    if embed.total_name and embed.cardinality == "many":
        slots.append(Slot(embed.total_name, LONG))
    if embed.hot_name:
        slots.append(Slot(embed.hot_name, Hot(embed).type))
    return slots + [Slot(each.name, each.type) for each in aggregates_of(node, embed)]


def aggregates_of(node: Node, embed: Node) -> list[Aggregate]:
    """Return the aggregates of `node` over one of its embeds."""
    return [each for each in node.aggregates if each.embed == embed.name]


def aggregate_columns(node: Node, embed: Node) -> tuple[AggregateColumn, ...]:
    """Return the aggregates over an embed, over the columns of its rows."""
    output = {each.name: (i, each.type) for i, each in enumerate(embed.output.fields)}
    return tuple(
        AggregateColumn(
            each.function,
            sql_over(each.argument, output) if each.argument else None,
            sql_over(each.filter, output) if each.filter else None,
            each.type,
        )
        for each in aggregates_of(node, embed)
    )


def shape_of(node: Node, embed: Node) -> Literal["one", "list", "map", "none"]:
    """How the Fold holds an embed; "none" where only its total and aggregates are used."""
    if embed.hidden and not _is_read(node, embed.name):
        return "none"
    match embed.type:
        case Array():
            return "list"
        case Map():
            return "map"
        case Struct():
            return "one"
        case Atomic() | Decimal():
            raise AssertionError(embed.type)  # an embed is an object, or holds objects


def _is_read(node: Node, name: str) -> bool:
    computed = (*node.fields, *node.values)
    expressions = [each.expression for each in computed] + [each.expression for each in node.order]
    if node.where:
        expressions.append(node.where)
    return any(name in each.references for each in expressions)


def is_total_used(node: Node, embed: Node) -> bool:
    """True where a change of the embed's total alone can change the document."""
    if embed.overflow == "fail" and embed.limit is not None:
        return True
    name = embed.total_name
    return name is not None and (not embed.hidden or _is_read(node, name))


def pair_of(embed: Node, *, child: str | None = None, parent: str | None = None) -> JoinPair:
    """Return the pair of an edge that has this child or this parent column."""
    return next(pair for pair in embed.on if child == pair.child or parent == pair.parent)


def is_lookup(embed: Node) -> bool:
    """True for a to-one edge over the child's whole key."""
    columns = [pair.child for pair in embed.on]
    if embed.within is not None or embed.as_of is not None:
        return False
    return embed.cardinality == "one" and sorted(columns) == sorted(embed.relation.key)


def is_fusible(node: Node, embed: Node) -> bool:
    """True where the Fold of the parent can hold the children itself."""
    if embed.through is not None or embed.as_of is not None:
        return False
    if not _is_key_of(embed.on, node):
        return False
    if embed.within is not None:
        return True
    if aggregates_of(node, embed) or shape_of(node, embed) == "none":
        return False
    return embed.limit is None if embed.cardinality == "many" else is_lookup(embed)


def is_gathered_by_fold(node: Node, embed: Node) -> bool:
    """True where the Fold of the parent can gather the children that rows lead it to.

    Without a limit they are many, and a Fold that showed all would read all of their pages.
    """
    through = embed.through
    if through is None or embed.limit is None or node.embeds.index(embed) >= _MAX_PAGED:
        return False
    return _is_key_of(through.on, node)


def _is_key_of(pairs: Sequence[JoinPair], node: Node) -> bool:
    """True where pairs name the parent's whole key, under which its Fold is kept."""
    if node.as_of is not None:
        return False  # It is kept version by version, which no child knows.
    if sorted(pair.parent for pair in pairs) != sorted(node.relation.key):
        return False
    return all(_same_code(pair.type, node.relation.type_of(pair.parent)) for pair in pairs)


def join_of(embed: Node) -> tuple[JoinPair, ...]:
    """Return the pairs of an edge in an order that the parent's columns alone decide."""
    return tuple(sorted(embed.on, key=lambda pair: (pair.parent, str(pair.type))))


def sharing(node: Node, embed: Node) -> tuple[Node, ...]:
    """Return the embeds that stand in one Match with `embed`, itself among them, in order."""
    alike = [each for each in node.embeds if _is_matched(node, each) and _hang_alike(each, embed)]
    start = alike.index(embed) // MAX_ARMS * MAX_ARMS
    return tuple(alike[start : start + MAX_ARMS])


def _is_matched(node: Node, embed: Node) -> bool:
    if embed.through is not None or embed.within is not None or embed.as_of is not None:
        return False
    return not is_fusible(node, embed) and not is_lookup(embed)


def _hang_alike(one: Node, other: Node) -> bool:
    """True where a row of the parent has one join value for both."""
    joins = ([(pair.parent, pair.type) for pair in join_of(each)] for each in (one, other))
    return next(joins) == next(joins)


def _same_code(one: DataType, other: DataType) -> bool:
    """True where both types give a value the same key code."""
    whole = all(isinstance(each, Atomic) and each.name in WHOLE_NUMBERS for each in (one, other))
    return whole or one == other
