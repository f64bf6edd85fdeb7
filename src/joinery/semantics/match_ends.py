"""How early a match can end that stands at a step before a row, for the rows between two.

Of conditions that depend on what a match has taken, only what does not counts. Where there are
none, a way leads to a match exactly if its end is in sight; else such a way may still fail. It
holds for a step where a row was taken before: a search that has taken none passes over none.

The kernel's twin is `MatchEnds.java`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from joinery.plan.match_program import Ending, MatchProgram, Passing, Step, Taking, Trying

NEVER = sys.maxsize
"""The end of a way that leads to no match."""


class MatchEnds:
    """The earliest ends of a pattern's steps in some rows, by place.

    Args:
        program: The pattern.
        absent: The place of the variable that no later row may be; None for none.
        between: The first and the last row.
        may_be: Whether a row may be a variable's, after some rows or other.
    """

    def __init__(
        self,
        program: MatchProgram,
        absent: int | None,
        between: tuple[int, int],
        may_be: Callable[[int, int], bool],
    ) -> None:
        self._steps = program.steps
        self._order = _ordered(program.steps)
        self._first, self._last = between
        self._ends = {self._last + 1: self._before(self._last + 1, {}, lambda _: False)}
        self._absent = {self._last + 1: NEVER}
        self._reached = {self._last + 1: self._reached_at(self._last + 1, {})}
        for at in range(self._last, self._first - 1, -1):
            may = cache(lambda variable, at=at: may_be(variable, at))
            self._ends[at] = self._before(at, self._ends[at + 1], may)
            self._reached[at] = self._reached_at(at, self._reached[at + 1])
            excluded = absent is not None and may(absent)
            self._absent[at] = at if excluded else self._absent[at + 1]

    def _before(
        self, at: int, behind: dict[int, int], may_be: Callable[[int], bool]
    ) -> dict[int, int]:
        ends: dict[int, int] = {}
        for place in self._order:
            match self._steps[place]:
                case Ending(matched):
                    ends[place] = at - 1 if matched else NEVER
                case Taking(variable, following):
                    end = behind.get(following, NEVER)
                    ends[place] = end if end != NEVER and may_be(variable) else NEVER
                case Trying(first, other):
                    ends[place] = min(ends[first], ends[other])
                case Passing(following):
                    ends[place] = min(ends[following], behind.get(place, NEVER))
        return ends

    def _reached_at(self, at: int, behind: dict[int, int]) -> dict[int, int]:
        return {
            place: at if self._ends[at][step.next] != NEVER else behind.get(place, NEVER)
            for place, step in enumerate(self._steps)
            if isinstance(step, Passing)
        }

    def knows(self, first: int, last: int) -> bool:
        """Return whether the rows between two are among its own."""
        return first >= self._first and last <= self._last

    def at(self, place: int, row: int) -> int:
        """Return the earliest last row of a match at a step before a row; `NEVER` for none."""
        return self._ends[row][place]

    def reached_from(self, place: int, row: int) -> int:
        """Return the first row from one on before which what follows a `Passing` may succeed.

        `NEVER` is none.
        """
        return self._reached[row][place]

    def absent_from(self, row: int) -> int:
        """Return the first row from one on that may be what none may be; `NEVER` for none."""
        return self._absent[row]


def kept_for_a_row(steps: tuple[Step, ...]) -> int:
    """Return how many numbers are kept for each row."""
    return len(steps) + sum(isinstance(each, Passing) for each in steps)


def _ordered(steps: tuple[Step, ...]) -> list[int]:
    """Return each step behind those that it goes on to without taking a row."""
    found: dict[int, None] = {}
    while len(found) < len(steps):
        for place, step in enumerate(steps):
            if place not in found and all(each in found for each in _without_taking(step)):
                found[place] = None
    return list(found)


def _without_taking(step: Step) -> tuple[int, ...]:
    match step:
        case Ending() | Taking():
            return ()
        case Trying(first, other):
            return first, other
        case Passing(following):
            return (following,)
