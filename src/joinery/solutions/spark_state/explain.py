"""The part of an explanation that `spark-state` adds: its kernel program, told and drawn.

A kernel program drawn: levels as columns, changes at the left, documents at the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from joinery.plan.explain.page import Section
from joinery.plan.product import Product
from joinery.plan.support import missing
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.program import Inserts, KernelProgram
from joinery.solutions.spark_state.render import (
    SINKS,
    Arrow,
    arrows,
    keys,
    node_facts,
    render_program,
    sourced,
)

_WIDTH, _NARROW, _GAP_X, _GAP_Y, _LINE, _PAD, _HEAD = 238, 128, 46, 20, 17, 10, 26
_CHARACTERS, _BOLD_CHARACTERS, _NARROW_CHARACTERS = 36, 30, 18
_LANE = 9

_Content = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Box:
    """A relation, a node or a product with its place; `x`, `y` are its left upper corner."""

    kind: str
    lines: tuple[str, ...]
    x: int
    y: int
    column: int

    @property
    def right(self) -> int:
        return self.x + (_NARROW if self.kind == "note" else _WIDTH)

    @property
    def height(self) -> int:
        return _LINE * len(self.lines) + 2 * _PAD

    @property
    def middle(self) -> int:
        return self.y + self.height // 2


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Boxes by name, the lines between them, and the columns' heads and left edges."""

    boxes: dict[str, _Box]
    edges: tuple[tuple[str, str], ...]
    heads: tuple[str, ...]
    lefts: tuple[int, ...]

    @property
    def bottom(self) -> int:
        return max(box.y + box.height for box in self.boxes.values())

    def passes(self, edge: tuple[str, str]) -> bool:
        """True where a line passes a column."""
        return self.boxes[edge[1]].column - self.boxes[edge[0]].column > 1


def program_svg(program: KernelProgram) -> str:
    """Return the picture of a program as one `svg` element."""
    drawing = _place(program)
    width = drawing.boxes["sinks"].right + _PAD
    lanes = sum(drawing.passes(edge) for edge in drawing.edges)
    height = drawing.bottom + lanes * _LANE + 2 * _PAD
    parts = [*_lines(drawing), *_heads(drawing), *_boxes(drawing)]
    body = "\n".join(parts)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="The kernel program"'
        f' viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f"{body}\n</svg>"
    )


def program_mermaid(program: KernelProgram) -> list[str]:
    """Return a program as lines of a Mermaid flowchart, a subgraph a level."""
    lines = ["subgraph kernel [kernel program]", "  direction LR"]
    for level in range(1, program.levels + 1):
        lines.append(f"  subgraph level{level} [level {level}]")
        for index, node in enumerate(program.nodes):
            if node.level == level:
                text = "<br/>".join(_mermaid_text(each) for each in _title(program, index))
                lines.append(f'    k{index}["{text}"]')
        lines.append("  end")
    for index, relation in enumerate(program.decoded):
        lines.append(f'  c{index}[/"{_mermaid_text(relation.name)}"/]')
    lines += [f"  c{route.relation} --> k{route.node}" for route in sourced(program)]
    for index in range(len(program.nodes)):
        sender = _sender(program, index)
        for arrow in _distinct(program, index):
            if arrow.target == SINKS:
                lines.append(f"  {sender} --> documents([documents])")
            else:
                lines.append(f'  {sender} -->|"{_mermaid_text(_label(arrow))}"| k{arrow.target}')
    return [*lines, "end"]


def _mermaid_text(text: str) -> str:
    for char, code in (("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(char, code)
    return text


def _sender(program: KernelProgram, index: int) -> str:
    """Return the name of the box that sends what a node sends: of Inserts it is the relation's."""
    node = program.nodes[index]
    return f"c{node.relation}" if isinstance(node, Inserts) else f"k{index}"


def _distinct(program: KernelProgram, index: int) -> tuple[Arrow, ...]:
    return tuple(dict.fromkeys(arrows(program, index)))


def _label(arrow: Arrow) -> str:
    return f"{arrow.what} by {arrow.by}" if arrow.by else arrow.what


def _title(program: KernelProgram, index: int) -> tuple[str, ...]:
    node = program.nodes[index]
    return (type(node).__name__, node.name, f"by {keys(program)[index]}")


def _place(program: KernelProgram) -> _Drawing:
    """Stack the relations, then each level, then the sinks, as columns."""
    boxes: dict[str, _Box] = {}
    columns = list(_columns(program))
    lefts = [_PAD]
    for number in range(1, len(columns)):
        lefts.append(lefts[-1] + (_NARROW if number == 1 else _WIDTH) + _GAP_X)
    tallest = max(sum(_height(lines) for _, _, lines in column) for column in columns)
    for number, column in enumerate(columns):
        y = _HEAD + (tallest - sum(_height(lines) for _, _, lines in column)) // 2
        for name, kind, lines in column:
            boxes[name] = _Box(kind, lines, lefts[number], y, number)
            y += _height(lines)
    levels = [f"level {level}" for level in range(1, program.levels + 1)]
    heads = ("changes", *levels, "documents")
    return _Drawing(boxes, tuple(_edges(program)), heads, tuple(lefts))


def _columns(program: KernelProgram) -> Iterator[list[_Content]]:
    """Yield what stands in each column: name, kind and lines of each box."""
    yield [(f"c{i}", "note", (each.name,)) for i, each in enumerate(program.decoded)]
    for level in range(1, program.levels + 1):
        yield [
            (f"k{i}", node.kind, _told(program, i))
            for i, node in enumerate(program.nodes)
            if node.level == level
        ]
    yield [("sinks", "note", tuple(each.name for each in program.products))]


def _height(lines: tuple[str, ...]) -> int:
    return _LINE * len(lines) + 2 * _PAD + _GAP_Y


def _told(program: KernelProgram, index: int) -> tuple[str, ...]:
    node = program.nodes[index]
    kind, name, key = _title(program, index)
    return (f"{kind} {name}", key, *node_facts(program, node))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"


def _edges(program: KernelProgram) -> Iterator[tuple[str, str]]:
    told = [(f"c{route.relation}", f"k{route.node}") for route in sourced(program)]
    for index in range(len(program.nodes)):
        for arrow in arrows(program, index):
            target = "sinks" if arrow.target == SINKS else f"k{arrow.target}"
            told.append((_sender(program, index), target))
    return iter(dict.fromkeys(told))


def _lines(drawing: _Drawing) -> Iterator[str]:
    """Draw the lines between columns; one that passes a column goes by below all boxes."""
    lane = drawing.bottom
    for edge in drawing.edges:
        one, other = drawing.boxes[edge[0]], drawing.boxes[edge[1]]
        if not drawing.passes(edge):
            yield f'<path d="M{one.right} {one.middle} {_bend(one.right, one.middle, other)}"/>'
            yield _head(other)
            continue
        lane += _LANE
        enter, leave = drawing.lefts[one.column + 1], drawing.lefts[other.column] - _GAP_X
        down = f"C{one.right + 32} {one.middle}, {enter - 32} {lane}, {enter} {lane}"
        yield (
            f'<path d="M{one.right} {one.middle} {down} L{leave} {lane}'
            f' {_bend(leave, lane, other)}"/>'
        )
        yield _head(other)


def _bend(x: int, y: int, box: _Box) -> str:
    return f"C{x + 32} {y}, {box.x - 32} {box.middle}, {box.x} {box.middle}"


def _head(box: _Box) -> str:
    """Draw the head of an arrow that ends at a box."""
    return f'<path class="head" d="M{box.x} {box.middle} l-8 -4 v8 z"/>'


def _heads(drawing: _Drawing) -> Iterator[str]:
    for number, head in enumerate(drawing.heads):
        yield f'<text class="note" x="{drawing.lefts[number]}" y="14">{escape(head)}</text>'


def _boxes(drawing: _Drawing) -> Iterator[str]:
    """Draw the boxes; a line that is cut is whole in the tooltip."""
    for box in drawing.boxes.values():
        told = escape("\n".join(box.lines))
        yield (
            f'<g><title>{told}</title><rect class="{box.kind}" x="{box.x}" y="{box.y}"'
            f' width="{box.right - box.x}" height="{box.height}" rx="6"/>'
        )
        for index, line in enumerate(box.lines):
            kind = "title" if index == 0 else "note"
            most = _BOLD_CHARACTERS if index == 0 else _CHARACTERS
            text = escape(_cut(line, _NARROW_CHARACTERS if box.kind == "note" else most))
            place = f'x="{box.x + _PAD}" y="{box.y + _PAD + 12 + index * _LINE}"'
            yield f'<text class="{kind}" {place}>{text}</text>'
        yield "</g>"


SOLUTION = "spark-state"


def explain_query(products: Sequence[Product]) -> tuple[Section, ...]:
    """Return the kernel program of one query; nothing for an outbox or another solution.

    Args:
        products: All products of the query.
    """
    if any(each.solution != SOLUTION or each.outbox or missing(each) for each in products):
        return ()
    program = lower(products)
    title = "kernel"
    if len(products) > 1:
        title += f" of {', '.join(each.name for each in products)}"
    return (
        Section(
            title,
            render_program(program),
            svg=program_svg(program),
            mermaid=tuple(program_mermaid(program)),
        ),
    )
