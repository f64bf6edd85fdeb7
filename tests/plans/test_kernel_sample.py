"""The program that the kernel's tests read is the planner's; `make golden` rewrites it."""

from __future__ import annotations

import os
from pathlib import Path

from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.solutions.spark_state.lower import lower

RESOURCES = Path(__file__).parents[2] / "kernel/src/test/resources"


def test_the_kernels_timeline_is_lowered_as_it_stands() -> None:
    file = RESOURCES / "timeline.json"

    made = lower(build_plan(load_spec(RESOURCES / "timeline.yaml")).products).to_json() + "\n"

    if os.environ.get("JOINERY_GOLDEN") == "write":
        file.write_text(made, encoding="utf-8")
    assert made == file.read_text(encoding="utf-8")
