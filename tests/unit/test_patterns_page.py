"""What docs/patterns.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.page import Page

import joinery as jn
from joinery.plan.check import check
from joinery.semantics.reference import ReferenceSolution
from joinery.semantics.render import document_json
from joinery.testing.changes import insert, update
from joinery.testing.driver import Driver

PAGE = Page("patterns.md")


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert {"PLAN_NOT_YET"} >= {each.code for each in check(PAGE.written(tmp_path))}


def test_the_rows_of_the_page_give_its_match(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path)).products["suspicious_login"]
    driver = Driver(product)
    rows = [json.loads(line) for line in PAGE.lines("json rows")]

    sent = driver.send(insert("login", **row) for row in rows)

    shown = [
        f'{{"key":{document_json(each.value, product.plan.key)}'
        f',"value":{document_json(each.value, product.plan.output)}}}'
        for each in sent
    ]
    assert PAGE.lines("json matches") == shown


def test_python_declares_the_project_of_the_page(tmp_path: Path) -> None:
    declared = PAGE.declared()

    assert jn.load(PAGE.written(tmp_path)).spec == declared.spec


def test_the_matches_of_the_page_go_by_the_rules_that_stand(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path, "yaml rules")).products["tried_card"]
    driver = Driver(product)
    paid = [(1, 2, 0), (2, 3, 1), (3, 500, 2)]
    rows = [
        {"id": id, "card": "a", "country": "DE", "amount": amount, "at": f"2026-03-01T10:0{at}:00Z"}
        for id, amount, at in paid
    ]

    driver.send(insert("payment", **row) for row in rows)
    assert [] == list(driver.documents())

    driver.send([insert("threshold", country="DE", small=10, large=300)])
    (match,) = driver.documents().values()
    assert (2, 500, 300) == (match["tries"], match["amount"], match["large"])

    driver.send([update("threshold", country="DE", large=600)])
    assert [] == list(driver.documents())


def test_the_matches_of_the_page_are_rows_of_others(tmp_path: Path) -> None:
    plan = jn.load(PAGE.written(tmp_path, "yaml counted")).plan
    rows = [
        {"id": id, "user_id": 7, "ok": id == 4, "at": f"2026-03-01T10:0{id}:00Z"}
        for id in range(1, 5)
    ]
    told = [insert("user", id=7, name="Ada"), *(insert("login", **row) for row in rows)]
    known = {each.name: each for product in plan.products for each in product.relations}

    batch = [each.change(known[each.relation]) for each in told]
    sent = ReferenceSolution(plan.products).apply(batch, 1).documents

    shown = {each.product: each.value or {} for each in sent}
    assert [{"first": 1, "tries": 3}] == shown["account"]["guesses"]
    assert (1, 3) == tuple(shown["guesses_an_hour"][each] for each in ("matches", "tries"))
