"""Prices of a million changes."""

from __future__ import annotations

import pytest

from joinery.solutions.price import PriceError, Prices


def test_a_server_is_paid_beside_the_worker() -> None:
    prices = Prices(worker_hour=3.6, database_hour=7.2)

    assert [0.1, 0.3] == [
        pytest.approx(prices.of_million(10_000, server=server)) for server in (None, "database")
    ]


def test_units_are_paid_by_the_million() -> None:
    prices = Prices(worker_hour=0, read_million=0.25, write_million=1.25)

    assert 5.5 == prices.of_million(1, server=None, reads=2, writes=4)


def test_a_list_replaces_what_it_names() -> None:
    assert Prices(worker_hour=1.5) == Prices().with_list({"worker_hour": 1.5})


@pytest.mark.parametrize("told", [{"worker_hours": 1}, {"worker_hour": "much"}])
def test_a_list_with_something_else_is_refused(told: dict[str, object]) -> None:
    with pytest.raises(PriceError):
        Prices().with_list(told)
