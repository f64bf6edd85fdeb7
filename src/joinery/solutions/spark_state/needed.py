"""Finds the columns of each relation that the products of a query need.

What no product reads is not decoded, not sent and not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, assert_never

from joinery.errors import PlanError
from joinery.expression.typed import Expression
from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.node import Node
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm, Product
from joinery.plan.relation import CLOCK, EVENT_TIME, Relation
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream

if TYPE_CHECKING:
    from joinery.plan.product import Form


def needed_columns(
    products: Sequence[Product], kept: Mapping[str, Collection[str]] = MappingProxyType({})
) -> dict[str, tuple[Relation, frozenset[str]]]:
    """Return each relation by name with its needed columns, derived too.

    They are in tree order, those that are products after those that are read from sources.

    Args:
        products: Those of a query.
        kept: The columns that a checkpoint has of relations, which stay, as does their order.
    """
    needed = Needed()
    for product in products:
        _need(needed, product.form)
    for name, (_, columns) in needed.items():
        columns.update(kept.get(name, ()))
    for relation, columns in needed.values():
        columns.update(sealing_columns(relation, columns))
    places = {name: place for place, name in enumerate(kept)}
    ordered = sorted(
        needed.items(),
        key=lambda each: (each[1][0].product is not None, places.get(each[0], len(places))),
    )
    return {name: (each, closed_columns(each, columns)) for name, (each, columns) in ordered}


def products_read(product: Product) -> frozenset[str]:
    """Return the products whose documents a product reads, by name."""
    read = (relation.product for relation, _ in needed_columns([product]).values())
    return frozenset(each.name for each in read if each is not None)


def sealing_columns(relation: Relation, columns: Collection[str]) -> set[str]:
    """Return what personal columns cannot be sealed without: what indexes are of, whose it is."""
    personal = relation.personal
    if personal is None:
        return set()
    asked = {*columns, *relation.key}
    pairs = (*personal.indexes, *personal.keys)
    needed = {name for name, index in pairs if index in asked}
    if not needed.union(asked) & {*personal.fields}:
        return needed
    read = personal.inputs_of(needed.union(asked)) - {each.name for each in personal.derived}
    return {*needed, *read, personal.subject, personal.key_of(personal.subject)}


class Needed(dict[str, tuple[Relation, set[str]]]):
    """Relations by name, with their needed columns."""

    def add(self, relation: Relation, columns: Iterable[str]) -> None:
        """Add columns of a relation, and the relation where it is new."""
        self.setdefault(relation.name, (relation, set()))[1].update(columns)

    def add_all(self, relation: Relation) -> None:
        """Add all columns of a relation, derived too."""
        self.add(relation, (each.name for each in relation.row.fields))

    def add_times(self, *relations: Relation) -> None:
        """Add the times of relations, and of the changelogs that tell how far they have come."""
        for each in (*relations, *(each.clock[0] for each in relations)):
            if each.time is not None:
                self.add(each, (each.time,))


def _need(needed: Needed, form: Form) -> None:
    match form:
        case DocumentForm(root) | OutboxForm(root):
            _need_tree(needed, root)
        case AggregateForm():
            needed.add(form.relation, rows_read(form))
            changelog, _ = form.relation.clock  # Of a product, what tells its windows' time.
            if changelog.time is not None:
                needed.add(changelog, (changelog.time,))
        case FoldForm():
            needed.add_all(form.relation)  # Events that differ in any column are a conflict.
        case HistoryForm():
            needed.add(form.relation, form.used)
        case PatternForm():
            read = {name for each in form.expressions() for name in each.references}
            read |= {pair.parent for each in form.rules for pair in each.on}
            needed.add(form.relation, read & {each.name for each in form.relation.row.fields})
            needed.add_times(form.relation)
            for rule in form.rules:
                needed.add_all(rule.relation)
        case SearchForm():
            for relation in form.relations:  # Conditions may name any column.
                needed.add_all(relation)
        case Stream():
            raise PlanError(f'stream "{form.name}" has a program of its own')
        case _:
            assert_never(form)


def _need_tree(needed: Needed, root: Node) -> None:
    for parent, node in _edges(None, root):
        needed.add(node.relation, (*_read_by(node), *(pair.child for pair in node.on)))
        if node.through is not None:
            leading = (pair.child for pair in node.through.on)
            needed.add(node.through.relation, (*leading, *(pair.parent for pair in node.on)))
        if parent is not None:
            needed.add(parent.relation, (pair.parent for pair in node.parent_on))
            if node.within is not None:
                needed.add_times(parent.relation, node.relation)
            if node.as_of is not None and node.relation.time is not None:
                needed.add(parent.relation, (node.as_of,))
                needed.add(node.relation, (node.relation.time,))


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
    known = {each.name for each in (*relation.columns, *relation.row.fields)}
    return frozenset(needed & known)
