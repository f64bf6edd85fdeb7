"""The conformance suite on the solutions that keep join state in a store, run by Spark.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.apart import apart

from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.project.product import ProjectSpec, with_solution
from joinery.spark.testing import SparkRunner
from joinery.testing import conformance
from joinery.testing.conformance import all_cases

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize(
    "solution",
    [
        "rdbms-store",
        pytest.param("rdbms-trigger", marks=pytest.mark.exhaustive),
        pytest.param("kv", marks=pytest.mark.exhaustive),
    ],
)
def test_every_case_holds(solution: str, spark: SparkSession, tmp_path: Path) -> None:
    def planner(spec: ProjectSpec) -> Plan:
        return build_plan(with_solution(spec, solution))

    counts = solution != "rdbms-trigger"
    runner = SparkRunner(spark, tmp_path, replay=True, planner=planner, counts=counts)
    for part in apart(all_cases()):
        conformance.check(runner, part)
