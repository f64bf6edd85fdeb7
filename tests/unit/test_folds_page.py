"""What docs/folds.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.page import Page

import joinery as jn
from joinery.plan.check import check
from joinery.semantics.render import document_json
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

PAGE = Page("folds.md")


def test_the_projects_of_the_page_have_no_problem(tmp_path: Path) -> None:
    for block in ("yaml", "yaml views"):
        problems = check(PAGE.written(tmp_path, block))

        assert [] == [each for each in problems if each.code != "PLAN_NOT_YET"]


def test_the_events_of_the_page_make_its_states(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path)).products["account"]
    driver = Driver(product)

    sent = driver.send(
        insert("account_event", **{"owner": None, "amount": None, **json.loads(line)})
        for line in PAGE.lines("json events")
    )

    names = [each.name for each in product.plan.key.fields]
    shown = [
        f'{{"key":{document_json(dict(zip(names, [each.key], strict=True)), product.plan.key)}'
        f',"value":{document_json(each.value, product.plan.output)}}}'
        for each in sent
    ]
    assert PAGE.lines("json states") == shown


def test_python_declares_the_product_of_the_page(tmp_path: Path) -> None:
    project = PAGE.declared()

    assert jn.load(PAGE.written(tmp_path)).spec.products == project.spec.products


def test_the_views_of_the_page_are_of_one_query(tmp_path: Path) -> None:
    products = jn.load(PAGE.written(tmp_path, "yaml views")).products

    assert {"views"} == {each.plan.query for each in products.values()}
