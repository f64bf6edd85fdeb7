"""Each part of the bench that a page, the Makefile or another part names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(
    r"-m (bench\.[\w.]*\w)|^(?:from|import) (bench\.[\w.]+)|\"(bench\.[\w.]+)\"|`(bench/[\w./]*\w)"
    r"|joinery run (bench/[\w./]*\w)",
    re.MULTILINE,
)
PAGES = ("*.md", "docs/**/*.md", "bench/*.md", "Makefile", "pyproject.toml")
CODE = ("bench/*/*.py", "bench/*/*.yaml", "tests/*/test_*.py")


def named() -> Iterator[tuple[str, str]]:
    """Yield what is named, a module or a path, and where."""
    for file in (each for place in (*PAGES, *CODE) for each in ROOT.glob(place)):
        for found in NAMED.finditer(file.read_text(encoding="utf-8")):
            yield next(filter(None, found.groups())), str(file.relative_to(ROOT))


def is_there(name: str) -> bool:
    path = ROOT / (name if "/" in name else name.replace(".", "/"))
    return path.exists() or ("/" not in name and path.with_suffix(".py").exists())


def test_what_is_named_of_the_bench_is_there() -> None:
    told = set(named())

    assert [] == sorted(each for each in told if not is_there(each[0]))
    assert len(told) > 100
