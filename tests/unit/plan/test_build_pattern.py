"""What a pattern keeps for ever, of which `check` warns."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.testing.conformance.runner import load_text

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
