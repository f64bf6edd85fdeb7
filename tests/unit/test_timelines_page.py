"""What docs/timelines.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import joinery as jn
from joinery.plan.check import check
from joinery.semantics.render import document_json
from joinery.testing.changes import delete, insert
from joinery.testing.driver import Driver

PAGE = (Path(__file__).parents[2] / "docs" / "timelines.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(yaml|python|json rows|json document)\n(.*?)```", PAGE, re.DOTALL))


def written(folder: Path) -> Path:
    file = folder / "joinery.yaml"
    file.write_text(BLOCKS["yaml"], encoding="utf-8")
    return file


def driver_of(folder: Path) -> Driver:
    """Return a driver that was sent the rows of the page."""
    driver = Driver(jn.load(written(folder)).products["timeline"])
    rows = [json.loads(line) for line in BLOCKS["json rows"].splitlines()]
    driver.send(insert(name, **row) for each in rows for name, row in each.items())
    return driver


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert [] == check(written(tmp_path))


def test_the_rows_of_the_page_give_its_document(tmp_path: Path) -> None:
    product = jn.load(written(tmp_path)).products["timeline"]

    document = driver_of(tmp_path).documents()[1]

    assert BLOCKS["json document"].strip() == document_json(document, product.plan.output)


def test_an_unfollow_takes_posts_and_a_delete_makes_room_for_the_next(tmp_path: Path) -> None:
    driver = driver_of(tmp_path)

    driver.send(delete("post", id=12))
    without = [each["text"] for each in driver.documents()[1]["posts"]]
    driver.send(delete("follow", id=2))

    assert ["sun", "rain"] == without
    assert ["rain"] == [each["text"] for each in driver.documents()[1]["posts"]]


def test_python_declares_the_project_of_the_page(tmp_path: Path) -> None:
    names: dict[str, object] = {}

    exec(BLOCKS["python"], names)

    project = names["project"]
    assert isinstance(project, jn.Project)
    assert jn.load(written(tmp_path)).to_yaml() == project.to_yaml()
