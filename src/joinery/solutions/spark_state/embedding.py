"""Tells how an embed hangs on its parent: as what, over which edge, with which inputs.

Everything here follows from the plan alone; nothing depends on the rest of a program.

Finds the columns of each relation that the products of a query need.

What no product reads is not decoded, not sent and not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import LONG, Array, Atomic, DataType, Decimal, Map, Struct
from joinery.plan.aggregate import AggregateForm
from joinery.plan.history import HistoryForm
from joinery.plan.nodes import CLOCK, EVENT_TIME, Hot, JoinPair, Node, Product, Relation
from joinery.plan.search import SearchForm
from joinery.solutions.spark_state.assembler import AggregateColumn, ScopeName, Slot, Sql

# A Match numbers the pages of its parents and of each arm's children in four bits.
MAX_ARMS = 15
_WHOLE = frozenset({"byte", "short", "int", "long"})


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
    if node.as_of is not None:
        return False  # It is kept version by version, which no child knows.
    if sorted(pair.parent for pair in embed.on) != sorted(node.relation.key):
        return False
    for pair in embed.on:
        if not _same_code(pair.type, node.relation.type_of(pair.parent)):
            return False
    if embed.within is not None:
        return True
    if aggregates_of(node, embed) or shape_of(node, embed) == "none":
        return False
    return embed.limit is None if embed.cardinality == "many" else is_lookup(embed)


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
    whole = all(isinstance(each, Atomic) and each.name in _WHOLE for each in (one, other))
    return whole or one == other


def needed_columns(products: Sequence[Product]) -> dict[str, tuple[Relation, frozenset[str]]]:
    """Return each relation by name with its needed columns, derived too.

    They are in tree order, those that are products after those that are read from sources.
    """
    needed: dict[str, tuple[Relation, set[str]]] = {}
    for product in products:
        if isinstance(product.form, AggregateForm):
            relation = product.form.relation
            needed.setdefault(relation.name, (relation, set()))[1].update(rows_read(product.form))
            changelog, _ = relation.clock  # Of a product, what tells its windows' time.
            if changelog.time is not None:
                needed.setdefault(changelog.name, (changelog, set()))[1].add(changelog.time)
            continue
        if isinstance(product.form, HistoryForm):
            relation = product.form.relation
            needed.setdefault(relation.name, (relation, set()))[1].update(product.form.used)
            continue
        if isinstance(product.form, SearchForm):
            for relation in product.form.relations:  # Conditions may name any column.
                columns = {each.name for each in relation.row.fields}
                needed.setdefault(relation.name, (relation, set()))[1].update(columns)
            continue
        for parent, node in _edges(None, product.root):
            columns = needed.setdefault(node.relation.name, (node.relation, set()))[1]
            columns.update(_read_by(node))
            columns.update(pair.child for pair in node.on)
            if node.through is not None:
                relation = node.through.relation
                leading = needed.setdefault(relation.name, (relation, set()))[1]
                leading.update(pair.child for pair in node.through.on)
                leading.update(pair.parent for pair in node.on)
            if parent is not None:
                needed[parent.relation.name][1].update(pair.parent for pair in node.parent_on)
                if node.within is not None:
                    _need_times(needed, (parent.relation, node.relation))
                if node.as_of is not None and node.relation.time is not None:
                    needed[parent.relation.name][1].add(node.as_of)
                    columns.add(node.relation.time)
    ordered = sorted(needed.items(), key=lambda each: each[1][0].product is not None)
    return {name: (each, closed_columns(each, columns)) for name, (each, columns) in ordered}


def _need_times(
    needed: dict[str, tuple[Relation, set[str]]], relations: Iterable[Relation]
) -> None:
    """Add the times of relations, and of the changelogs that tell how far they have come."""
    for each in (*relations, *(each.clock[0] for each in relations)):
        if each.time is not None:
            needed.setdefault(each.name, (each, set()))[1].add(each.time)


def rows_read(form: AggregateForm) -> frozenset[str]:
    """Return the columns of the relation that its groups are made of."""
    # Also without windows: a time tells which rows are late.
    times = frozenset((form.relation.time,) if form.relation.time else ())
    read = times.union(*(each.references for each in expressions_of(form)))
    return read if form.where is None else read | form.where.references


def time_read(form: AggregateForm) -> tuple[str, ...]:
    """Return the column of a row's time, where its groups have windows."""
    if form.window is None:
        return ()
    assert form.relation.time is not None, "windows are over a relation with a time"
    return (form.relation.time,)


def expressions_of(form: AggregateForm) -> list[Expression]:
    """Return what is computed of each row: `by`, then arguments and filters of aggregates."""
    expressions = [each.expression for each in form.by]
    for aggregate in form.aggregates:
        expressions += [each for each in (aggregate.argument, aggregate.filter) if each]
    return expressions


def _edges(parent: Node | None, node: Node) -> Iterator[tuple[Node | None, Node]]:
    yield parent, node
    for embed in node.embeds:
        yield from _edges(node, embed)


def _read_by(node: Node) -> Iterator[str]:
    expressions = [each.expression for each in node.fields]
    expressions += [each.expression for each in node.order]
    if node.where is not None:
        expressions.append(node.where)
    for expression in expressions:
        yield from expression.references


def closed_columns(relation: Relation, columns: Collection[str]) -> frozenset[str]:
    """Return `columns` with the key, what `where` reads, and what needed derived columns read."""
    needed = set(columns) | set(relation.key)
    if relation.clocks is not None:
        clocks = relation.clocks  # What they tell is counted, whoever reads it.
        needed |= {CLOCK, EVENT_TIME, clocks.event, clocks.sent, clocks.received}
    if relation.where is not None:
        needed |= relation.where.references
    for derived in reversed(relation.derived):
        if derived.name in needed:
            needed |= derived.expression.references
    return frozenset(needed & {each.name for each in relation.row.fields})
