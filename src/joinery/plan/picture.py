"""A product's tree drawn as SVG: the document at the left, what is embedded to its right."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from joinery.plan.nodes import Node, Product
from joinery.plan.render import edge_parts

_WIDTH, _GAP_X, _GAP_Y, _LINE, _PAD = 250, 46, 18, 17, 10
_CHARACTERS = 36


@dataclass(frozen=True, slots=True)
class _Box:
    """A node with its place; `x` and `y` are its left upper corner in pixels."""

    node: Node
    lines: tuple[str, ...]
    x: int
    y: int
    below: tuple[_Box, ...]

    @property
    def height(self) -> int:
        return _LINE * len(self.lines) + 2 * _PAD

    @property
    def middle(self) -> int:
        return self.y + self.height // 2


def svg(product: Product) -> str:
    """Return the picture of a product as one `svg` element."""
    root, bottom = _place(product.root, 0, _PAD)
    depth = max(node.path.count("/") for node in product.root.walk())
    width = (depth + 1) * (_WIDTH + _GAP_X)
    label = escape(f"The plan of {product.name}", quote=True)
    drawn = "\n".join(_draw(root))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}"'
        f' viewBox="0 0 {width} {bottom}" width="{width}" height="{bottom}">\n{drawn}\n</svg>'
    )


def _place(node: Node, depth: int, top: int) -> tuple[_Box, int]:
    """Return the box of `node` below `top`, and where the next one may begin."""
    below: list[_Box] = []
    next_top = top
    for embed in node.embeds:
        box, next_top = _place(embed, depth + 1, next_top)
        below.append(box)
    lines = _lines(node)
    height = _LINE * len(lines) + 2 * _PAD
    y = max(top, (below[0].middle + below[-1].middle - height) // 2) if below else top
    box = _Box(node, lines, _PAD + depth * (_WIDTH + _GAP_X), y, tuple(below))
    return box, max(next_top, y + height + _GAP_Y)


def _lines(node: Node) -> tuple[str, ...]:
    kind = "document" if node.cardinality == "root" else node.cardinality
    key = ", ".join(node.relation.key)
    told = [f"{node.name}", f"{kind} of {node.relation.name} ({key})"]
    told += edge_parts(node) if node.on else []
    told += [f"where {node.where.sql}"] if node.where else []
    told.append("shows " + ", ".join(field.name for field in node.output.fields))
    return tuple(_cut(line) for line in told)


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"


def _draw(box: _Box) -> list[str]:
    parts = [
        f'<path d="M{child.x} {child.middle} C{child.x - 24} {child.middle},'
        f' {box.x + _WIDTH + 24} {box.middle}, {box.x + _WIDTH} {box.middle}"/>'
        for child in box.below
    ]
    parts.append(
        f'<rect class="{box.node.cardinality}" x="{box.x}" y="{box.y}" width="{_WIDTH}"'
        f' height="{box.height}" rx="6"/>'
    )
    for index, line in enumerate(box.lines):
        kind = "title" if index == 0 else "note"
        place = f'x="{box.x + _PAD}" y="{box.y + _PAD + 12 + index * _LINE}"'
        parts.append(f'<text class="{kind}" {place}>{escape(line)}</text>')
    return parts + [part for child in box.below for part in _draw(child)]
