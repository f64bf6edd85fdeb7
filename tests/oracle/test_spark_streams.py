"""Streams on Spark against the reference: random streams, many to a query, restarted each batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import trials
from tests.oracle.stream_shape import make_stream_trial, stream_failures

from joinery.spark.testing import SparkRunner, SparkStreamRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRIALS = trials(40, few=4, together=20)


@pytest.mark.parametrize("seeds", TRIALS)
def test_streams_on_spark_send_what_the_reference_sends(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    """Batches come as fast as Spark runs them; the reference is told when each of them was."""
    trial = make_stream_trial(seeds)
    runner = SparkRunner(spark, tmp_path / "run", replay=True)

    sent = SparkStreamRunner(runner).run(trial.project, [each.changes for each in trial.batches])

    assert [] == stream_failures(trial, sent, runner.times_ms)
