"""How many tests of rows a search needs, and when a start is given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from joinery.plan.match_program import compiled
from joinery.plan.match_syntax import parse_match
from joinery.semantics import matcher
from joinery.semantics.matcher import MatchRules, Taken, matches_in


@dataclass
class _Kinds:
    """Rows a second apart, each of which is the variable with its letter."""

    kinds: Sequence[str]
    names: str
    tests_made: int = field(default=0)

    def __len__(self) -> int:
        return len(self.kinds)

    def time_us(self, at: int) -> int:
        return at * 1_000_000

    def tests(self, taken: Taken) -> bool:
        self.tests_made += 1
        return self.kinds[taken.at] == self.names[taken.variable]

    def may_be(self, variable: int, at: int) -> bool:
        return self.tests(Taken(variable, at))


def _rules(match: str, names: str, within_us: int = 10**12, **more: object) -> MatchRules:
    text = parse_match(match)
    return MatchRules(compiled(text.tree, names), within_us=within_us, **more)  # type: ignore[arg-type]


def test_rows_that_all_may_begin_a_match_cost_no_square_of_tests() -> None:
    rows = _Kinds("a" * 1_000, "ac")

    assert [] == list(matches_in(rows, _rules("a+ c", "ac")))
    # A hundred of the first start, then each row as either variable and as a first one.
    assert rows.tests_made < 5 * len(rows)


def test_a_long_match_is_found_however_many_tests_a_start_may_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matcher, "MOST_STEPS", 900)
    rows = _Kinds("a" + "b" * 2_000 + "c", "abc")

    (found,) = matches_in(rows, _rules("a b* c", "abc"))

    assert found.last is not None
    assert 2_001 == found.last.at


@pytest.mark.parametrize(("others", "given_up"), [(969, False), (1_969, True)])
def test_a_start_that_sees_more_rows_may_need_fewer_tests(
    others: int, given_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher, "MOST_STEPS", 50)
    rows = _Kinds("a" * 30 + "b" + "x" * others, "ab")

    first = next(iter(matches_in(rows, _rules("a{30,} b", "ab", follow=frozenset({1})))))

    assert (0, given_up) == (first.start, first.last is None)


def test_ends_that_are_nearly_too_many_to_keep_are_not_found_anew_for_each_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matcher, "MOST_STEPS", 30)
    rules = _rules("a+ c", "ac", 0)
    seen = matcher._KEPT * 30 // len(rules.program.steps) - 1
    rows = _Kinds("a" * 2 * seen, "ac")

    list(matches_in(rows, replace(rules, within_us=(seen - 1) * 1_000_000)))

    assert rows.tests_made < 35 * len(rows)


def test_rows_out_of_sight_between_others_take_nothing_from_what_a_start_may_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matcher, "MOST_STEPS", 50)
    rows = _Kinds("a" * 30 + "b" + "x" * 1_969, "ab")
    rules = _rules("a{30,} b", "ab", 40_000_000, by_time=False)

    (found,) = matches_in(rows, rules)

    assert found.last is not None
    assert (0, 30) == (found.start, found.last.at)
