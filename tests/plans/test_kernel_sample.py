"""The programs that the kernel's tests read are the planner's; `make golden` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.solutions.spark_state.lower import lower

RESOURCES = Path(__file__).parents[2] / "kernel/src/test/resources"


SAMPLES = ["timeline", "patterns", "crowded", "waiting", "intervals", "searched"]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_kernels_samples_are_lowered_as_they_stand(name: str) -> None:
    file = RESOURCES / f"{name}.json"

    made = lower(build_plan(load_spec(RESOURCES / f"{name}.yaml")).products).to_json() + "\n"

    if os.environ.get("JOINERY_GOLDEN") == "write":
        file.write_text(made, encoding="utf-8")
    assert made == file.read_text(encoding="utf-8")
