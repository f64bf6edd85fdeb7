"""Large join values on `spark-state` against the reference.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import failures, make_crowded_trial

from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_join_values_with_hundreds_of_wide_rows_are_kept_in_pages(
    spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_crowded_trial(range(2))

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))
