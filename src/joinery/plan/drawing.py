"""What the pictures of plans are made of: cards that wrap their lines, arrows, a legend.

Invariant: no text is cut, and each card tells its whole text as a tooltip.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

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
