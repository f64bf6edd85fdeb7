"""Where a row goes: the documents whose rows it joins, from its node up to the root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from joinery.model.change import Row
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.provenance.live_rows import LiveRows
from joinery.provenance.parts import key_of
from joinery.provenance.told import key_text
from joinery.semantics.rows import join_value


@dataclass(frozen=True, slots=True)
class Reach:
    """The documents that a row joins by way of one node.

    Attributes:
        path: Of the embed, `starred_repos.r`; empty where the row is the root.
        roots: The keys of their roots, as texts.
        left: How many records were not read, by relation; with any, roots may be missing.
        gone: What is gone of logs that no longer have all that was read of them, by relation;
            with any, roots may be missing.
    """

    product: str
    path: str
    roots: Sequence[str]
    left: Mapping[str, int] = field(default_factory=dict)
    gone: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "product": self.product,
            "path": self.path,
            "roots": [*self.roots],
            "left": dict(self.left),
            "gone": dict(self.gone),
        }


def reach_of(product: Product, relation: str, row: Row, rows: LiveRows) -> Iterator[Reach]:
    """Yield by which embeds a row goes into the documents of a product.

    A limit, or the `where` of a node, may keep it out of some of them all the same.
    """
    for way in ways(product.root):
        node = way[-1]
        path = node.path.partition("/")[2].replace("/", ".")
        starts: list[tuple[tuple[Node, ...], list[Row]]] = []
        if node.relation.name == relation:
            starts.append((way, [row]))
        if node.through is not None and node.through.relation.name == relation:
            starts.append((way[:-1], _parents_by(way, row, rows)))
        for begun, found in starts:
            roots = _up(begun, found, rows)
            keys = sorted({key_of(product.root, each) for each in roots})
            texts = tuple(key_text(product.root.relation, each) for each in keys)
            yield Reach(product.name, path, texts)


def ways(node: Node, above: tuple[Node, ...] = ()) -> Iterator[tuple[Node, ...]]:
    """Yield the way from a node to each below it, and to itself."""
    way = (*above, node)
    yield way
    for each in node.embeds:
        yield from ways(each, way)


def _up(way: tuple[Node, ...], found: list[Row], rows: LiveRows) -> list[Row]:
    """Return the roots above rows of the last node of a way."""
    while len(way) > 1:
        node = way[-1]
        if node.through is None:
            found = [parent for row in found for parent in _parents(way, node, row, rows)]
        else:
            between = node.through.relation.name, tuple(pair.parent for pair in node.on)
            columns = [pair.child for pair in node.on]
            leading = [
                each for row in found for each in rows.matching(*between, join_value(row, columns))
            ]
            found = [parent for each in leading for parent in _parents_by(way, each, rows)]
        way = way[:-1]
    return found


def _parents(way: tuple[Node, ...], node: Node, row: Row, rows: LiveRows) -> Sequence[Row]:
    columns = tuple(pair.parent for pair in node.on)
    value = join_value(row, [pair.child for pair in node.on])
    return rows.matching(way[-2].relation.name, columns, value)


def _parents_by(way: tuple[Node, ...], leading: Row, rows: LiveRows) -> list[Row]:
    """Return the rows above that a row of the relation between leads from."""
    through = way[-1].through
    assert through is not None
    columns = tuple(pair.parent for pair in through.on)
    value = join_value(leading, [pair.child for pair in through.on])
    return [*rows.matching(way[-2].relation.name, columns, value)]
