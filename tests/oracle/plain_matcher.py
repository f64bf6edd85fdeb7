"""A small backtracking matcher, which shares no line with the one of products.

A pattern is a tree; all ways to take rows are tried in the order of preference, and the first that
is whole counts. `written` gives the same tree as the text of `match`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Taken = tuple[tuple[str, int], ...]
"""The variable and the place of each row that a match has taken."""


@dataclass(frozen=True, slots=True)
class One:
    """A row that is a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Parts in a row; `skips` tells of each but the first whether rows may lie before it."""

    parts: tuple[Tree, ...]
    skips: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """The first of these that leads to a match."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Often:
    """A part so many times, as often as can be; None is no bound."""

    part: Tree
    least: int
    most: int | None


Tree = One | Chain | Either | Often


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for.

    Attributes:
        tree: The pattern.
        is_one: Whether the row under test, the last that was taken, may be its variable.
        within: How much later than its first the last row of a match may be; None for any time.
        absent: The variable that no later row may be.
        past_last: Whether the search goes on behind a match, not behind its first row.
    """

    tree: Tree
    is_one: Callable[[Sequence[Row], Taken], bool]
    within: int | None = None
    absent: str | None = None
    past_last: bool = True


def written(tree: Tree) -> str:
    """Return a pattern as `match` has it, with more brackets than it needs."""
    match tree:
        case One(name):
            return name
        case Chain(parts, skips):
            first, *others = map(written, parts)
            joints = [" -> " if skip else " " for skip in skips]
            return f"({first}{''.join(map(str.__add__, joints, others))})"
        case Either(options):
            return f"({' | '.join(map(written, options))})"
        case Often(part, least, most):
            return f"{written(part)}{{{least},{'' if most is None else most}}}"


def matches(rows: Sequence[Row], search: Search) -> list[Taken]:
    """Return the matches in rows that stand in their order, each with `at`, a number."""
    found: list[Taken] = []
    start = 0
    while start < len(rows):
        end = len(rows)
        if search.within is not None:
            last = rows[start]["at"] + search.within
            end = sum(each["at"] <= last for each in rows)
        way = next(_ways(search, rows[:end], search.tree, start, ()), None)
        if way is not None and search.absent is not None:
            later = range(way[1][-1][1] + 1, end)
            if any(search.is_one(rows, (*way[1], (search.absent, at))) for at in later):
                way = None
        if way is not None:
            found.append(way[1])
        start = way[0] if way is not None and search.past_last else start + 1
    return found


def _ways(
    search: Search, rows: Sequence[Row], tree: Tree, at: int, taken: Taken
) -> Iterator[tuple[int, Taken]]:
    """Yield where the rest begins and what was taken, for each way to match a part at a place."""
    match tree:
        case One(name):
            if at < len(rows) and search.is_one(rows, (*taken, (name, at))):
                yield at + 1, (*taken, (name, at))
        case Either(options):
            for each in options:
                yield from _ways(search, rows, each, at, taken)
        case Chain(parts, skips):
            yield from _chained(search, rows, parts, (False, *skips), (at, taken))
        case Often(part, least, most):
            yield from _often(search, rows, Often(part, least, most), (at, taken))


def _chained(
    search: Search,
    rows: Sequence[Row],
    parts: Sequence[Tree],
    skips: Sequence[bool],
    begun: tuple[int, Taken],
) -> Iterator[tuple[int, Taken]]:
    if not parts:
        yield begun
        return
    at, taken = begun
    # Nothing is passed over before the first row, which is the start.
    for place in range(at, len(rows) if skips[0] and taken else at + 1) or [at]:
        for after in _ways(search, rows, parts[0], place, taken):
            yield from _chained(search, rows, parts[1:], skips[1:], after)


def _often(
    search: Search, rows: Sequence[Row], often: Often, begun: tuple[int, Taken]
) -> Iterator[tuple[int, Taken]]:
    at, taken = begun
    more = None if often.most is None else often.most - 1
    if often.least > 0:
        rest = Often(often.part, often.least - 1, more)
        for after in _ways(search, rows, often.part, at, taken):
            yield from _often(search, rows, rest, after)
        return
    if often.most != 0:
        for after in _ways(search, rows, often.part, at, taken):
            if len(after[1]) > len(taken):  # a round that takes no row is none
                yield from _often(search, rows, Often(often.part, 0, more), after)
    yield at, taken
