"""The DataFrame that docs/python.md shows holds the documents that it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
DECLARED, _, FRAMES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[:3]


def test_documents_come_as_a_data_frame(spark: SparkSession) -> None:
    names: dict[str, Any] = {"spark": spark}
    exec(DECLARED, names)

    exec(FRAMES, names)

    (found,) = names["documents"].select("value.*").collect()
    assert ("ada@example.org", "ada") == (found.email, found.username)
    assert [("engine", None)] == [(each.repo, each.description) for each in found.starred_repos]
