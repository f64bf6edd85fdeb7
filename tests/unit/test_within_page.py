"""What docs/within.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

from tests.unit.page import Page

import joinery as jn
from joinery.plan.check import check
from joinery.project.emit import When
from joinery.semantics.render import document_json
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

PAGE = Page("within.md")


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert [] == check(PAGE.written(tmp_path))


def test_the_rows_of_the_page_give_its_documents(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path)).products["search_outcome"]
    driver = Driver(product)
    rows = [
        insert(name, **json.loads(line))
        for name in ("search", "click")
        for line in PAGE.lines(f"json {name}")
    ]

    sent = driver.send(rows)

    shown = [
        f'{{"key":{{"id":{each.key}}},"value":{document_json(each.value, product.plan.output)}}}'
        for each in sent
    ]
    assert PAGE.lines("json outcomes") == shown


def test_python_declares_the_project_of_the_page(tmp_path: Path) -> None:
    project = PAGE.declared()

    assert jn.load(PAGE.written(tmp_path)).to_yaml() == project.to_yaml()


def test_the_page_tells_when_a_document_is_sent() -> None:
    assert set(get_args(When)) <= set(re.findall(r"`when: (\w+)", PAGE.text))
