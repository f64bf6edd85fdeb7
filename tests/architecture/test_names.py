"""The exact public names of the package: a name added or lost shows here first."""

from __future__ import annotations

import re
from pathlib import Path

import joinery

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "joinery"

PUBLIC = [
    "App",
    "JoineryError",
    "Project",
    "Stream",
    "Table",
    "__version__",
    "aggregate",
    "diff",
    "document",
    "fold",
    "history",
    "load",
    "many",
    "one",
    "outbox",
    "pattern",
    "relation",
    "row",
    "run",
    "runs",
    "search",
    "state",
    "state_documents",
    "state_rows",
    "state_sizes",
    "status",
    "testing",
    "touch",
    "wait",
    "where_to",
    "why",
]


def test_joinery_has_exactly_these_public_names() -> None:
    assert sorted(joinery.__all__) == PUBLIC


def test_every_public_name_can_be_reached() -> None:
    unreachable = [name for name in joinery.__all__ if not hasattr(joinery, name)]

    assert unreachable == []


def test_every_module_says_in_one_line_what_it_is() -> None:
    headers = {
        path.relative_to(SOURCES).as_posix(): path.read_text(encoding="utf-8").split("\n", 1)[0]
        for path in SOURCES.rglob("*.py")
    }

    assert [name for name, line in headers.items() if not re.match(r'r?"""[A-Z`].+', line)] == []


def test_no_source_file_is_longer_than_it_can_be_read() -> None:
    sources = [*SOURCES.rglob("*.py"), *(ROOT / "kernel" / "src" / "main").rglob("*.java")]

    long = {path.name: count for path in sources if (count := lines(path)) > 600}

    assert long == {}


def lines(path: Path) -> int:
    """Count the lines of a file."""
    return path.read_text(encoding="utf-8").count("\n")
