"""Finds the matches of a pattern in rows that stand in their order.

Ways are tried one after the other, the preferred one first, and the first that comes to the end
is the match. Where no condition depends on what was taken before, a way that failed at a row
fails there again, and is not tried twice. A start that needs more than `MOST_STEPS` tests is given
up.

The kernel's twin is `Matcher.java`. Tests hold both to random patterns: this one to a plain
matcher of their own, the kernel's to this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from joinery.plan.match_program import Ending, MatchProgram, Passing, Taking, Trying
from joinery.project.form import After

MOST_STEPS = 100_000
"""How many tests of a row a start may need."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A row that a match has taken, and those before it.

    Attributes:
        variable: The place of the variable that it was taken as.
        at: The place of the row.
    """

    variable: int
    at: int
    before: Taken | None = None

    def rows(self) -> list[tuple[int, int]]:
        """Return the variable and the place of each row, in their order."""
        found = list[tuple[int, int]]()
        each: Taken | None = self
        while each is not None:
            found.append((each.variable, each.at))
            each = each.before
        return found[::-1]

    def places(self, variable: int | None) -> list[int]:
        """Return the places of the rows of a variable, in their order; of None those of all."""
        found = list[int]()
        each: Taken | None = self
        while each is not None:
            if variable is None or variable == each.variable:
                found.append(each.at)
            each = each.before
        found.reverse()
        return found


class RowsInOrder(Protocol):
    """The rows of a key, by their place from 0."""

    def __len__(self) -> int:
        """Return how many there are."""

    def time_us(self, at: int) -> int:
        """Return the time of a row; asked only where a match has an end in time."""

    def tests(self, taken: Taken) -> bool:
        """Return whether the last row of `taken` may be its variable's, after those before."""


@dataclass(frozen=True, slots=True)
class MatchRules:
    """What is looked for.

    Attributes:
        program: The pattern.
        absent: The place of the variable that no later row may be; None for none.
        within_us: How long after its first row a match may end; None for any time.
        after: Where the search goes on.
        follows_match: Whether a condition depends on what was taken before.
    """

    program: MatchProgram
    absent: int | None = None
    within_us: int | None = None
    after: After = "past_last"
    follows_match: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A match, or a start that was given up, of which `last` is None."""

    start: int
    last: Taken | None


def matches_in(rows: RowsInOrder, rules: MatchRules, first: int = 0) -> Iterator[Found]:
    """Yield the matches by their start, and the starts that were given up.

    Args:
        rows: Where matches are looked for.
        rules: What is looked for.
        first: The place of the first row that a match may begin with.
    """
    at = first
    while at < len(rows):
        try:
            taken = _Attempt(rows, rules, at).run()
        except _GivenUpError:
            yield Found(at, None)
            taken = None
        if taken is not None:
            yield Found(at, taken)
        at = taken.at + 1 if taken is not None and rules.after == "past_last" else at + 1


class _GivenUpError(Exception):
    """A start needs more tests than it may."""


class _Attempt:
    """The search for a match that begins at one row."""

    def __init__(self, rows: RowsInOrder, rules: MatchRules, start: int) -> None:
        self._rows, self._rules, self._start = rows, rules, start
        within = rules.within_us
        self._bound = None if within is None else rows.time_us(start) + within
        self._tests = 0
        self._tried = set[tuple[int, int]]()

    def run(self) -> Taken | None:
        """Return the last row of the match with those before, or None where there is none."""
        ways: list[tuple[int, int, Taken | None]] = [(self._rules.program.first, self._start, None)]
        while ways:
            place, at, taken = ways.pop()
            found = self._go(place, at, taken, ways)
            if found is not None:
                return found if self._is_left(found) else None
        return None

    def _go(
        self,
        place: int,
        at: int,
        taken: Taken | None,
        ways: list[tuple[int, int, Taken | None]],
    ) -> Taken | None:
        """Go one way to its end; what else could be tried goes to `ways`."""
        while True:
            step = self._rules.program.steps[place]
            match step:
                case Ending(matched):
                    return taken if matched else None
                case Taking(variable, following):
                    at = self._seen(at)
                    if at >= len(self._rows):
                        return None
                    taken = Taken(variable, at, taken)
                    if not self._test(taken):
                        return None
                    place, at = following, at + 1
                case Trying(first, other):
                    if self._has_tried(place, at):
                        return None
                    ways.append((other, at, taken))
                    place = first
                case Passing(following):
                    if self._has_tried(place, at):
                        return None
                    passed = self._seen(at)
                    if taken is not None and passed < len(self._rows):
                        ways.append((place, passed + 1, taken))
                    place = following

    def _has_tried(self, place: int, at: int) -> bool:
        if self._rules.follows_match:
            return False
        known = len(self._tried)
        self._tried.add((place, at))
        return len(self._tried) == known

    def _test(self, taken: Taken) -> bool:
        self._tests += 1
        if self._tests > MOST_STEPS:
            raise _GivenUpError
        return self._rows.tests(taken)

    def _seen(self, at: int) -> int:
        """Return the first row from a place on that is not too late to be seen."""
        while (
            self._bound is not None
            and at < len(self._rows)
            and self._rows.time_us(at) > self._bound
        ):
            at += 1
        return at

    def _is_left(self, taken: Taken) -> bool:
        """Return whether no later row is what none may be."""
        absent = self._rules.absent
        at = self._seen(taken.at + 1)
        while absent is not None and at < len(self._rows):
            if self._test(Taken(absent, at, taken)):
                return False
            at = self._seen(at + 1)
        return True
