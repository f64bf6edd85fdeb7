"""Random embeds as of a time on `spark-state` against the reference, forty to a query.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.as_of import random_log
from tests.oracle.compare import failures, trial_of_logs, trials

from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from joinery.testing.changes import RowChange

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRIALS = trials(40, few=16, together=40)


def make_log(seed: int) -> tuple[str, Sequence[RowChange]]:
    log = random_log(seed)
    return log.project, log.changes


@pytest.mark.parametrize("seeds", TRIALS)
def test_spark_state_shows_the_versions_that_the_reference_shows(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = trial_of_logs(seeds, make_log)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))
