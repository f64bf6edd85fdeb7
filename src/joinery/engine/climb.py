"""Which roots a batch affects: from the rows that changed upward, edge by edge.

Both images of a changed row climb, over the rows as they stood before the batch. That is
enough: a row that itself changed climbs from its own images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from joinery.engine.table import join_values
from joinery.model.change import Row
from joinery.model.type import Atomic, DataType
from joinery.plan.nodes import Computed, Expression, Node
from joinery.solutions.store import JoinState, Key

Image = tuple[Row | None, Row | None]
"""A row as products saw it before a batch, and as they see it afterwards."""

_PLAIN = tuple("boolean byte short int long string binary date timestamp timestamp_ntz".split())


class Climb:
    """Finds the affected roots of one product."""

    def __init__(self, root: Node) -> None:
        self._levels = [Level(node) for node in reversed(list(root.walk()))]
        self._parents = {embed.path: node for node in root.walk() for embed in node.embeds}

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return the keys of all roots whose document may show one of `images` of a relation."""
        found: dict[str, list[Sequence[Row]]] = defaultdict(list)
        for level in self._levels:
            touched = list(level.touched(images.get(level.node.relation.name, ())))
            values: set[Any] = set(level.values_of(touched))
            values.update(*map(level.values_of, found[level.path]))
            values.discard(None)
            parent = self._parents.get(level.path)
            if parent is None:
                return values
            if values:
                found[parent.path].append(
                    state.matching(parent.relation.name, level.parent_columns, values)
                )
        raise AssertionError("the last level is the root")


class Level:
    """One node: what of its relation's changes it shows, and how it leads to its parent."""

    def __init__(self, node: Node) -> None:
        self.node, self.path = node, node.path
        self.child_columns = tuple(pair.child for pair in node.on)
        columns = self.child_columns or node.relation.key
        self.values_of = join_values(node.relation, columns)
        self.parent_columns = tuple(pair.parent for pair in node.on)
        self._seen = seen_by(node)

    def touched(self, images: Iterable[Image]) -> Iterator[Row]:
        """Yield the images of rows of which this node sees a change."""
        seen = self._seen
        for old, new in images:
            if old is None or new is None or seen(old) != seen(new):
                if old is not None:
                    yield old
                if new is not None:
                    yield new


def seen_by(node: Node) -> Callable[[Row], Any]:
    """Return the function from a row to what a node sees of it; equal means the same object."""
    columns = columns_of(node)
    plain = [each for each in columns if _is_plain(node.relation.type_of(each))]
    rest = [each for each in columns if each not in plain]
    known = itemgetter(*plain) if plain else None
    if not rest and known is not None:
        return known
    # Zeros of both signs, and maps in another order, are equal and have other texts.
    return lambda row: (known(row) if known else (), repr([row[each] for each in rest]))


def columns_of(node: Node) -> tuple[str, ...]:
    """Return the columns of a node's relation that its objects, or its joins, depend on."""
    named = {pair.child for pair in node.on}
    named |= {pair.parent for embed in node.embeds for pair in embed.on}
    for expression in _expressions(node):
        named |= expression.references
    return tuple(
        each.name
        for each in node.relation.row.fields
        if each.name in named or each.name in node.relation.key
    )


def _expressions(node: Node) -> Iterator[Expression]:
    computed: tuple[Computed, ...] = (*node.fields, *node.values)
    yield from (each.expression for each in computed)
    yield from (each.expression for each in node.order)
    if node.where is not None:
        yield node.where


def _is_plain(kind: DataType) -> bool:
    return isinstance(kind, Atomic) and kind.name in _PLAIN
