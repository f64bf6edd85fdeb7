"""What docs/timelines.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.page import Page

import joinery as jn
from joinery.plan.check import check
from joinery.semantics.render import document_json
from joinery.testing.changes import delete, insert
from joinery.testing.driver import Driver

PAGE = Page("timelines.md")


def driver_of(folder: Path) -> Driver:
    """Return a driver that was sent the rows of the page."""
    driver = Driver(jn.load(PAGE.written(folder)).products["timeline"])
    rows = [json.loads(line) for line in PAGE.lines("json rows")]
    driver.send(insert(name, **row) for each in rows for name, row in each.items())
    return driver


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert [] == check(PAGE.written(tmp_path))


def test_the_rows_of_the_page_give_its_document(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path)).products["timeline"]

    document = driver_of(tmp_path).documents()[1]

    assert PAGE.blocks["json document"].strip() == document_json(document, product.plan.output)


def test_an_unfollow_takes_posts_and_a_delete_makes_room_for_the_next(tmp_path: Path) -> None:
    driver = driver_of(tmp_path)

    driver.send(delete("post", id=12))
    without = [each["text"] for each in driver.documents()[1]["posts"]]
    driver.send(delete("follow", id=2))

    assert ["sun", "rain"] == without
    assert ["rain"] == [each["text"] for each in driver.documents()[1]["posts"]]


def test_python_declares_the_project_of_the_page(tmp_path: Path) -> None:
    project = PAGE.declared()

    assert jn.load(PAGE.written(tmp_path)).to_yaml() == project.to_yaml()
