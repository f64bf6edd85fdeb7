"""What ARCHITECTURE.md names is there: files, also of changes, and the walk of a change."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CHANGES = (ROOT / "docs/design/changing.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"^\| \d \| `(?P<function>[\w.]+)`, (?:`(?P<file>[\w/.]+)`|in the same file)", re.M
)
STEPS = 9


def defined_in(file: Path) -> set[str]:
    """Return the functions of a module, and its classes' methods as `Class.method`."""
    found = set()
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.FunctionDef):
            found.add(each.name)
        elif isinstance(each, ast.ClassDef):
            methods = (one for one in each.body if isinstance(one, ast.FunctionDef))
            found |= {f"{each.name}.{one.name}" for one in methods}
    return found


def test_each_file_that_the_pages_name_is_there() -> None:
    folders = (ROOT / name for name in ("src", "kernel/src", "tests", "docs"))
    files = {f"/{each}" for each in chain.from_iterable(map(files_below, folders))}
    named = set(re.findall(r"`([\w/]+\.(?:py|java|sql|toml|md))`", PAGE + CHANGES))

    top = {each.name for each in ROOT.iterdir()}
    assert [] == sorted(
        name
        for name in named
        if name not in top and not any(each.endswith(f"/{name}") for each in files)
    )


def files_below(folder: Path) -> list[str]:
    return [each.as_posix() for each in folder.rglob("*") if each.is_file()]


def test_the_walk_of_a_change_goes_through_functions_that_are_there() -> None:
    steps = list(STEP.finditer(PAGE))
    missing, file = [], ""
    for step in steps[:-1]:  # the last is a method of any sink
        file = step["file"] or file
        if step["function"] not in defined_in(ROOT / "src/joinery" / file):
            missing.append(step["function"])

    assert [] == missing
    assert STEPS == len(steps)
