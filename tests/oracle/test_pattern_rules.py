"""Random patterns with rules: they find what patterns do whose rows have the parameters as columns.

Rows and rules come in any order and are corrected; the matches that stand at the end of each batch
are those of one batch with the rows as they are then, each with the columns of its rules.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.patterns import RULES, random_changes, random_project, with_rules

from joinery.plan.build import build_plan
from joinery.testing.changes import RowChange, insert
from joinery.testing.conformance.joined import joined
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from joinery.plan.product import Product

COLUMNS = {"s": "string", "lo": "long", "hi": "long", "w": "string"}
ON = {"r": "s", "q": "a"}
KEPT = re.compile(r"(?<=watermark: \{delay: )\w+")


@pytest.mark.parametrize("seed", each_seed(range(40), few=12))
def test_the_parameters_of_rules_are_as_if_they_were_columns(seed: int) -> None:
    pick = random.Random(seed)
    project = random_project(pick, append=False, ruled=True)
    project = re.sub(r"emit: \{.*\}", "emit: {when: changed}", project)
    project = KEPT.sub("900d", project).replace("not N", "")
    project = re.sub(r"N: \"[^\"]*\",? ?", "", project)
    changes = with_rules(pick, random_changes(pick, append=False))
    driver = Driver(_product(project))
    standing: dict[str, dict[Any, dict[str, Any]]] = {"e": {}, "rule": {}}

    start = 0
    for end in [*sorted(pick.sample(range(1, len(changes)), 6)), len(changes)]:
        driver.send(changes[start:end])
        for each in changes[start:end]:
            _note(standing, each)
        start = end

        whole = Driver(_product(_with_columns(project)))
        whole.send([_with_rules(row, standing["rule"]) for row in standing["e"].values()])

        assert whole.documents() == _shown(driver.documents()), (end, project)


def _product(project: str) -> Product:
    (product,) = build_plan(joined([load_text(project)])).products
    return product


def _note(standing: dict[str, dict[Any, dict[str, Any]]], change: RowChange) -> None:
    rows, key = standing[change.relation], change.columns["id" if change.relation == "e" else "s"]
    if change.op == "delete":
        rows.pop(key)
    else:
        rows[key] = {**rows.get(key, {}), **change.columns}


def _with_columns(project: str) -> str:
    """Return a project without rules, whose rows have their columns under other names."""
    names = [f"{rule}_{each}" for rule in ON for each in COLUMNS]
    added = ", ".join(
        f"{n}: {kind}" for n, kind in zip(names, [*COLUMNS.values()] * 2, strict=True)
    )
    text = project.replace(RULES, "").replace("at: timestamp}", f"at: timestamp, {added}}}")
    text = text.replace("r is null", "r_s is null")
    text = re.sub(r'rule: "(\w)\.r"', r'rule: "\1.r_s"', text)
    return re.sub(r"\b([rq])\.(s|lo|hi|w)\b", r"\1_\2", text)


def _shown(documents: Mapping[Any, Mapping[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return documents with the key of a rule in place of all that a match shows of it."""
    shown = {key: dict(value) for key, value in documents.items()}
    for each in shown.values():
        if isinstance(each.get("rule"), dict):
            each["rule"] = each["rule"]["s"]
    return shown


def _with_rules(row: dict[str, Any], rules: dict[Any, dict[str, Any]]) -> RowChange:
    seen = {
        f"{rule}_{each}": rules.get(row[column], {}).get(each)
        for rule, column in ON.items()
        for each in COLUMNS
    }
    return insert("e", **row, **seen)
