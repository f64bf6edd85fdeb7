"""Stored text queries: what they are made of, and whether a row is what one asks for.

A row's text is its columns of text, those within objects and lists, too: each list is one text
with a gap between its items, so a phrase is within one item.

Invariant: the kernel's package `search` says the same of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from joinery.expression.problem import EvaluationError
from joinery.model.change import Row
from joinery.model.type import STRING, Array, DataType, Struct
from joinery.semantics.text_tokens import words

Occur = Literal["must", "should", "must_not"]
Words = tuple[tuple[str, ...], ...]
"""The words of one column, each of its texts by itself."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of text by its path, such as `filings.title`."""

    name: str
    path: tuple[str, ...]

    def words(self, row: Row) -> Words:
        """Return the words of a row's texts."""
        return tuple(words(each) for each in _texts(row, self.path))


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, path)
    elif path:
        yield from _texts(value[path[0]], path[1:])
    else:
        yield value


def leaves(row: Struct) -> Mapping[str, tuple[tuple[str, ...], DataType]]:
    """Return the columns that hold no others by their dotted names: path, and type.

    The type of a list's items counts for the list's.
    """
    found: dict[str, tuple[tuple[str, ...], DataType]] = {}
    for field in row.fields:
        for path, kind in _leaves((field.name,), field.type):
            found.setdefault(".".join(path), (path, kind))
    return found


def _leaves(path: tuple[str, ...], kind: DataType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    match kind:
        case Array(element):
            yield from _leaves(path, element)
        case Struct(fields):
            for field in fields:
                yield from _leaves((*path, field.name), field.type)
        case _:
            yield path, kind


def text_columns(row: Struct) -> tuple[TextColumn, ...]:
    """Return the columns of text of a row."""
    return tuple(
        TextColumn(name, path) for name, (path, kind) in leaves(row).items() if kind == STRING
    )


# What queries are made of; `columns` are where a word is looked for, in any of them


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words are next to each other, in one text; one word is a phrase, too."""

    columns: tuple[TextColumn, ...]
    words: tuple[str, ...]

    def holds(self, row: Row) -> bool:
        """Return whether the query matches a row."""
        return any(self._within(text) for each in self.columns for text in each.words(row))

    def _within(self, text: tuple[str, ...]) -> bool:
        size = len(self.words)
        return any(text[at : at + size] == self.words for at in range(len(text) - size + 1))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A word is like the pattern; a part is a character, or None for one, or "" for any number."""

    columns: tuple[TextColumn, ...]
    parts: tuple[str | None, ...]

    def holds(self, row: Row) -> bool:
        """Return whether the query matches a row."""
        return any(self._like(word) for word in _each(self.columns, row))

    def _like(self, word: str) -> bool:
        reached = {0}
        for part in self.parts:
            if part == "":
                reached = set(range(min(reached), len(word) + 1)) if reached else reached
            else:
                reached = {at + 1 for at in reached if at < len(word) and part in (None, word[at])}
        return len(word) in reached


@dataclass(frozen=True, slots=True)
class Range:
    """A word lies between two, compared by code points; None is not a bound."""

    columns: tuple[TextColumn, ...]
    low: str | None
    high: str | None
    low_included: bool
    high_included: bool

    def holds(self, row: Row) -> bool:
        """Return whether the query matches a row."""
        return any(self._between(word) for word in _each(self.columns, row))

    def _between(self, word: str) -> bool:
        above = self.low is None or word > self.low or (self.low_included and word == self.low)
        below = self.high is None or word < self.high or (self.high_included and word == self.high)
        return above and below


@dataclass(frozen=True, slots=True)
class Where:
    """A column that is not text has a value: a condition, which is false where it fails."""

    evaluate: Callable[[Mapping[str, Any]], Any]

    def holds(self, row: Row) -> bool:
        """Return whether the query matches a row."""
        try:
            return self.evaluate(row) is True
        except EvaluationError:
            return False


@dataclass(frozen=True, slots=True)
class Everything:
    """Any row."""

    def holds(self, row: Row) -> bool:
        """Return whether the query matches a row."""
        return True


@dataclass(frozen=True, slots=True)
class Clauses:
    """All that must and none that must not; one that should, where nothing must."""

    clauses: tuple[tuple[Occur, TextQuery], ...]

    def holds(self, row: Row) -> bool:
        """Return whether the query matches a row."""
        if any(each.holds(row) for each in self._of("must_not")):
            return False
        must, should = self._of("must"), self._of("should")
        if must:
            return all(each.holds(row) for each in must)
        return any(each.holds(row) for each in should)

    def _of(self, occur: Occur) -> list[TextQuery]:
        return [query for which, query in self.clauses if which == occur]


TextQuery = Phrase | Pattern | Range | Where | Everything | Clauses


def _each(columns: tuple[TextColumn, ...], row: Row) -> Iterator[str]:
    return (word for each in columns for text in each.words(row) for word in text)
