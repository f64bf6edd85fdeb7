"""Finds the matches of a pattern in rows that stand in their order.

Ways are tried one after the other, the preferred one first, and the first that comes to the end
is the match. A start that has not ended after a few tests begins again with what `match_ends`
knows, which all starts share, and goes no way that fails by that. Where no condition depends on
what was taken before, that leaves no way that fails.

Else a start that needs too many tests is given up. The more rows it sees, the fewer it may need,
so that all starts which see the same rows need no more than a number of tests together. What is
given up depends on the rows alone.

The kernel's twin is `Matcher.java`. Tests hold both to random patterns: this one to a plain
matcher of their own, the kernel's to this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from joinery.plan.match_program import Ending, MatchProgram, Passing, Taking, Trying
from joinery.project.form import After
from joinery.semantics.match_ends import MatchEnds, kept_for_a_row

MOST_STEPS = 100_000
"""How many tests of a row a start may need."""

# Of these: how many a start may need before it looks at the ends, how many all that see the same
# rows may need, and how many ends are kept. The twin has the same.
_FEW = 1_000
_TOGETHER = 1_000
_KEPT = 100


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

    def may_be(self, variable: int, at: int) -> bool:
        """Return whether a row may be a variable's, after some rows or other.

        Of a condition that does not depend on what was taken before, it says what `tests` says.
        """


@dataclass(frozen=True, slots=True)
class MatchRules:
    """What is looked for.

    Attributes:
        program: The pattern.
        absent: The place of the variable that no later row may be; None for none.
        within_us: How long after its first row a match may end; None for any time.
        after: Where the search goes on.
        follow: The variables whose conditions depend on what was taken before.
        by_time: Whether rows stand by their times first.
        most_rows: How many rows a search looks at, at most; None without a bound.
    """

    program: MatchProgram
    absent: int | None = None
    within_us: int | None = None
    after: After = "past_last"
    follow: frozenset[int] = frozenset()
    by_time: bool = True
    most_rows: int | None = None


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
    starts = _Starts(rows, rules)
    at = first
    while at < len(rows):
        try:
            taken = starts.match(at)
        except _GivenUpError:
            yield Found(at, None)
            taken = None
        if taken is not None:
            yield Found(at, taken)
        at = taken.at + 1 if taken is not None and rules.after == "past_last" else at + 1


class _GivenUpError(Exception):
    """A start needs more tests than it may."""


class _Starts:
    """The starts in the rows of a key, asked for in their order."""

    def __init__(self, rows: RowsInOrder, rules: MatchRules) -> None:
        self._rows, self._rules = rows, rules
        self._ended = rules.by_time and rules.within_us is not None
        self._ends: MatchEnds | None = None
        self._behind = 0

    def match(self, start: int) -> Taken | None:
        """Return the last row of the match that begins at one, or None where there is none."""
        if self._ends is not None and self._ends.knows(start, self._last_seen(start)):
            return self._by_ends(start)
        try:
            return _Attempt(self._rows, self._rules, start, None, MOST_STEPS // _FEW).run()
        except _GivenUpError:
            return self._by_ends(start)

    def _by_ends(self, start: int) -> Taken | None:
        last = self._last_seen(start)
        ends = self._ends_for(start, last)
        known = ends is not None and not self._rules.follow
        most = None if known else self._most_tests(self._seen_by(start, last))
        reached = None if ends is None else (ends, last)
        return _Attempt(self._rows, self._rules, start, reached, most).run()

    def _last_seen(self, start: int) -> int:
        """Return the last row that a start may look at."""
        rows, rules = self._rows, self._rules
        most = len(rows) if rules.most_rows is None else min(len(rows), start + rules.most_rows)
        self._behind = max(self._behind, start)
        bound = rows.time_us(start) + (rules.within_us or 0) if self._ended else 0
        while self._behind < most and (not self._ended or rows.time_us(self._behind) <= bound):
            self._behind += 1
        return self._behind - 1

    def _ends_for(self, start: int, last: int) -> MatchEnds | None:
        """Return the ends in the rows between; None where they are too many, or in no order."""
        rules, rows = self._rules, self._rows
        number = last - start + 1
        kept = 2 * number * kept_for_a_row(rules.program.steps)
        if (not self._ended and rules.within_us is not None) or kept > _KEPT * MOST_STEPS:
            return None
        if self._ends is None or not self._ends.knows(start, last):
            until = min(last + number, len(rows) - 1)
            self._ends = MatchEnds(rules.program, rules.absent, (start, until), rows.may_be)
        return self._ends

    def _seen_by(self, start: int, last: int) -> int:
        """Return how many rows a start sees: all up to its last but where they are in no order."""
        rows, within_us = self._rows, self._rules.within_us
        if self._ended or within_us is None:
            return last - start + 1
        bound = rows.time_us(start) + within_us
        return sum(rows.time_us(at) <= bound for at in range(start, last + 1))

    def _most_tests(self, seen: int) -> int:
        return min(MOST_STEPS, max(MOST_STEPS // _FEW, _TOGETHER * MOST_STEPS // seen))


class _Attempt:
    """The search for a match that begins at one row."""

    def __init__(
        self,
        rows: RowsInOrder,
        rules: MatchRules,
        start: int,
        ends: tuple[MatchEnds, int] | None,
        most: int | None,
    ) -> None:
        self._rows, self._rules, self._start = rows, rules, start
        within = rules.within_us
        self._bound = None if within is None else rows.time_us(start) + within
        self._ends, self._most = ends, most
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
            if taken is not None and self._fails(place, at):
                return None
            match step:
                case Ending(matched):
                    return taken if matched else None
                case Taking(variable, following):
                    at = self._seen(at)
                    if at >= len(self._rows) or self._fails(place, at):
                        return None
                    taken = Taken(variable, at, taken)
                    if not self._test(taken):
                        return None
                    place, at = following, at + 1
                case Trying(first, other):
                    if self._has_tried(place, at, taken):
                        return None
                    ways.append((other, at, taken))
                    place = first
                case Passing(following) if self._ends is not None and taken is not None:
                    ends, last = self._ends
                    at = ends.reached_from(place, at)
                    if at > last:
                        return None
                    ways.append((place, at + 1, taken))
                    place = following
                    if self._fails(place, at):
                        self._spend()
                        return None
                case Passing(following):
                    if self._has_tried(place, at, taken):
                        return None
                    passed = self._seen(at)
                    if taken is not None and passed < len(self._rows):
                        ways.append((place, passed + 1, taken))
                    place = following

    def _fails(self, place: int, at: int) -> bool:
        """Return whether no way from a step before a row ends in sight."""
        if self._ends is None:
            return False
        ends, last = self._ends
        return ends.at(place, at) > last

    def _has_tried(self, place: int, at: int, taken: Taken | None) -> bool:
        if self._rules.follow or (self._ends is not None and taken is not None):
            return False
        known = len(self._tried)
        self._tried.add((place, at))
        return len(self._tried) == known

    def _test(self, taken: Taken) -> bool:
        self._spend()
        return self._rows.tests(taken)

    def _spend(self) -> None:
        """Count a test of a row, or a row that is gone to though no match ends in sight from it."""
        self._tests += 1
        if self._most is not None and self._tests > self._most:
            raise _GivenUpError

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
        if absent is None:
            return True
        known = self._ends is not None and absent not in self._rules.follow
        at = self._excluded_from(taken.at + 1)
        while at is not None:
            if known or self._test(Taken(absent, at, taken)):
                return False
            at = self._excluded_from(at + 1)
        return True

    def _excluded_from(self, at: int) -> int | None:
        """Return the first row from one on that may be what none may be, or None."""
        if self._ends is not None:
            ends, last = self._ends
            found = ends.absent_from(at)
            return found if found <= last else None
        found = self._seen(at)
        return found if found < len(self._rows) else None
