"""Store-backed solutions in Spark against the reference: random projects in one query.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import chosen_seeds, failures, make_trial

from joinery.plan.build import build_plan
from joinery.plan.nodes import Plan
from joinery.project.product import ProjectSpec, with_solution
from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SEEDS = chosen_seeds(60)


def test_a_store_sends_what_the_reference_sends(spark: SparkSession, tmp_path: Path) -> None:
    def planner(spec: ProjectSpec) -> Plan:
        return build_plan(with_solution(spec, "rdbms-store"))

    runner = SparkRunner(spark, tmp_path / "run", replay=True, planner=planner)

    assert [] == failures(make_trial(SEEDS), runner)
