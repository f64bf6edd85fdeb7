"""Golden plans: each text holds a spec and what follows from it; `make golden` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joinery.plan.build import build_plan
from joinery.plan.explain.text import render_plan
from joinery.plan.product import Product
from joinery.project.load import load_spec
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.render import render_program

CASES = sorted(Path(__file__).parent.glob("*.txt"))
MARK = "-- logical\n"


def golden(spec_text: str, folder: Path) -> str:
    """Return the whole text that belongs to a spec."""
    file = folder / "joinery.yaml"
    file.write_text(spec_text.removeprefix("-- spec\n"), encoding="utf-8")
    plan = build_plan(load_spec(file))
    queries: dict[str, list[Product]] = {}
    for product in plan.products:
        queries.setdefault(product.query, []).append(product)
    programs = (
        f"-- kernel {name}\n{render_program(lower(each))}" for name, each in queries.items()
    )
    return spec_text + MARK + render_plan(plan) + "".join(programs)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_plan_reads_as_written(case: Path, tmp_path: Path) -> None:
    text = case.read_text(encoding="utf-8")

    made = golden(text.partition(MARK)[0], tmp_path)

    if os.environ.get("JOINERY_GOLDEN") == "write":
        case.write_text(made, encoding="utf-8")
    assert made == case.read_text(encoding="utf-8")


def test_there_are_golden_plans() -> None:
    assert CASES
