"""An aggregate is told once in Python, once in Java and once in the docs, and they agree."""

from __future__ import annotations

import re
from pathlib import Path

from joinery.expression.aggregate import EMBED_AGGREGATES
from joinery.expression.functions import AGGREGATES
from joinery.expression.group_aggregate import GROUP_AGGREGATES

ROOT = Path(__file__).resolve().parents[2]
OF_SKETCHES = {"merge_distinct", "merge_quantile"}
"""Aggregates over sketches, which no text of a case can hold; the oracle has them on Spark."""
KERNEL = ROOT / "kernel/src/main/java/dev/joinery/kernel/node/Aggregate.java"


def test_the_kernel_has_each_aggregate_under_its_name() -> None:
    (body,) = re.findall(r"enum Kind \{(.*?);\n", KERNEL.read_text(encoding="utf-8"), re.S)

    assert list(EMBED_AGGREGATES) == [
        name.lower() for name in re.findall(r"^ *([A-Z_]+)\(", body, re.M)
    ]


def test_the_docs_have_a_row_for_each_aggregate() -> None:
    text = (ROOT / "docs/expressions.md").read_text(encoding="utf-8")
    table = text.split("## Aggregates")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| `")]

    assert {name: each.documented for name, each in EMBED_AGGREGATES.items()} == {
        name.strip(" `"): (takes.strip(), gives.strip())
        for names, takes, gives in rows
        for name in names.split(",")
    }


def test_a_case_of_conformance_has_each_aggregate() -> None:
    cases = ROOT / "src/joinery/testing/conformance"
    values = (cases / "cases/values.py").read_text(encoding="utf-8")
    groups = "".join(
        each.read_text(encoding="utf-8") for each in (cases / "aggregate_cases").glob("*.py")
    )
    missing = {each for each in EMBED_AGGREGATES if not re.search(rf"\b{each}\(", values)}
    missing |= {each for each in GROUP_AGGREGATES if not re.search(rf"\b{each}\(", groups)}

    assert OF_SKETCHES == missing


def test_every_aggregate_is_one_of_sparks() -> None:
    assert AGGREGATES.issuperset(EMBED_AGGREGATES)
