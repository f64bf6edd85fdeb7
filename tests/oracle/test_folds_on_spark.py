"""Random logs of events on `spark-state` against the reference, a dozen to a query.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import chosen_seeds, failures, trial_of_logs
from tests.oracle.event_logs import random_log

from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from joinery.testing.changes import RowChange

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOGETHER = 12
SEEDS = chosen_seeds(12)
TRIALS = [SEEDS[at : at + TOGETHER] for at in range(0, len(SEEDS), TOGETHER)]


def make_log(seed: int) -> tuple[str, Sequence[RowChange]]:
    log = random_log(seed, changes=100 if seed % 6 else 1500)  # States are kept at each 100th.
    return log.project, log.changes


@pytest.mark.parametrize("seeds", TRIALS, ids=lambda seeds: f"seeds-{seeds[0]}-to-{seeds[-1]}")
def test_spark_state_keeps_the_states_that_the_reference_keeps(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = trial_of_logs(seeds, make_log)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))
