"""What docs/history.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.page import Page

import joinery as jn
from joinery.plan.check import check
from joinery.semantics.render import document_json
from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.driver import Driver, Emission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from joinery.app.project import Product

PAGE = Page("history.md")


def told(line: str, relation: str = "customer") -> RowChange:
    row = json.loads(line)
    gone = row.pop("__deleted", False)
    return delete(relation, **row) if gone else insert(relation, **row)


def lines(product: Product, sent: Iterable[Emission]) -> list[str]:
    names = [each.name for each in product.plan.key.fields]
    return [
        f'{{"key":{document_json(dict(zip(names, each.key, strict=True)), product.plan.key)}'
        f',"value":{document_json(each.value, product.plan.output)}}}'
        for each in sent
    ]


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert [] == [each for each in check(PAGE.written(tmp_path)) if each.code != "PLAN_NOT_YET"]


def test_the_rows_of_the_page_give_its_versions(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path)).products["customer_tiers"]
    driver = Driver(product)

    sent = driver.send(told(line) for line in PAGE.lines("json rows"))

    assert PAGE.lines("json versions") == lines(product, sent)


def test_a_correction_of_the_page_leaves_what_was_known(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path, "yaml known")).products["price_history"]
    first, second = (told(line, "price") for line in PAGE.lines("json prices"))
    driver = Driver(product)

    driver.send(first)

    assert PAGE.lines("json known") == lines(product, driver.send(second))


def test_python_declares_the_product_of_the_page(tmp_path: Path) -> None:
    project = PAGE.declared()

    assert jn.load(PAGE.written(tmp_path)).spec.products == project.spec.products


def test_the_invoice_of_the_page_has_the_rate_of_its_day(tmp_path: Path) -> None:
    file = PAGE.written(tmp_path, "yaml as_of")
    driver = Driver(jn.load(file).products["invoice"])

    driver.send(
        insert("tax_rate", region="de", percent=19, valid_from="2026-01-01T00:00:00Z"),
        insert("tax_rate", region="de", percent=16, valid_from="2026-07-01T00:00:00Z"),
        insert("sale", id=1, region="de", placed_at="2026-06-30T12:00:00Z"),
        insert("sale", id=2, region="de", placed_at="2026-07-01T00:00:00Z"),
    )

    assert [] == [each for each in check(file) if each.code != "PLAN_NOT_YET"]
    assert [19, 16] == [each["tax"]["percent"] for each in driver.documents().values()]


def test_a_change_that_tells_no_time_of_knowing_is_counted(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path, "yaml known")).products["price_history"]
    driver = Driver(product)

    driver.send([insert("price", sku="a", cents=1, valid_since="2026-01-01T00:00:00Z")])

    assert 1 == driver.counters["event_without_time"]
