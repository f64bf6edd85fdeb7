"""The tables of the page: what their columns show, and their order."""

from __future__ import annotations

from joinery.model.hot_key import HotKey
from joinery.model.status import ProductTotals
from joinery.observe.status import ProductStatus
from joinery.ui.tables import FLEET, SORTS, hot_key_table


def test_products_are_sorted_by_what_they_cost() -> None:
    costs = {"a": None, "b": 0.02, "c": 0.9}
    products = [
        ProductStatus(product=name, query=name, state="live", cost=cost)
        for name, cost in costs.items()
    ]

    assert ["c", "b", "a"] == [each.product for each in sorted(products, key=SORTS["cost"])]


def test_a_cost_is_shown_in_per_cent_and_a_dash_where_there_is_none() -> None:
    [column] = [each for each in FLEET if each.name == "cost"]

    assert ("90%", "-") == (column.show(0.9), column.show(None))


def test_hot_keys_are_shown_with_their_share_and_its_bound() -> None:
    key = HotKey(
        node="Match p/q", by="x", key="<b>", messages=4000, error=400, of=10_000, batches=20
    )

    table = hot_key_table(ProductTotals(relations=(), hot_keys=(key,)))

    [row] = table.rows
    assert ["Match p/q", "x", "<b>", "40%", "44%", "4,000", "400", "10,000"] == [
        each.show(row[each.name]) for each in table.columns
    ]
    assert () == hot_key_table(None).rows
