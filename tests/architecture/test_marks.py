"""What needs Spark or a server is marked, so that `make check` and `make coverage` leave it out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
MARKED = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.(spark|services|chaos)\b", re.MULTILINE)


@pytest.mark.parametrize("folder", ["spark", "services", "chaos"])
def test_each_file_of_a_folder_has_a_mark(folder: str) -> None:
    texts = {each.name: each.read_text("utf-8") for each in (TESTS / folder).glob("test_*.py")}

    assert texts
    assert [] == sorted(name for name, text in texts.items() if not MARKED.search(text))
