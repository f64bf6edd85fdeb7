"""The dashboard in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples.coffee_shop.serving import SqliteServing, shown
from examples.page import served
from tests.examples.browser import BROWSER, dumped
from tests.sqlite_file import sqlite_file

EXAMPLES = Path(__file__).parents[2] / "examples"
ORDER = {
    "order_id": 7,
    "customer_id": 1,
    "customer": "Ada <b>Abel</b>",
    "tier": "gold",
    "product": "Lungo 3",
    "quantity": 2,
    "total": 6.4,
    "ordered_at": "2026-02-03T04:05:06Z",
}


@pytest.mark.services
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_a_browser_shows_the_orders(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite_file(path) as database:
        database.execute(f"CREATE TABLE enriched_orders ({', '.join(ORDER)})")
        marks = ", ".join("?" for _ in ORDER)
        database.execute(f"INSERT INTO enriched_orders VALUES ({marks})", tuple(ORDER.values()))

    (tmp_path / "comparison.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    serving = SqliteServing(path)
    page = EXAMPLES / "coffee_shop/page.html"
    with served(page, lambda: shown(serving, "0 of 1 orders were stale"), tmp_path) as address:
        dom = dumped(address, tmp_path)

    assert "<td>Ada &lt;b&gt;Abel&lt;/b&gt;</td><td>gold</td><td>Lungo 3</td>" in dom
    assert "0 of 1 orders were stale" in dom
    assert 'alt="comparison.svg"' in dom
