"""Who may import what, and what a plain `import joinery` costs."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "joinery"
HEAVY = ("pyspark", "py4j", "ruamel", "rich", "typer", "sqlite3")
TAKES_LONG = tuple(each for each in HEAVY if each != "ruamel")
IMPORT_LIMIT_SECONDS = 0.2

PROBE = """
import json, sys, time
before = set(sys.modules)
started = time.process_time()
import joinery
spent = time.process_time() - started
print(json.dumps({"seconds": spent, "modules": sorted(set(sys.modules) - before)}))
"""


PROJECT = """
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {key: [id], fields: {id: long, name: string}}}
products: {profile: {root: customer, sink: {files: {path: out}}}}
"""
NOT_FOR_OUTLINES = (
    "ruamel.yaml",
    "http.client",
    "joinery.project.product",
    "joinery.project.kinds",
)
FAR_FROM_STATUS = ("pydantic", "click", "joinery.plan", "joinery.expression", "joinery.semantics")


@cache
def imported_by(path: Path) -> frozenset[str]:
    """Return every module that a file imports when it runs, also inside functions."""
    return frozenset(_imported(ast.parse(path.read_text(encoding="utf-8"))))


def _imported(module: ast.Module) -> Iterator[str]:
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            waiting += ast.iter_child_nodes(node)


def names_imported_by(path: Path) -> Iterator[str]:
    """Yield what a file imports, each name of a module told with it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers_of(package: str) -> set[str]:
    """Return the files below src/joinery that import `package`."""
    return {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if any(name.split(".")[0] == package for name in imported_by(path))
    }


def probe() -> dict[str, object]:
    """Import joinery in a fresh interpreter; return what it loaded and the CPU time it took."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, cwd=ROOT / "src"
    )
    return dict(json.loads(done.stdout))


def loaded_by_status(folder: Path) -> set[str]:
    """Return the modules that `joinery status` loads for the project of a folder."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "joinery", "status"],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "JOINERY_CACHE": str(folder / "cache")},
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_the_layers_import_downwards_only() -> None:
    linter = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run(
        [linter, "--no-logo", "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_spark_package_imports_pyspark() -> None:
    importers = importers_of("pyspark") | importers_of("py4j")

    assert {name for name in importers if not name.startswith("spark/")} == set()


def test_yaml_is_known_to_one_module_that_reads_and_one_that_writes_it() -> None:
    importers = importers_of("ruamel")

    assert {name for name in importers if not name.startswith("project/")} == set()


def test_no_module_is_called_utils() -> None:
    names = {path.stem for path in SOURCES.rglob("*.py")}

    assert {"utils", "util", "helpers", "common", "misc"} & names == set()


def test_what_two_test_modules_need_is_in_a_module_that_is_no_test() -> None:
    tests = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
    names = {(path, name) for path in tests.values() for name in names_imported_by(path)}

    assert [] == sorted(
        f"{path.name} imports {name}"
        for path, name in names
        if name.startswith("tests.") and not tests.keys().isdisjoint(name.split("."))
    )


def test_import_joinery_loads_nothing_heavy() -> None:
    modules = probe()["modules"]

    assert isinstance(modules, list)
    assert {name for name in modules if name.split(".")[0] in HEAVY} == set()


def test_import_joinery_takes_less_than_a_fifth_of_a_second() -> None:
    fastest = min(float(str(probe()["seconds"])) for _ in range(3))

    assert fastest < IMPORT_LIMIT_SECONDS


def test_status_loads_neither_typer_nor_what_plans_and_runs(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")

    loaded = loaded_by_status(tmp_path)

    far = (*TAKES_LONG, *FAR_FROM_STATUS, "joinery.solutions", "joinery.spark")
    assert "joinery.cli.status" in loaded
    assert {each for each in loaded if each.startswith(tuple(f"{name}." for name in far))} == set()
    assert loaded.isdisjoint(far)


def test_status_of_a_project_that_it_has_seen_loads_nothing_that_reads_projects(
    tmp_path: Path,
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")

    first, again = loaded_by_status(tmp_path), loaded_by_status(tmp_path)

    assert "ruamel.yaml" in first
    assert again.isdisjoint(NOT_FOR_OUTLINES)
