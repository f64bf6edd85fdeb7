"""Streams on Spark against the reference: random streams, many to a query, restarted each batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import chosen_seeds
from tests.oracle.stream_shape import make_stream_trial, stream_failures

from joinery.solutions.protocol import Sent
from joinery.spark.stream_testing import SparkStreamRunner
from joinery.spark.testing import SparkRunner
from joinery.spec.product import ProjectSpec
from joinery.testing.conformance.stream_suite import StreamBatch

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOGETHER = 20
SEEDS = chosen_seeds(40)
TRIALS = [SEEDS[at : at + TOGETHER] for at in range(0, len(SEEDS), TOGETHER)]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs batches as fast as they come; no random stream moves the clock."""

    runner: SparkStreamRunner

    def run(self, project: ProjectSpec, batches: Sequence[StreamBatch]) -> Sequence[Sent]:
        return self.runner.run(project, [each.changes for each in batches])


@pytest.mark.parametrize("seeds", TRIALS, ids=lambda seeds: f"seeds-{seeds[0]}-to-{seeds[-1]}")
def test_streams_on_spark_send_what_the_reference_sends(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_stream_trial(seeds)
    runner = Runner(SparkStreamRunner(SparkRunner(spark, tmp_path / "run", replay=True)))

    assert [] == stream_failures(trial, runner)
