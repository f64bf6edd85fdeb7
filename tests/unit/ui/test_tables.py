"""The tables of the page: what their columns show, and their order."""

from __future__ import annotations

from joinery.observe.status import ProductStatus
from joinery.ui.tables import FLEET, SORTS


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
