"""What docs/aggregates.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

from tests.unit.page import Page

import joinery as jn
from joinery.expression.aggregate import EMBED_AGGREGATES
from joinery.expression.group_aggregate import GROUP_AGGREGATES
from joinery.plan.check import check
from joinery.project.emit import LateRows, When
from joinery.project.read_window import WINDOW_KINDS
from joinery.semantics.render import document_json
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

PAGE = Page("aggregates.md")
TREND = next(text for kind, text in PAGE.found if kind == "yaml" and text.startswith("name: trend"))


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert [] == check(PAGE.written(tmp_path))


def test_the_rows_of_the_page_give_its_groups(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path)).products["page_minutes"]
    driver = Driver(product)
    rows = [json.loads(line) for line in PAGE.lines("json rows")]

    sent = driver.send(insert("view", **row) for row in rows)

    names = [each.name for each in product.plan.key.fields]
    shown = [
        f'{{"key":{document_json(dict(zip(names, each.key, strict=True)), product.plan.key)}'
        f',"value":{document_json(each.value, product.plan.output)}}}'
        for each in sent
    ]
    assert PAGE.lines("json groups") == shown


def test_the_project_of_sketches_has_no_problem(tmp_path: Path) -> None:
    file = PAGE.written(tmp_path, "yaml sketches")

    assert [] == check(file)


def test_python_declares_the_project_of_the_page(tmp_path: Path) -> None:
    project = PAGE.declared()

    assert jn.load(PAGE.written(tmp_path)).to_yaml() == project.to_yaml()


def test_short_calls_declare_the_product_of_the_page(tmp_path: Path) -> None:
    names: dict[str, object] = {}

    for block in [text for kind, text in PAGE.found if kind == "python"][:2]:
        exec(block, names)

    app = names["app"]
    assert isinstance(app, jn.App)
    assert jn.load(PAGE.written(tmp_path)).spec.products == app.spec.products
    assert jn.load(PAGE.written(tmp_path)).spec.relations == app.spec.relations


def test_the_trend_of_the_page_compares_an_hour_with_the_one_a_week_before(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(TREND, encoding="utf-8")
    driver = Driver(jn.load(file).products["trend"])

    driver.send(
        insert("view", page="home", at="2026-03-01T10:10:00Z"),
        insert("view", page="home", at="2026-03-08T10:20:00Z"),
        insert("view", page="home", at="2026-03-08T10:30:00Z"),
    )

    assert [] == [each for each in check(file) if each.severity == "error"]
    assert [1, 1] == [each["more"] for each in driver.documents().values()]


def test_the_page_tells_every_function_window_and_policy() -> None:
    words = set(re.findall(r"`\{?([a-z_]+)", PAGE.text))

    assert {*EMBED_AGGREGATES, *GROUP_AGGREGATES, *WINDOW_KINDS} <= words
    for key, known in (("when", get_args(When)), ("late", get_args(LateRows))):
        assert set(known) <= set(re.findall(rf"`{key}: (\w+)", PAGE.text))
