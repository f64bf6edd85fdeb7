"""Store-backed solutions in Spark against the reference: random projects in one query.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import failures, make_trial, trials

from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.project.product import ProjectSpec, with_solution
from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRIALS = trials(60, few=8, together=60)


@pytest.mark.parametrize("seeds", TRIALS)
def test_a_store_sends_what_the_reference_sends(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    def planner(spec: ProjectSpec) -> Plan:
        return build_plan(with_solution(spec, "rdbms-store"))

    runner = SparkRunner(spark, tmp_path / "run", replay=True, planner=planner)

    assert [] == failures(make_trial(seeds), runner)
