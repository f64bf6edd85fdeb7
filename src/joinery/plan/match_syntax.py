"""The `match` of a pattern as a tree: which variables take rows, in which order, how often.

From loose to tight: `|`, then what follows one another (`A B` at once, `A -> B` later), then
repetitions. `not C` stands only at the end, and is of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NoReturn

from joinery.expression.problem import ExpressionError

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<arrow>->)|(?P<sign>[()|{},+*?])|(?P<number>\d+))"
)
_MOST_TIMES = 1000
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True, slots=True)
class Take:
    """One row that is a variable's."""

    variable: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts that follow one another.

    Attributes:
        parts: Two at least.
        later: Of each part but the first, whether rows may be passed over before it.
    """

    parts: tuple[Tree, ...]
    later: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """The first of several that leads to a match."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part repeated `least` to `most` times, as often as it can be; None is unbounded."""

    part: Tree
    least: int
    most: int | None


Tree = Take | Sequence | Either | Repeat


@dataclass(frozen=True, slots=True)
class MatchText:
    """What `match` says: the rows of a match, and the variable that no later row may be."""

    tree: Tree
    absent: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """All names, in the order in which they come, the absent one last."""
        names = [*_variables(self.tree), *([self.absent] if self.absent else [])]
        return tuple(dict.fromkeys(names))


def parse_match(text: str) -> MatchText:
    """Return what a `match` says.

    Raises:
        ExpressionError: It cannot be read, may take no row, or passes over rows before a part
            that may take none.

    Example:
        >>> parse_match("A -> B{2,} not C").variables
        ('A', 'B', 'C')
    """
    try:
        return _Parser(text).whole()
    except RecursionError:
        raise _refused("the pattern is nested too deeply", 0) from None


def may_be_empty(tree: Tree) -> bool:
    """Return whether a part may take no row."""
    match tree:
        case Take():
            return False
        case Sequence(parts):
            return all(map(may_be_empty, parts))
        case Either(options):
            return any(map(may_be_empty, options))
        case Repeat(part, least):
            return least == 0 or may_be_empty(part)


def most_rows(tree: Tree) -> int | None:
    """Return how many rows in a row it spans at most; None without a bound."""
    match tree:
        case Take():
            return 1
        case Sequence(parts, later):
            return None if any(later) else _sum([most_rows(each) for each in parts])
        case Either(options):
            spans = [most_rows(each) for each in options]
            known = [each for each in spans if each is not None]
            return max(known) if len(known) == len(spans) else None
        case Repeat(part, _, most):
            span = most_rows(part)
            return None if span is None or most is None else span * most


def before(tree: Tree) -> Mapping[str, frozenset[str]]:
    """Return for each variable those that may have a row before one of its rows.

    Example:
        >>> before(parse_match("A -> (B C?){1,3}").tree)["B"] == {"A", "B", "C"}
        True
    """
    found: dict[str, frozenset[str]] = dict.fromkeys(_variables(tree), frozenset())
    for earlier, later in _follows(tree):
        found[later] |= {earlier}
    return found


def _follows(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield pairs of variables of which the second may come behind the first."""
    match tree:
        case Take():
            return
        case Sequence(parts):
            for at, part in enumerate(parts):
                for earlier in parts[:at]:
                    yield from product(_variables(earlier), _variables(part))
                yield from _follows(part)
        case Either(options):
            for option in options:
                yield from _follows(option)
        case Repeat(part, _, most):
            yield from _follows(part)
            if most is None or most > 1:
                yield from product(_variables(part), repeat=2)


def _sum(spans: list[int | None]) -> int | None:
    known = [each for each in spans if each is not None]
    return sum(known) if len(known) == len(spans) else None


def _variables(tree: Tree) -> Iterator[str]:
    match tree:
        case Take(variable):
            yield variable
        case Sequence(parts) | Either(parts):
            for each in parts:
                yield from _variables(each)
        case Repeat(part):
            yield from _variables(part)


def _refused(message: str, offset: int, hint: str = "") -> ExpressionError:
    return ExpressionError(message, code="PLAN_PATTERN", offset=offset, hint=hint)


def _misplaced_not(offset: int) -> ExpressionError:
    hint = "Write not C last, behind the whole pattern."
    return _refused('"not" comes at the end, before one variable', offset, hint)


class _Parser:
    """The grammar, a method per rule."""

    def __init__(self, text: str) -> None:
        self._text, self._end = text, 0
        self._kind, self._value, self._start = "", "", 0
        self._step()

    def whole(self) -> MatchText:
        tree = self._either()
        absent = None
        if self._word("not"):
            if self._kind != "name":
                self._unexpected("the name of a variable")
            absent = self._value
            self._step()
            if self._kind != "end":
                raise _misplaced_not(self._start)
        if self._kind != "end":
            self._unexpected("the end of the pattern")
        if may_be_empty(tree):
            hint = "Make one of its parts one that takes a row, such as A+ for A*."
            raise _refused("the pattern can match without any row", 0, hint)
        return MatchText(tree, absent)

    def _either(self) -> Tree:
        options = [self._sequence()]
        while self._sign("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _sequence(self) -> Tree:
        parts, later = [self._repeat()], list[bool]()
        places = [0]
        while self._kind == "arrow" or self._begins():
            place = self._start
            if self._kind == "arrow":
                self._step()
                later.append(True)
            else:
                later.append(False)
            places.append(place)
            parts.append(self._repeat())
        self._check_later(parts, later, places)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), tuple(later))

    def _check_later(self, parts: list[Tree], later: list[bool], places: list[int]) -> None:
        """Refuse `->` before what may take no row."""
        for at, passes in enumerate(later, 1):
            if not passes:
                continue
            upto = next((i for i in range(at + 1, len(parts)) if later[i - 1]), len(parts))
            if all(map(may_be_empty, parts[at:upto])):
                message = 'what follows "->" can match without any row'
                hint = "Give a lower bound, such as B+ for B*."
                raise _refused(message, places[at], hint)

    def _begins(self) -> bool:
        named = self._kind == "name" and self._value.lower() != "not"
        return named or (self._kind == "sign" and self._value == "(")

    def _repeat(self) -> Tree:
        tree = self._atom()
        start = self._start
        times = self._times()
        if times is None:
            return tree
        if self._kind == "sign" and self._value in "*+?{":
            hint = "Put the inner one into parentheses."
            raise _refused("a repetition is repeated", self._start, hint)
        least, most = times
        if most == 0:
            raise _refused("a repetition of zero rows", start, "Leave the part out.")
        if most is not None and most < least:
            told = "the upper bound of a repetition is below its lower bound"
            raise _refused(told, start, "Write {1,3}.")
        if max(least, most or 0) > _MOST_TIMES:
            told = f"a part is repeated at most {_MOST_TIMES:,} times"
            raise _refused(told, start, "Leave the greater number out.")
        return Repeat(tree, least, most)

    def _atom(self) -> Tree:
        if self._sign("("):
            tree = self._either()
            if not self._sign(")"):
                self._unexpected(")")
            return tree
        start = self._start
        if self._word("not"):
            raise _misplaced_not(start)
        if not self._begins():
            self._unexpected("a variable")
        made = Take(self._value)
        self._step()
        return made

    def _times(self) -> tuple[int, int | None] | None:
        if self._kind != "sign":
            return None
        if self._value in _QUANTIFIERS:
            found = _QUANTIFIERS[self._value]
            self._step()
            return found
        if not self._sign("{"):
            return None
        least = self._number()
        if self._sign(","):
            most = self._number()
            found = least or 0, most
        elif least is None:
            self._unexpected("a number")
        else:
            found = least, least
        if not self._sign("}"):
            self._unexpected("}")
        return found

    def _number(self) -> int | None:
        if self._kind != "number":
            return None
        value = int(self._value)
        self._step()
        return value

    def _word(self, word: str) -> bool:
        if self._kind == "name" and self._value.lower() == word:
            self._step()
            return True
        return False

    def _sign(self, sign: str) -> bool:
        if self._kind == "sign" and self._value == sign:
            self._step()
            return True
        return False

    def _step(self) -> None:
        found = _TOKEN.match(self._text, self._end)
        rest = self._text[self._end :].lstrip()
        if found is not None:
            self._kind = str(found.lastgroup)
            self._value = found[self._kind]
            self._start = found.start(self._kind)
            self._end = found.end()
            return
        self._start = len(self._text) - len(rest)
        if rest:
            hint = "Write A -> B." if rest[0] in "-=>" else ""
            raise _refused(f'"{rest[0]}" cannot begin a part of a pattern', self._start, hint)
        self._kind = "end"
        self._value = ""

    def _unexpected(self, wanted: str) -> NoReturn:
        found = "the end" if self._kind == "end" else f'"{self._value}"'
        raise _refused(f"{found} where {wanted} was expected", self._start)
