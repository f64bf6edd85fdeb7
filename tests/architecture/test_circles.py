"""No module of Joinery needs itself: imports, those within functions too, form no circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"


def test_modules_import_each_other_in_one_direction() -> None:
    files = {_module(file): file for file in sorted((SRC / "joinery").rglob("*.py"))}
    imports = {name: set(_imports(file, files)) - {name} for name, file in files.items()}

    circle = _circle(imports)

    assert [] == circle, "import " + " -> ".join(circle)


def _circle(imports: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []


def _module(file: Path) -> str:
    return ".".join(file.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def _imports(file: Path, files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of ours that a file imports, but for those that only types need."""
    for node in _running(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                module = f"{node.module}.{each.name}"
                yield from (one for one in (module, node.module) if one in files)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in files)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _running(child)
