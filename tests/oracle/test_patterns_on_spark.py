"""Random patterns on `spark-state` against the reference, forty in a query, every other with rules.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import failures, trial_of_logs, trials
from tests.oracle.patterns import random_changes, random_project, with_rules

from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from joinery.testing.changes import RowChange

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRIALS = trials(40, few=16, together=40)


def make_log(seed: int) -> tuple[str, Sequence[RowChange]]:
    pick = random.Random(seed)
    append, ruled = pick.random() < 0.4, seed % 2 == 1
    project = random_project(pick, append=append, ruled=ruled)
    changes = random_changes(pick, append=append)
    return project, with_rules(pick, changes) if ruled else changes


@pytest.mark.parametrize("seeds", TRIALS)
def test_spark_state_finds_the_patterns_that_the_reference_finds(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = trial_of_logs(seeds, make_log)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))
