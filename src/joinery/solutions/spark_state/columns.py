"""Finds the columns of each relation that the products of a query need.

What no product reads is not decoded, not sent and not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from joinery.plan.nodes import Node, Product, Relation


def needed_columns(products: Sequence[Product]) -> dict[str, tuple[Relation, frozenset[str]]]:
    """Return each relation by name, in tree order, with its needed columns, derived too."""
    needed: dict[str, tuple[Relation, set[str]]] = {}
    for product in products:
        for parent, node in _edges(None, product.root):
            columns = needed.setdefault(node.relation.name, (node.relation, set()))[1]
            columns.update(_read_by(node))
            columns.update(pair.child for pair in node.on)
            if parent is not None:
                needed[parent.relation.name][1].update(pair.parent for pair in node.on)
    return {name: (each, closed_columns(each, columns)) for name, (each, columns) in needed.items()}


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
    if relation.where is not None:
        needed |= relation.where.references
    for derived in reversed(relation.derived):
        if derived.name in needed:
            needed |= derived.expression.references
    return frozenset(needed & {each.name for each in relation.row.fields})
