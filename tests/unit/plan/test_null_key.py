"""Which columns of a product's key may be null."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  sale:
    key: [id, day]
    fields: {{id: int, day: date, shop: string, year: long, price: "decimal(8,2)", at: timestamp}}
    time: at
products:
  groups: {{aggregate: sale, by: {by}, window: {{tumbling: 1h}}, values: {{n: count(*)}}, group: g}}
  again: {{aggregate: groups, by: {again}, values: {{n: count(*)}}, group: g}}
  documents: {{root: groups, group: g}}
"""


def nullable(by: str, again: str = "[window_start]") -> list[set[str]]:
    """Return the columns that may be null, of each product."""
    plan = build_plan(load_text(PROJECT.format(by=by, again=again)))
    return [set(each.nullable_key) for each in plan.products]


@pytest.mark.parametrize(
    "expression",
    [
        "id",
        "coalesce(shop, '')",
        "coalesce(year, id)",
        "coalesce(price, 0)",
        "shop is null",
        "coalesce(shop, null, 'x')",
        "coalesce(upper(shop), 'x')",
        "coalesce(nullif(shop, ''), cast(year as string), 'x')",
        "coalesce(try_cast(shop as int), 0)",
        "coalesce(id, 1 / year)",
        "'all'",
    ],
)
def test_what_is_never_null(expression: str) -> None:
    assert set() == nullable(f'{{x: "{expression}"}}')[0]


@pytest.mark.parametrize(
    "expression",
    [
        "shop",
        "coalesce(shop, cast(year as string))",
        "cast('x' as int)",
        "id + 1",
        "upper(shop)",
        "coalesce(id / year, 0)",
        "coalesce(cast(shop as int), 0)",
        "coalesce(if(year > 0, 1 / year, null), 0)",
        "coalesce(try_cast(1 / year as int), 0)",
        "1 / year is null",
    ],
)
def test_what_may_be_null(expression: str) -> None:
    assert {"x"} == nullable(f'{{x: "{expression}"}}')[0]


def test_a_product_that_is_read_has_the_nulls_of_its_key() -> None:
    assert [{"shop"}, {"shop"}, {"shop"}] == nullable("[id, shop]", "[id, shop]")


def test_bounds_of_windows_are_never_null() -> None:
    assert [{"shop"}, set(), {"shop"}] == nullable("[shop]")
