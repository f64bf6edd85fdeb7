"""The columns that the edges of some products join on, on either side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from joinery.plan.nodes import Node, Product

Sides = Mapping[str, set[tuple[str, ...]]]


def join_sides(products: Sequence[Product]) -> Sides:
    """Return, by relation, the sets of columns that are not its primary key."""
    sides: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for product in products:
        _add_sides(product.root, sides)
    return sides


def _add_sides(node: Node, sides: defaultdict[str, set[tuple[str, ...]]]) -> None:
    for embed in node.embeds:
        parents = tuple(pair.parent for pair in embed.on)
        children = tuple(pair.child for pair in embed.on)
        if set(parents) != set(node.relation.key):
            sides[node.relation.name].add(parents)
        if set(children) != set(embed.relation.key):
            sides[embed.relation.name].add(children)
        _add_sides(embed, sides)
