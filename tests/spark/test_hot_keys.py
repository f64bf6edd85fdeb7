"""Keys that get most messages: counted by tasks, named by `joinery status` and on the page."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joinery as jn
from joinery.model.hot_key import HotKey
from joinery.observe.status import project_status
from joinery.observe.status_text import status_lines
from joinery.project.load import load_spec
from joinery.ui.fleet import Fleet
from joinery.ui.site import site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  purchase: {key: [no], fields: {no: long, customer: string, amount: long}}
products:
  profile:
    root: customer
    embed: {spent: {many: purchase, on: {customer: name}, fields: [amount]}}
    sink: {files: {path: out}}
  names: {root: customer, sink: {files: {path: out}}}
run: {max_rows_per_batch: 3000}
"""
CUSTOMERS = 400
PURCHASES = 9_000
HOT = "<i>ada</i>"


def ran(spark: SparkSession, folder: Path, customers: Sequence[str]) -> dict[str, list[HotKey]]:
    """Run a project over a purchase of each of `customers`; return its hot keys by product."""
    lines = {
        "customer": [{"id": id_, "name": each} for id_, each in enumerate(sorted({*customers}))],
        "purchase": [{"no": no, "customer": of, "amount": 1} for no, of in enumerate(customers)],
    }
    for relation, rows in lines.items():
        target = folder / "data" / relation
        target.mkdir(parents=True)
        for start in range(0, len(rows), 3000):
            part = rows[start : start + 3000]
            text = "".join(f"{json.dumps(each)}\n" for each in part)
            (target / f"{start:06}.jsonl").write_text(text, encoding="utf-8")
    (folder / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    jn.run(spark, jn.load(folder / "joinery.yaml"), once=True).await_termination()
    found = project_status(load_spec(folder / "joinery.yaml"))
    return {each.product: list(each.hot_keys) for each in found.products}


def drawn(hot_share: float) -> list[str]:
    """Return who bought what: one customer with a part of all, the others as it comes."""
    draw = random.Random(5)
    others = [f"customer {number}" for number in range(CUSTOMERS)]
    return [HOT if draw.random() < hot_share else draw.choice(others) for _ in range(PURCHASES)]


def test_a_hot_key_is_named_with_its_share(spark: SparkSession, tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    bought = drawn(0.4)
    exact = bought.count(HOT)

    found = ran(spark, tmp_path, bought)

    hottest = found["profile"][0]
    assert ("customer", HOT) == (hottest.by, hottest.key)
    # Beside its purchases: the customer itself, and what is sent on of each batch.
    assert exact <= hottest.messages + hottest.error
    assert hottest.messages <= exact + 20
    assert PURCHASES <= hottest.of <= PURCHASES + 5 * CUSTOMERS
    assert hottest.share <= hottest.most <= hottest.share + 0.01
    assert hottest.named
    assert [] == found["names"]

    file = tmp_path / "joinery.yaml"
    lines = list(status_lines(project_status(load_spec(file)), 20))
    [line] = [each for each in lines if "hot key" in each]
    assert line.startswith(f"    hot key: customer = {HOT} has ")
    client = TestClient(site(Fleet.load([file])), base_url="http://localhost")
    for address in ("/", "/p/shop/profile"):
        page = client.get(address).text
        assert "hot key: customer = &lt;i&gt;ada&lt;/i&gt; has" in page
        assert HOT not in page
    first, *_ = client.get("/p/shop/profile/hot_keys.json").json()
    assert (HOT, hottest.messages) == (first["key"], first["messages"])


def test_where_all_keys_get_as_much_none_is_named(spark: SparkSession, tmp_path: Path) -> None:
    found = ran(spark, tmp_path, drawn(0.0))

    assert {"profile": [], "names": []} == found
