"""Streams on Spark against the reference: random streams, many to a query, restarted each batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import chosen_seeds
from tests.oracle.stream_shape import make_stream_trial, stream_failures

from joinery.spark.testing import SparkRunner, SparkStreamRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOGETHER = 20
SEEDS = chosen_seeds(40)
TRIALS = [SEEDS[at : at + TOGETHER] for at in range(0, len(SEEDS), TOGETHER)]


@pytest.mark.parametrize("seeds", TRIALS, ids=lambda seeds: f"seeds-{seeds[0]}-to-{seeds[-1]}")
def test_streams_on_spark_send_what_the_reference_sends(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    """Batches come as fast as Spark runs them; the reference is told when each of them was."""
    trial = make_stream_trial(seeds)
    runner = SparkRunner(spark, tmp_path / "run", replay=True)

    sent = SparkStreamRunner(runner).run(trial.project, [each.changes for each in trial.batches])

    assert [] == stream_failures(trial, sent, runner.times_ms)
