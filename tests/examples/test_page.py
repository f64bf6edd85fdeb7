"""The dashboard in a real browser."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from examples.coffee_shop.page import served
from examples.coffee_shop.serving import SqliteServing

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
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
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE enriched_orders ({', '.join(ORDER)})")
        marks = ", ".join("?" for _ in ORDER)
        database.execute(f"INSERT INTO enriched_orders VALUES ({marks})", tuple(ORDER.values()))

    (tmp_path / "comparison.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    serving = SqliteServing(path)
    with served(lambda: serving, lambda: "0 of 1 orders were stale", tmp_path) as address:
        done = subprocess.run(
            [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
            + ["--virtual-time-budget=3000", f"--user-data-dir={tmp_path / 'profile'}", address],
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
        )

    assert "<td>Ada &lt;b&gt;Abel&lt;/b&gt;</td><td>gold</td><td>Lungo 3</td>" in done.stdout
    assert "0 of 1 orders were stale" in done.stdout
    assert 'alt="comparison.svg"' in done.stdout
