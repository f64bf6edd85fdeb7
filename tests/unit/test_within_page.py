"""What docs/within.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import joinery as jn
from joinery.plan.check import check
from joinery.project.emit import When
from joinery.semantics.render import document_json
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

PAGE = (Path(__file__).parents[2] / "docs" / "within.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(yaml|python|json \w+)\n(.*?)```", PAGE, re.DOTALL))


def written(folder: Path) -> Path:
    file = folder / "joinery.yaml"
    file.write_text(BLOCKS["yaml"], encoding="utf-8")
    return file


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert [] == check(written(tmp_path))


def test_the_rows_of_the_page_give_its_documents(tmp_path: Path) -> None:
    product = jn.load(written(tmp_path)).products["search_outcome"]
    driver = Driver(product)
    rows = [
        insert(name, **json.loads(line))
        for name in ("search", "click")
        for line in BLOCKS[f"json {name}"].splitlines()
    ]

    sent = driver.send(rows)

    shown = [
        f'{{"key":{{"id":{each.key}}},"value":{document_json(each.value, product.plan.output)}}}'
        for each in sent
    ]
    assert BLOCKS["json outcomes"].splitlines() == shown


def test_python_declares_the_project_of_the_page(tmp_path: Path) -> None:
    names: dict[str, object] = {}

    exec(BLOCKS["python"], names)

    project = names["project"]
    assert isinstance(project, jn.Project)
    assert jn.load(written(tmp_path)).to_yaml() == project.to_yaml()


def test_the_page_tells_when_a_document_is_sent() -> None:
    assert set(get_args(When)) <= set(re.findall(r"`when: (\w+)", PAGE))
