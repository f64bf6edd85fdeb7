"""Random intervals on `spark-state` against DuckDB, in one query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.compare import prefix
from tests.oracle.interval_trial import deep, make_intervals
from tests.oracle.intervals import random_log, truth

from joinery.spark.testing import SparkRunner
from joinery.testing.conformance.suite import parse

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_spark_state_holds_what_duckdb_computes(spark: SparkSession, tmp_path: Path) -> None:
    seeds = [each for each in range(200, 216) if deep(random_log(each), each).find("  g:") < 0]
    trial, ends = make_intervals(seeds)

    received = SparkRunner(spark, tmp_path / "run").run(trial.project, trial.batches)

    for seed, each in zip(seeds, ends, strict=True):
        held: dict[int, Any] = {}
        for sent, end in zip(received, each, strict=False):
            for line in sent.lines.get(f"{prefix(seed)}p", ()):
                parts = parse(line)
                key = parts["key"]["id"]
                if parts["value"] is None:
                    del held[key]
                else:
                    held[key] = parts["value"]
            assert truth(random_log(seed), end) == held, (seed, end)
