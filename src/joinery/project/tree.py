"""A declaration as a tree of scalars, lists and maps that know where they stand.

Both doors lead here: `load` makes a tree from YAML, `declare` from Python values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isroutine
from pathlib import PurePath
from typing import ClassVar

from joinery.errors import Location, SpecError
from joinery.project.function import function_name
from joinery.project.mark import Mark, Path

_INSTEAD = {
    "timedelta": 'Write a duration as text, such as "2s".',
    "datetime": "Write it as text.",
    "date": "Write it as text.",
    "Decimal": "Write it as text.",
    "bytes": "Write it as text.",
    "Column": 'Write an expression of Spark SQL as text, such as "amount > 0".',
    "set": "Write a list.",
    "frozenset": "Write a list.",
    "RelationSpec": "Write its name.",
    "Document": "Write its name.",
    "Table": "Write its name.",
}
_A_TYPE = 'Write a type of Spark as text, such as "long" or "array<string>".'


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


def tree_of(value: object, path: Path = ()) -> Tree:
    """Return a Python value as a tree without places.

    Args:
        value: Of maps, lists, texts, paths, functions, numbers, booleans and None.
        path: Where it stands, for the error.

    Raises:
        SpecError: It holds something else, or a function that another process cannot import.
    """
    if isinstance(value, Mapping):
        return MapTree(
            tuple(
                Entry(_name(name, path), tree_of(each, (*path, str(name))))
                for name, each in value.items()
            )
        )
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
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return ListTree(tuple(tree_of(each, path) for each in value))
    raise _foreign(f'"{_shown(path)}"', value)


def _name(name: object, path: Path) -> str:
    """Return a name of a map, which a number or a boolean may be as in a file."""
    if isinstance(name, str | int | float):
        return str(name)
    raise _foreign(f'a name in "{_shown(path)}"', name)


def _shown(path: Path) -> str:
    return ".".join(str(each) for each in path) or "declaration"


def _foreign(what: str, value: object) -> SpecError:
    """Return the error of a Python object that stands where only data may."""
    kind = type(value).__name__
    message = f"{what} cannot be of type {kind}"
    a_type = isinstance(value, type) or kind.endswith("Type")  # one of Python, or of Spark
    hint = _A_TYPE if a_type else _INSTEAD.get(kind, "")
    return SpecError(message, code="SPEC_SHAPE", hint=hint)


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
