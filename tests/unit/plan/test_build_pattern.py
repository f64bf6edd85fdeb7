"""What a pattern keeps forever, or can never find, of which `check` warns."""

from __future__ import annotations

import pytest

from joinery.errors import JoineryError
from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  sale: {{key: [id], fields: {{id: long, amount: int, at: timestamp}}, time: at}}
products:
  dear: {{pattern: sale, match: A A, define: {{A: amount > 9}}, {bounds}}}
"""


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ("within: 2h", []),
        ("within: 2h, order: [at]", []),
        ("after: next_row", ['the rows of a pattern without "within" are kept forever']),
        (
            "within: 2h, order: [-amount]",
            ['the rows of a pattern with an "order" of its own are kept forever'],
        ),
        (
            "within: 2h, order: [-at]",
            ['the rows of a pattern with an "order" of its own are kept forever'],
        ),
    ],
)
def test_a_pattern_is_warned_of_whose_rows_are_never_forgotten(
    bounds: str, told: list[str]
) -> None:
    plan = build_plan(load_text(PROJECT.format(bounds=bounds)))

    assert told == [each.message for each in plan.warnings if each.code == "PLAN_UNBOUNDED"]


def test_a_read_of_what_is_no_variable_says_so() -> None:
    text = PROJECT.format(bounds="within: 1h").replace("amount > 9", "amount > count(Q)")

    with pytest.raises(JoineryError) as failed:
        build_plan(load_text(text))

    assert '"count" reads the rows of a variable, and "Q" is none' in str(failed.value)


@pytest.mark.parametrize(
    ("match", "told"),
    [
        ("A*", "the pattern can match without any row"),
        ("A -> A?", 'what follows "->" can match without any row'),
        ("A{0} A", "a repetition of zero rows"),
        ("A{3,2}", "the upper bound of a repetition is below its lower bound"),
        ("A not A A", '"not" comes at the end, before one variable'),
        ("A -> not A -> A", '"not" comes at the end, before one variable'),
    ],
)
def test_a_pattern_is_refused_for_what_is_wrong_with_it(match: str, told: str) -> None:
    text = PROJECT.format(bounds="within: 1h").replace("A A", f'"{match}"')

    with pytest.raises(JoineryError) as failed:
        build_plan(load_text(text))

    assert told in str(failed.value)


@pytest.mark.parametrize(
    ("match", "told"),
    [
        ("A A, emit: {when: closed}", "a match without an end in time is never closed"),
        ("A not B", '"not B" needs "within", which says until when'),
    ],
)
def test_what_waits_for_an_end_in_time_needs_one(match: str, told: str) -> None:
    text = PROJECT.format(bounds="after: next_row").replace("A A", match)

    with pytest.raises(JoineryError) as failed:
        build_plan(load_text(text))

    assert told in str(failed.value)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("'false'", 'no row is "A": its condition is never true'),
        ("1 > 2 or null", 'no row is "A": its condition is never true'),
        ("1 / 0 > 1", 'no row is "A": its condition is never true'),
        ("amount < B.amount", 'the condition of "A" reads "B", which never comes before it'),
        ("count(B) < 3", 'the condition of "A" reads "B", which never comes before it'),
    ],
)
def test_a_pattern_is_warned_of_that_can_match_nothing(condition: str, told: str) -> None:
    text = PROJECT.format(bounds="within: 1h").replace("amount > 9", condition)

    plan = build_plan(load_text(text.replace("A A", "A -> B")))

    assert [told] == [each.message for each in plan.warnings if each.code == "PLAN_PATTERN"]


@pytest.mark.parametrize("match", ["B -> A", "(A B){2}", "(A | B)+ C", "A? B A"])
def test_a_condition_may_read_what_may_come_before_it(match: str) -> None:
    text = PROJECT.format(bounds="within: 1h").replace("amount > 9", "amount > B.amount")

    plan = build_plan(load_text(text.replace("A A", f'"{match}"')))

    assert [] == [each.message for each in plan.warnings]


def test_alternatives_do_not_come_before_one_another() -> None:
    text = PROJECT.format(bounds="within: 1h").replace("amount > 9", "amount > B.amount")

    plan = build_plan(load_text(text.replace("A A", '"(A | B) C"')))

    (warning,) = plan.warnings
    assert 'the condition of "A" reads "B", which never comes before it' == warning.message


def test_what_must_not_follow_and_never_does_leaves_no_match_out() -> None:
    text = PROJECT.format(bounds="within: 1h").replace("amount > 9", "'false'")

    plan = build_plan(load_text(text.replace("A A", "B not A")))

    (warning,) = plan.warnings
    assert '"not A" leaves no match out.' == warning.detail


def test_what_must_not_follow_reads_the_whole_match() -> None:
    text = PROJECT.format(bounds="within: 1h").replace("amount > 9", "amount > B.amount")

    plan = build_plan(load_text(text.replace("A A", "B not A")))

    assert () == plan.warnings
