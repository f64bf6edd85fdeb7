"""What follows for a product from the products that it reads."""

from __future__ import annotations

from joinery.plan.build import build_plan, examine
from joinery.testing.conformance.project import load_text

HOURS = """
relations:
  sale: {key: [id], fields: {id: long, shop: string, amount: int, at: timestamp}, time: at}
  hours: {product: hourly, time: window_start}
products:
  hourly:
    aggregate: sale
    by: [shop]
    window: {tumbling: 1h}
    values: {total: sum(amount)}
    group: shops
    ready: [sale]
  dear: {pattern: hours, by: [shop], match: A A, define: {A: total > 9}, WITHIN group: shops}
"""


def test_a_product_waits_for_what_it_reads_waits_for() -> None:
    plan = build_plan(load_text(HOURS.replace("WITHIN", "within: 2h,")))

    assert [("sale",), ("sale",)] == [each.ready for each in plan.products]


def test_a_pattern_over_a_product_is_warned_of_since_its_rows_are_never_late() -> None:
    plan = build_plan(load_text(HOURS.replace("WITHIN", "within: 2h,")))

    (warning,) = [each for each in plan.warnings if each.code == "PLAN_UNBOUNDED"]
    assert 'the rows of product "hourly" are kept forever' == warning.message


def test_a_product_whose_root_has_a_misspelled_key_is_not_read_further() -> None:
    text = """
relations:
  shop: {key: [ide], fields: {id: long, town: string}}
products:
  card: {root: shop, group: shops}
  towns: {aggregate: card, by: [town], values: {n: count(*)}, group: shops}
"""

    _, problems, _ = examine(load_text(text))

    assert ['relation "shop" has no field "ide"'] == [each.message for each in problems]


def test_a_match_that_is_read_may_show_nothing_under_the_name_of_a_column_of_its_start() -> None:
    text = """
relations:
  sale: {key: [id], fields: {id: long, shop: string, at: timestamp}, time: at}
products:
  pair: {pattern: sale, by: [shop], match: A B, within: 1h, fields: {start.id: B.id}, group: shops}
  pairs: {aggregate: pair, values: {n: count(*)}, group: shops}
"""

    _, problems, _ = examine(load_text(text))

    told = 'product "pair" is read by others, and "start.id" is a column twice'
    assert [told] == [each.message for each in problems]
