"""A product's tree drawn as SVG: the document on top, below it what is embedded, indented.

What the pictures of plans are made of: cards that wrap their lines, arrows, a legend.

Invariant: no text is cut, and each card tells its whole text as a tooltip.

A stream drawn as SVG: events go down from step to step, what they look up stands beside.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from joinery.model.type import LONG, Field, typed_names
from joinery.plan.explain.document import edge_parts
from joinery.plan.explain.form import Shown, shown
from joinery.plan.explain.stream import step_text, switches
from joinery.plan.node import Hot, Node
from joinery.plan.product import DocumentForm, OutboxForm, Product
from joinery.plan.step import Lookup, Step, Union, beside
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join

LINE, PAD = 17, 10
_CHARACTER = 6.7  # the mean width of a character in pixels, with some to spare
_HEAD = 4


@dataclass(frozen=True, slots=True)
class Card:
    """A box with its lines, the title first; `x` and `y` are its left upper corner in pixels."""

    kind: str
    title: str
    notes: tuple[str, ...]
    x: int
    y: int
    width: int

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines as drawn; what a longer one goes on with is indented."""
        room = int((self.width - 2 * PAD) / _CHARACTER)
        told = (self.title, *self.notes)
        return tuple(
            line
            for each in told
            for line in textwrap.wrap(each, room, subsequent_indent="\u2003") or [each]
        )

    @property
    def height(self) -> int:
        """In pixels."""
        return LINE * len(self.lines) + 2 * PAD

    @property
    def bottom(self) -> int:
        """The lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> int:
        """Half way down."""
        return self.y + self.height // 2

    @property
    def right(self) -> int:
        """The right edge."""
        return self.x + self.width

    def draw(self) -> str:
        """Return the card as one `g` element."""
        told = escape("\n".join((self.title, *self.notes)))
        parts = [
            f"<g><title>{told}</title>",
            f'<rect class="{self.kind}" x="{self.x}" y="{self.y}" width="{self.width}"'
            f' height="{self.height}" rx="6"/>',
        ]
        for index, line in enumerate(self.lines):
            kind = "title" if index == 0 else "note"
            place = f'x="{self.x + PAD}" y="{self.y + PAD + 12 + index * LINE}"'
            parts.append(f'<text class="{kind}" {place}>{escape(line)}</text>')
        return "".join([*parts, "</g>"])


def arrow(points: Sequence[tuple[int, int]]) -> str:
    """Return a line through `points`, upright or level, with a head at its end."""
    (x, y), (end_x, end_y) = points[-2:]
    line = " L".join(f"{each_x} {each_y}" for each_x, each_y in points)
    if x == end_x:
        back = -2 * _HEAD if end_y > y else 2 * _HEAD
        head = f"l{-_HEAD} {back} h{2 * _HEAD} z"
    else:
        back = -2 * _HEAD if end_x > x else 2 * _HEAD
        head = f"l{back} {-_HEAD} v{2 * _HEAD} z"
    return f'<path d="M{line}"/><path class="head" d="M{end_x} {end_y} {head}"/>'


def legend(entries: Iterable[tuple[str, str]], y: int) -> list[str]:
    """Return what the colours mean, as a row of swatches with texts."""
    parts: list[str] = []
    x, y = PAD, y + 6
    for kind, text in entries:
        parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="12" height="12" rx="3"/>')
        parts.append(f'<text class="note" x="{x + 18}" y="{y + 10}">{escape(text)}</text>')
        x += 18 + int(len(text) * _CHARACTER) + 16
    return parts


def picture(title: str, parts: Iterable[str], width: int, height: int) -> str:
    """Return one `svg` element, which shrinks where the page is narrower."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img"'
        f' aria-label="{escape(title, quote=True)}"'
        f' viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' style="max-width: 100%; height: auto">\n{body}\n</svg>'
    )


_WIDTH, _INDENT, _GAP = 600, 44, 14
_LEGEND = (
    ("root", "document"),
    ("one", "one: an object or null"),
    ("many", "many: a list or a map"),
)


def svg(product: Product) -> str:
    """Return the picture of a product as one `svg` element."""
    match product.form:
        case DocumentForm(root) | OutboxForm(root):
            return _tree_svg(product, root)
        case Stream():
            return stream_svg(product.form)
        case flat:
            return _flat_svg(product, shown(flat, product.solution))


def _tree_svg(product: Product, root: Node) -> str:
    cards = list(_cards(root, None, 0, PAD))
    parts = [arrow(_way(card, parent)) for card, parent in cards if parent is not None]
    parts += [card.draw() for card, _ in cards]
    bottom = cards[-1][0].bottom + PAD
    parts += legend(_LEGEND, bottom)
    width = max(card.right for card, _ in cards) + PAD
    return picture(f"The plan of {product.name}", parts, width, bottom + LINE + PAD)


def _flat_svg(product: Product, form: Shown) -> str:
    """Return the picture of a product that shows no rows of its relations as they are."""
    notes = (*form.notes, typed_names(product.output.fields))
    cards = [Card("root", product.name, notes, PAD, PAD, _WIDTH)]
    for kind, name, _ in form.cards:
        cards.append(Card(kind, name, (), PAD + _INDENT, cards[-1].bottom + _GAP, _WIDTH))
    end, *read = cards
    parts = [*(arrow(_way(each, end)) for each in read), *(each.draw() for each in cards)]
    meant = (("root", form.word), *((kind, what) for kind, _, what in form.cards))
    parts += legend(meant, read[-1].bottom + PAD)
    height = read[-1].bottom + LINE + 2 * PAD
    return picture(f"The plan of {product.name}", parts, read[-1].right + PAD, height)


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
    shown = [each for each in node.embeds if not each.hidden]
    values = [Field(each.name, each.expression.type) for each in node.values]
    values += [Field(each.total_name, LONG) for each in shown if each.total_name]
    values += [Field(each.hot_name, Hot(each).type) for each in shown if each.hot_name]
    if values:
        yield f"values: {typed_names(values)}"


_WIDE, _TABLE, _GAP_X, _GAP_Y, _SIDE = 430, 250, 56, 24, 44
_FLOW = 22  # where the way from step to step runs, from a card's left edge
_STREAM_LEGEND = (
    ("root", "events in and out"),
    ("many", "lookup"),
    ("one", "table"),
    ("retract", "other steps"),
)


@dataclass(slots=True)
class _Drawing:
    """What was drawn so far, and how far it reaches."""

    parts: list[str] = field(default_factory=list)
    right: int = 0

    def add(self, card: Card) -> Card:
        self.parts.append(card.draw())
        self.right = max(self.right, card.right)
        return card


def stream_svg(stream: Stream) -> str:
    """Return the picture of a stream as one `svg` element."""
    drawing = _Drawing()
    last, bottom = _flow(drawing, stream, PAD, PAD)
    sinks = ", ".join(each.kind for each in stream.sinks)
    notes = (f"to {sinks}" if sinks else "no sink", f"key {_key(stream)}")
    shown = (*notes, typed_names(stream.output.fields))
    end = drawing.add(Card("root", stream.name, shown, PAD, bottom + _GAP_Y, _WIDE))
    drawing.parts.append(_down(last, end))
    drawing.parts += legend(_STREAM_LEGEND, end.bottom + PAD)
    height = end.bottom + LINE + 2 * PAD
    return picture(f"The plan of {stream.name}", drawing.parts, drawing.right + PAD, height)


def _flow(drawing: _Drawing, stream: Stream, x: int, y: int) -> tuple[Card, int]:
    """Draw a log and its steps from a corner down; return the last card and the lower end."""
    last = drawing.add(Card("root", stream.relation.name, _events(stream), x, y, _WIDE))
    bottom = last.bottom
    for step in stream.steps:
        match beside(step):
            case Join() | None:
                last = _step(drawing, step, x, bottom + _GAP_Y, above=(last,))
                bottom = last.bottom
            case Lookup() as lookup:
                last = _step(drawing, step, x, bottom + _GAP_Y, above=(last,))
                bottom = max(last.bottom, _table(drawing, lookup, last))
            case Union(other):
                end, bottom = _flow(drawing, other, x + _SIDE, bottom + _GAP_Y)
                last = _step(drawing, step, x, bottom + _GAP_Y, above=(end, last))
                bottom = last.bottom
    return last, bottom


def _step(drawing: _Drawing, step: Step, x: int, y: int, *, above: Iterable[Card]) -> Card:
    """Draw a step and the ways to it."""
    kind = "many" if isinstance(step, Lookup) else "retract"
    title, *notes = _step_lines(step)
    card = drawing.add(Card(kind, title, tuple(notes), x, y, _WIDE))
    drawing.parts += [_down(each, card) for each in above]
    return card


def _table(drawing: _Drawing, lookup: Lookup, card: Card) -> int:
    """Draw the table beside its lookup; return its lower edge."""
    notes = (_where(lookup), f"key {', '.join(lookup.table.key)}")
    place = card.right + _GAP_X, card.y
    table = drawing.add(Card("one", lookup.table.name, notes, *place, _TABLE))
    level = card.y + min(card.height, table.height) // 2
    drawing.parts.append(arrow([(table.x, level), (card.right, level)]))
    return table.bottom


def _where(lookup: Lookup) -> str:
    if lookup.read == "state":
        return "its changes, kept as state"
    return f"a store: {lookup.store.kind}" if lookup.store else "a store"


def _down(above: Card, below: Card) -> str:
    """Return the way from a card to the next one."""
    return arrow([(above.x + _FLOW, above.bottom), (above.x + _FLOW, below.y)])


def _events(stream: Stream) -> tuple[str, ...]:
    key = ", ".join(stream.relation.key)
    return (f"events, key {key}" if key else "events", typed_names(stream.relation.row.fields))


def _key(stream: Stream) -> str:
    return ", ".join(each.name for each in stream.key.fields)


def _step_lines(step: Step) -> Iterator[str]:
    """Yield a step's line, from its word on; a lookup's part by part."""
    if not isinstance(step, Lookup):
        word, _, rest = step_text(step).partition(" ")
        yield from (word, rest)
        return
    yield f"Lookup {step.table.name}"
    yield "on " + ", ".join(f"{pair.child} = {pair.parent}" for pair in step.on)
    yield from switches(step)
    added = typed_names(Field(each.name, each.expression.type) for each in step.fields)
    yield f"adds {added or 'nothing'}"
