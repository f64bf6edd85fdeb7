"""Where each part of a spec stands in its file.

A path names a part by what the user declares: `("relations", "user", "fields", "email")`.

Invariant: locations never take part in equality; a spec built in Python has none.
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
    """

    value: Location | None = None
    key: Location | None = None
    raw: str = ""


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
        return _advance(mark.value, mark.raw[: _place(mark.raw, offset)])


def _place(raw: str, offset: int) -> int:
    """Return the place in `raw` of character `offset` of its value.

    Folding and indentation change white space alone, so the others are counted.
    """
    quote = raw[0] if raw[0] in "'\"" else ""
    if quote or raw[0] not in _HEADERS:
        start = len(quote)
        if "\n" not in raw and "\\" not in raw and "''" not in raw[1:-1]:
            return min(start + offset, len(raw))
        return _skip(raw, start, offset, quote)
    return _skip(raw, raw.index("\n") if "\n" in raw else 0, offset, "")


def _skip(raw: str, place: int, offset: int, quote: str) -> int:
    """Return the place at which `offset` characters of the value have passed.

    White space in the file stands for at most one character of the value, and line breaks
    with their indentation for exactly one.
    """
    passed = 0
    while place < len(raw) and raw[place].isspace():
        place += 1
    while place < len(raw) and passed < offset:
        width = _width(raw, place, quote)
        place, passed = place + width, passed + 1
    return min(place, len(raw))


def _width(raw: str, place: int, quote: str) -> int:
    """Return how many characters of the file make the one of the value at `place`."""
    if quote == '"' and raw[place] == "\\":
        return 2
    if quote == "'" and raw.startswith("''", place):
        return 2
    end = place
    while end < len(raw) and raw[end].isspace():
        end += 1
    return end - place if "\n" in raw[place:end] else 1


def _advance(start: Location, text: str) -> Location:
    lines = text.split("\n")
    if len(lines) == 1:
        return Location(start.file, start.line, start.column + len(text))
    return Location(start.file, start.line + len(lines) - 1, len(lines[-1]) + 1)
