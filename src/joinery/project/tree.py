"""A declaration as a tree of scalars, lists and maps that know where they stand.

Both doors lead here: `load` makes a tree from YAML, `declare` from Python values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isroutine
from pathlib import PurePath
from typing import ClassVar

from joinery.errors import Location
from joinery.project.function import function_name
from joinery.project.mark import Mark, Path


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
