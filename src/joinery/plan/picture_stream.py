"""A stream drawn as SVG: events go down from step to step, what they look up stands beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from joinery.model.type import Field
from joinery.plan.drawing import LINE, PAD, Card, arrow, legend, picture
from joinery.plan.picture import typed_names
from joinery.plan.render_stream import step_text, switches
from joinery.plan.stream import Lookup, Step, Stream, Union

_WIDTH, _TABLE, _GAP_X, _GAP_Y, _INDENT = 430, 250, 56, 24, 44
_FLOW = 22  # where the way from step to step runs, from a card's left edge
_LEGEND = (
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
    end = drawing.add(Card("root", stream.name, shown, PAD, bottom + _GAP_Y, _WIDTH))
    drawing.parts.append(_down(last, end))
    drawing.parts += legend(_LEGEND, end.bottom + PAD)
    height = end.bottom + LINE + 2 * PAD
    return picture(f"The plan of {stream.name}", drawing.parts, drawing.right + PAD, height)


def _flow(drawing: _Drawing, stream: Stream, x: int, y: int) -> tuple[Card, int]:
    """Draw a log and its steps from a corner down; return the last card and the lower end."""
    last = drawing.add(Card("root", stream.relation.name, _events(stream), x, y, _WIDTH))
    bottom = last.bottom
    for step in stream.steps:
        if isinstance(step, Union):
            other, bottom = _flow(drawing, step.other, x + _INDENT, bottom + _GAP_Y)
            card = _step(drawing, step, x, bottom + _GAP_Y)
            drawing.parts.append(_down(other, card))
        else:
            card = _step(drawing, step, x, bottom + _GAP_Y)
        drawing.parts.append(_down(last, card))
        last, bottom = card, card.bottom
        if isinstance(step, Lookup) and step.read != "event":
            bottom = max(bottom, _table(drawing, step, card))
    return last, bottom


def _step(drawing: _Drawing, step: Step, x: int, y: int) -> Card:
    kind = "many" if isinstance(step, Lookup) else "retract"
    title, *notes = _step_lines(step)
    return drawing.add(Card(kind, title, tuple(notes), x, y, _WIDTH))


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
    if not isinstance(step, Lookup):
        word, _, rest = step_text(step).partition(" ")
        yield from (word, rest)
        return
    yield f"Lookup {step.table.name}"
    yield "on " + ", ".join(f"{pair.child} = {pair.parent}" for pair in step.on)
    yield from switches(step)
    added = typed_names(Field(each.name, each.expression.type) for each in step.fields)
    yield f"adds {added or 'nothing'}"
