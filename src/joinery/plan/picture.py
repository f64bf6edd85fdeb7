"""A product's tree drawn as SVG: the document on top, below it what is embedded, indented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from joinery.model.type import LONG, Field
from joinery.plan.drawing import LINE, PAD, Card, arrow, legend, picture
from joinery.plan.nodes import Node, Product
from joinery.plan.render import edge_parts

_WIDTH, _INDENT, _GAP = 600, 44, 14
_LEGEND = (
    ("root", "document"),
    ("one", "one: an object or null"),
    ("many", "many: a list or a map"),
)


def svg(product: Product) -> str:
    """Return the picture of a product as one `svg` element."""
    cards = list(_cards(product.root, None, 0, PAD))
    parts = [arrow(_way(card, parent)) for card, parent in cards if parent is not None]
    parts += [card.draw() for card, _ in cards]
    bottom = cards[-1][0].bottom + PAD
    parts += legend(_LEGEND, bottom)
    width = max(card.right for card, _ in cards) + PAD
    return picture(f"The plan of {product.name}", parts, width, bottom + LINE + PAD)


def _cards(
    node: Node, parent: Card | None, depth: int, top: int
) -> Iterator[tuple[Card, Card | None]]:
    """Yield the card of `node` at `top` and those below it, each with its parent's."""
    title, notes = _told(node)
    card = Card(node.cardinality, title, tuple(notes), PAD + depth * _INDENT, top, _WIDTH)
    yield card, parent
    bottom = card.bottom
    for embed in node.embeds:
        for below, above in _cards(embed, card, depth + 1, bottom + _GAP):
            yield below, above
            bottom = below.bottom


def _way(card: Card, parent: Card) -> list[tuple[int, int]]:
    """Return the way from an embed into the document that holds it."""
    trunk = parent.x + _INDENT // 2
    return [(card.x, card.y + PAD + 8), (trunk, card.y + PAD + 8), (trunk, parent.bottom)]


def _told(node: Node) -> tuple[str, list[str]]:
    """Return a node's title and its notes."""
    return node.name, [f"{_kind(node)}, key {', '.join(node.relation.key)}", *_parts(node)]


def _kind(node: Node) -> str:
    match node.cardinality:
        case "root":
            return f"a document for each row of {node.relation.name}"
        case "one":
            return f"one row of {node.relation.name}, or null"
        case "many":
            return f"the rows of {node.relation.name}"


def _parts(node: Node) -> Iterator[str]:
    if node.on:
        yield from edge_parts(node)
    if node.where:
        yield f"where {node.where.sql}"
    if node.fields:
        fields = (Field(each.name, each.expression.type) for each in node.fields)
        yield f"fields: {typed_names(fields)}"
    totals = [each.total_name for each in node.embeds if each.total_name and not each.hidden]
    values = [Field(each.name, each.expression.type) for each in node.values]
    values += [Field(each, LONG) for each in totals]
    if values:
        yield f"values: {typed_names(values)}"


def typed_names(fields: Iterable[Field]) -> str:
    """Return names with their types."""
    return ", ".join(f"{each.name} {each.type}" for each in fields)
