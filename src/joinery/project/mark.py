"""Where each part of a spec stands in its file.

A path names a part by what the user declares: `("relations", "user", "fields", "email")`.

Invariant: locations never take part in equality; of a spec built in Python they are lines alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from joinery.errors import Location

Path = tuple[str | int, ...]
_HEADERS = "|>"


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stands, and how it is written there.

    Attributes:
        value: Where the value begins; None when it was not read from a file.
        key: Where its name stands; None for an element of a list.
        raw: The characters of a scalar as the file has them, quotes included.
        text: The scalar they stand for.
    """

    value: Location | None = None
    key: Location | None = None
    raw: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Locations:
    """The marks of one project, by path."""

    marks: Mapping[Path, Mark] = field(default_factory=dict)

    def locate(self, path: Path, *, key: bool = False) -> Location | None:
        """Return the place of `path`, or of the longest part of it that is known.

        Args:
            path: The part to find.
            key: Whether its name is wanted instead of its value.
        """
        for length in range(len(path), -1, -1):
            mark = self.marks.get(path[:length])
            if mark is not None:
                wants_key = key and length == len(path)
                return (mark.key or mark.value) if wants_key else mark.value
        return None

    def within(self, path: Path, offset: int) -> Location | None:
        """Return the place of the character `offset` (from 0) of the scalar at `path`.

        A scalar that takes environment variables is located as a whole.
        """
        mark = self.marks.get(path)
        if mark is None or mark.value is None or not mark.raw or "${" in mark.raw:
            return self.locate(path)
        return _advance(mark.value, mark.raw[: _place(mark.raw, mark.text, offset)])


def _place(raw: str, text: str, offset: int) -> int:
    """Return the place in `raw` of character `offset` of `text`.

    Folding and indentation change white space alone, so the other characters are counted.
    """
    quote = raw[0] if raw[0] in "'\"" else ""
    place = raw.index("\n") if raw[0] in _HEADERS and "\n" in raw else len(quote)
    before = sum(not each.isspace() for each in text[:offset])
    while place < len(raw):
        width = _width(raw, place, quote)
        if not _white(raw, place, quote):
            if before == 0:
                return place
            before -= 1
        place += width
    return place


def _width(raw: str, place: int, quote: str) -> int:
    """Return how many characters of the file make the one at `place`."""
    escaped = quote == '"' and raw[place] == "\\"
    return 2 if escaped or (quote and quote == "'" and raw.startswith("''", place)) else 1


def _white(raw: str, place: int, quote: str) -> bool:
    """Say whether the character at `place` is white space, escaped or not."""
    if quote == '"' and raw[place] == "\\":
        return raw[place + 1 : place + 2] in ("n", "t", "r", " ", "\n")
    return raw[place].isspace()


def _advance(start: Location, text: str) -> Location:
    lines = text.split("\n")
    if len(lines) == 1:
        return Location(start.file, start.line, start.column + len(text))
    return Location(start.file, start.line + len(lines) - 1, len(lines[-1]) + 1)
