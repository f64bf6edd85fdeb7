"""A pattern's `match` as a program that tries one way after the other, the preferred one first.

`Taking` takes a row, `Passing` passes over rows until what follows succeeds, `Trying` goes one way
and, where that fails, the other. `semantics.matcher` runs it, as the kernel does.

Invariant: a repetition never goes round without having taken a row, so every way ends.
"""

from __future__ import annotations

from collections.abc import Sequence as Parts
from dataclasses import dataclass

from joinery.expression.problem import ExpressionError
from joinery.plan.match_syntax import Either, Repeat, Sequence, Take, Tree

_MOST_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class Taking:
    """The next row is the variable's, or the way fails; then goes on."""

    variable: int
    next: int


@dataclass(frozen=True, slots=True)
class Passing:
    """Goes on; where that fails, passes over a row and tries again."""

    next: int


@dataclass(frozen=True, slots=True)
class Trying:
    """Goes one way; where that fails, the other."""

    first: int
    other: int


@dataclass(frozen=True, slots=True)
class Ending:
    """The match is whole, or the way fails."""

    matched: bool


Step = Taking | Passing | Trying | Ending


@dataclass(frozen=True, slots=True)
class MatchProgram:
    """Steps that name each other by their place; it begins at `first`."""

    steps: tuple[Step, ...]
    first: int


def compiled(tree: Tree, variables: Parts[str]) -> MatchProgram:
    """Return the program of a pattern.

    Args:
        tree: The pattern.
        variables: All of them; steps name a variable by its place.

    Raises:
        ExpressionError: It is too large.
    """
    compiler = _Compiler(variables)
    ended = compiler.add(Ending(matched=True))
    first = compiler.entry(tree, ended, ended)
    return MatchProgram(tuple(compiler.steps), first)


class _Compiler:
    """Adds the steps of parts, each before what follows it.

    What follows a part is told twice: for where the innermost repetition has taken no row yet in
    this round, and for where it has.
    """

    def __init__(self, variables: Parts[str]) -> None:
        self._places = {name: place for place, name in enumerate(variables)}
        self.steps: list[Step] = []
        self._failed = self.add(Ending(matched=False))

    def add(self, step: Step) -> int:
        if len(self.steps) >= _MOST_STEPS:
            raise ExpressionError(
                f"the pattern has more than {_MOST_STEPS:,} steps",
                code="PLAN_PATTERN",
                offset=0,
                hint="Repeat less often, or without an upper bound.",
            )
        self.steps.append(step)
        return len(self.steps) - 1

    def entry(self, tree: Tree, empty: int, taken: int) -> int:
        """Return where a part begins.

        Args:
            tree: The part.
            empty: What follows where nothing was taken.
            taken: What follows where a row was.
        """
        match tree:
            case Take(variable):
                return self.add(Taking(self._places[variable], taken))
            case Sequence(parts, later):
                return self._sequence(parts, later, empty, taken)
            case Either(options):
                return self._tried([self.entry(each, empty, taken) for each in options])
            case Repeat(part, least, most):
                return self._repeat(part, least, most, (empty, taken))

    def _sequence(self, parts: Parts[Tree], later: Parts[bool], empty: int, taken: int) -> int:
        passes = [False, *later]
        for part, passing in zip(reversed(parts), reversed(passes), strict=True):
            same = empty == taken
            taken_entry = self.entry(part, taken, taken)
            empty_entry = taken_entry if same else self.entry(part, empty, taken)
            if passing:
                taken_entry = self.add(Passing(taken_entry))
                empty_entry = taken_entry if same else self.add(Passing(empty_entry))
            empty, taken = empty_entry, taken_entry
        return empty

    def _tried(self, ways: Parts[int]) -> int:
        *before, found = ways
        for each in reversed(before):
            found = self.add(Trying(each, found))
        return found

    def _repeat(self, part: Tree, least: int, most: int | None, after: tuple[int, int]) -> int:
        empty, taken = after
        if most is None:
            more_taken = self._loop(part, taken)
            more_empty = more_taken
            if empty != taken:
                more_empty = self.add(Trying(self.entry(part, self._failed, more_taken), empty))
        else:
            more_empty, more_taken = empty, taken
            for _ in range(most - least):
                body = self.entry(part, self._failed, more_taken)
                more_empty = self.add(Trying(body, empty))
                more_taken = more_empty if empty == taken else self.add(Trying(body, taken))
        if least == 0:
            return more_empty
        return self._sequence([part] * least, [False] * (least - 1), more_empty, more_taken)

    def _loop(self, part: Tree, taken: int) -> int:
        """Return where a part begins that is repeated any number of times."""
        place = self.add(Ending(matched=False))
        body = self.entry(part, self._failed, place)
        self.steps[place] = Trying(body, taken)
        return place
