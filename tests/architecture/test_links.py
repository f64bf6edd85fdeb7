"""Each link of a page to another page, or to a heading of one, leads there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "examples", "ops")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)


def pages() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    for each in FOLDERS:
        yield from (ROOT / each).rglob("*.md")


@cache
def text_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return frozenset(names)


def leads_there(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors(target.resolve())


def test_each_link_between_pages_leads_there() -> None:
    links = [
        (page, link)
        for page in pages()
        for link in LINK.findall(text_of(page))
        if "://" not in link and not link.startswith("mailto:")
    ]

    broken = [
        (str(page.relative_to(ROOT)), link) for page, link in links if not leads_there(page, link)
    ]

    assert [] == broken
    assert len(links) > 500
