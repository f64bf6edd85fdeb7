"""What a pattern keeps for ever, of which `check` warns."""

from __future__ import annotations

import pytest

from joinery.errors import JoineryError
from joinery.plan.build import build_plan
from joinery.testing.conformance.joined import load_text

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
        ("after: next_row", ['the rows of a pattern without "within" are kept for ever']),
        (
            "within: 2h, order: [-amount]",
            ['the rows of a pattern with an "order" of its own are kept for ever'],
        ),
        (
            "within: 2h, order: [-at]",
            ['the rows of a pattern with an "order" of its own are kept for ever'],
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
