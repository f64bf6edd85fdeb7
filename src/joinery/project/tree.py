"""A declaration as a tree of scalars, lists and maps that know where they stand.

Both doors lead here: `load` makes a tree from YAML, `declare` from Python values.

Where each part of a spec stands in its file.

A path names a part by what the user declares: `("relations", "user", "fields", "email")`.

Invariant: locations never take part in equality; a spec built in Python has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isroutine
from pathlib import PurePath
from typing import ClassVar

from joinery.errors import Location
from joinery.project.function import function_name

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


class FromEnvironment(str):
    """A text that environment variables are part of, perhaps secret ones.

    Attributes:
        written: What stands in the file, such as `${DATABASE}`.
    """

    written: str

    @classmethod
    def of(cls, text: str, written: str) -> FromEnvironment:
        """Return the text that something written stands for."""
        made = cls(text)
        made.written = written
        return made


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number, boolean or null; `text` is what was written, without quotes."""

    value: str | int | float | bool | None
    text: str
    mark: Mark = field(default=Mark(), compare=False)


@dataclass(frozen=True, slots=True)
class ListTree:
    """A list."""

    items: tuple[Tree, ...]
    mark: Mark = field(default=Mark(), compare=False)
    text: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name and its value; `place` is where the name stands."""

    name: str
    value: Tree
    place: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class MapTree:
    """A map, with names that may still be there twice."""

    entries: tuple[Entry, ...]
    mark: Mark = field(default=Mark(), compare=False)
    text: ClassVar[str] = ""

    def get(self, name: str) -> Tree | None:
        """Return the first value under `name`."""
        return next((each.value for each in self.entries if each.name == name), None)


Tree = Scalar | ListTree | MapTree


def tree_of(value: object) -> Tree:
    """Return a Python value as a tree without places.

    Raises:
        TypeError: If it holds anything but maps, lists, texts, paths, functions, numbers, booleans
            and None.
        SpecError: A function of it cannot be imported by another process.
    """
    if isinstance(value, Mapping):
        return MapTree(tuple(Entry(str(name), tree_of(each)) for name, each in value.items()))
    if value is None:
        return Scalar(None, "")
    if isinstance(value, bool):
        return Scalar(value, "true" if value else "false")
    if isinstance(value, PurePath):
        value = str(value)
    if isroutine(value):
        value = function_name(value)
    if isinstance(value, str | int | float):
        return Scalar(value, str(value))
    if isinstance(value, Sequence):
        return ListTree(tuple(tree_of(each) for each in value))
    raise TypeError(f"a declaration cannot hold a {type(value).__name__}")


def marks_of(tree: Tree, path: Path = (), place: Location | None = None) -> dict[Path, Mark]:
    """Return the mark of every part of `tree`, by its path."""
    mark = tree.mark
    marks = {path: replace(mark, key=place)}
    if isinstance(tree, MapTree):
        for entry in tree.entries:
            marks.update(marks_of(entry.value, (*path, entry.name), entry.place))
    elif isinstance(tree, ListTree):
        for index, item in enumerate(tree.items):
            marks.update(marks_of(item, (*path, index)))
    return marks
