"""The coffee shop's parts that need no Spark: its company, comparison, window and page."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

from examples.coffee_shop.company import Company, Sizes
from examples.coffee_shop.comparison import QUESTIONS, Shop, Sqlite, compare
from examples.coffee_shop.serving import SqliteServing, shown
from examples.coffee_shop.window import window
from examples.log import FileLog
from examples.page import served


def lines(folder: Path, topic: str) -> list[dict[str, object]]:
    files = sorted((folder / topic).glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_the_company_writes_its_three_topics(tmp_path: Path) -> None:
    company = Company(FileLog(tmp_path), Sizes(customers=5, products=3))

    company.open()
    company.order(20)
    company.edit_customer(2)
    company.change_price(1)

    counts = [len(lines(tmp_path, topic)) for topic in ("customers", "products", "orders")]
    assert [6, 4, 20] == counts
    assert [0, 1] == [row["revision"] for row in lines(tmp_path, "customers") if row["id"] == 2]
    assert company.prices[1] == round(float(str(lines(tmp_path, "products")[-1]["price"])) * 100)


def test_an_order_is_stale_by_the_first_revision_that_it_misses() -> None:
    edits = {1: [0.0, 5.0, 6.0]}
    orders = [(1, 4.0, 0), (1, 7.0, 0), (1, 7.0, 1), (1, 7.0, 2), (1, 9.0, None)]

    found = window(edits, orders)

    assert (5, (1.0, 2.0), 1) == (found.orders, found.stale_s, found.missing)


def test_both_forms_give_the_same_rows(tmp_path: Path) -> None:
    shop = Shop(orders=40_000, customers=500, products=80)

    compared = compare(Sqlite(tmp_path / "shop.db"), shop, readers=2, seconds=0.1)

    assert list(QUESTIONS) == [each.question for each in compared]
    assert all(each.flat.per_second > 0 for each in compared)


def test_the_page_is_there_before_the_first_order(tmp_path: Path) -> None:
    serving = SqliteServing(tmp_path / "shop.db")
    page = Path(__file__).parents[2] / "examples/coffee_shop/page.html"
    with (
        served(page, lambda: shown(serving, "no order yet"), tmp_path) as address,
        urlopen(f"{address}/data.json", timeout=60) as answer,
        urlopen(address, timeout=60) as shown_page,
    ):
        expected = {"tiers": [], "orders": [], "window": "no order yet", "charts": []}
        assert expected == json.load(answer)
        assert b"Coffee shop" in shown_page.read()
