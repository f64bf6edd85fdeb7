"""What docs/python.md shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from joinery.project.declare import document, relation
from joinery.project.declare_embed import many, one
from joinery.project.declare_form import outbox

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_project_and_its_test_run_as_shown() -> None:
    names: dict[str, Any] = {}

    for block in BLOCKS[:2]:
        exec(block, names)

    assert [{"repo": "engine", "description": None}] == names["sent"][0].value["starred_repos"]


def test_the_page_names_every_function_that_declares() -> None:
    functions = (relation, document, one, many, outbox)

    assert [] == [each.__name__ for each in functions if f"`jn.{each.__name__}(" not in PAGE]
