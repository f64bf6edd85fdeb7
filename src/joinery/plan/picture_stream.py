"""A stream drawn as SVG: events flow from left to right, what they look up stands below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from joinery.plan.render_stream import step_text, switches
from joinery.plan.stream import Lookup, Step, Stream, Union

_WIDTH, _GAP_X, _GAP_Y, _LINE, _PAD = 220, 34, 30, 17, 10
_CHARACTERS = 31


@dataclass(frozen=True, slots=True)
class _Card:
    """A box with its lines; `x` and `y` are its left upper corner in pixels."""

    kind: str
    lines: tuple[str, ...]
    x: int
    y: int

    @property
    def height(self) -> int:
        return _LINE * len(self.lines) + 2 * _PAD

    @property
    def middle(self) -> int:
        return self.y + self.height // 2

    @property
    def centre(self) -> int:
        return self.x + _WIDTH // 2


def stream_svg(stream: Stream) -> str:
    """Return the picture of a stream as one `svg` element."""
    drawn, width, height = _draw(stream, _PAD)
    title = escape(f"The plan of {stream.name}", quote=True)
    body = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}"'
        f' viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n{body}\n</svg>'
    )


def _draw(stream: Stream, top: int) -> tuple[list[str], int, int]:
    """Return the elements of a stream whose cards begin at `top`, their width and their end."""
    cards = _cards(stream, top)
    floor = max(card.y + card.height for card in cards) + _GAP_Y
    drawn = [_arrow(left, right) for left, right in pairwise(cards)]
    drawn += [line for card in cards for line in _card(card)]
    width, bottom = cards[-1].x + _WIDTH + _PAD, floor - _GAP_Y + _PAD
    for card, step in zip(cards[1:], stream.steps, strict=False):
        if isinstance(step, Lookup) and step.read != "event":
            table = _Card("one", _table_lines(step), card.x, floor)
            drawn += [_rise(table, card), *_card(table)]
            bottom = max(bottom, floor + table.height + _PAD)
    for card, step in zip(cards[1:], stream.steps, strict=False):
        if isinstance(step, Union):
            inner, wide, end = _draw(step.other, bottom + _GAP_Y)
            drawn += [
                *inner,
                f'<path d="M{card.centre} {bottom + _GAP_Y} V{card.y + card.height}"/>',
            ]
            width, bottom = max(width, wide), end
    return drawn, width, bottom


def _cards(stream: Stream, top: int) -> list[_Card]:
    columns = ", ".join(each.name for each in stream.relation.row.fields)
    told: list[tuple[str, tuple[str, ...]]] = [("root", (stream.relation.name, "events", columns))]
    told += [(_kind(each), tuple(_step_lines(each))) for each in stream.steps]
    sinks = ", ".join(each.kind for each in stream.sinks) or "no sink"
    shown = ", ".join(each.name for each in stream.output.fields)
    told.append(("root", (stream.name, sinks, shown)))
    return [
        _Card(kind, tuple(_cut(line) for line in lines), _PAD + place * (_WIDTH + _GAP_X), top)
        for place, (kind, lines) in enumerate(told)
    ]


def _kind(step: Step) -> str:
    return "many" if isinstance(step, Lookup) else "retract"


def _step_lines(step: Step) -> Iterator[str]:
    if not isinstance(step, Lookup):
        word, _, rest = step_text(step).partition(" ")
        yield from (word, rest)
        return
    yield f"Lookup {step.table.name}"
    yield "on " + ", ".join(f"{pair.child} = {pair.parent}" for pair in step.on)
    yield from switches(step)
    yield "adds " + (", ".join(each.name for each in step.fields) or "nothing")


def _table_lines(lookup: Lookup) -> tuple[str, ...]:
    where = "its changes" if lookup.read == "state" else "a store"
    told = (lookup.table.name, where, "key " + ", ".join(lookup.table.key))
    return tuple(_cut(line) for line in told)


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"


def _arrow(left: _Card, right: _Card) -> str:
    return f'<path d="M{left.x + _WIDTH} {left.y + 22} H{right.x}"/>'


def _rise(table: _Card, card: _Card) -> str:
    return f'<path d="M{table.centre} {table.y} V{card.y + card.height}"/>'


def _card(card: _Card) -> list[str]:
    box = f'x="{card.x}" y="{card.y}" width="{_WIDTH}" height="{card.height}"'
    parts = [f'<rect class="{card.kind}" {box} rx="6"/>']
    for index, line in enumerate(card.lines):
        kind = "title" if index == 0 else "note"
        place = f'x="{card.x + _PAD}" y="{card.y + _PAD + 12 + index * _LINE}"'
        parts.append(f'<text class="{kind}" {place}>{escape(line)}</text>')
    return parts
