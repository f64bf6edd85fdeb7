"""Each sink has its rows in the docs, and the suite of sinks is run on it."""

from __future__ import annotations

import re
from pathlib import Path

from joinery.project.kinds import SINKS

ROOT = Path(__file__).resolve().parents[2]
NOT_KEPT = {"console"}
"""Sinks of which nothing can be read back, so that the suite has nothing to compare."""


def rows_of(heading: str) -> set[str]:
    """Return the sinks that the first column of a table of `docs/sinks.md` names."""
    page = (ROOT / "docs/sinks.md").read_text(encoding="utf-8")
    part = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    firsts = re.findall(r"^\| (`[^|]+`) \|", part, re.MULTILINE)
    return {name for first in firsts for name in re.findall(r"`(\w+)`", first)}


def test_the_docs_say_what_each_sink_guarantees_and_who_writes_to_it() -> None:
    assert set(SINKS.built_in) == rows_of("Guarantees") == rows_of("Who writes")


def test_each_sink_says_whether_it_keeps_all_that_it_was_sent() -> None:
    kinds = {name: SINKS.options(name) for name in SINKS.built_in}

    assert [] == [name for name, kind in kinds.items() if "keeps_all" not in vars(kind)]


def test_the_suite_of_sinks_is_run_on_each_that_can_be_read_back() -> None:
    texts = [
        text
        for path in (ROOT / "tests").rglob("test_*.py")
        if "sink_cases()" in (text := path.read_text(encoding="utf-8"))
    ]
    examined = {each for text in texts for each in re.findall(r'make_sink\(\s*"(\w+)"', text)}

    assert set(SINKS.built_in) - NOT_KEPT == examined
