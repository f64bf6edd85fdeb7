"""A random fleet on `spark-state`: a dozen products that share tables, against DuckDB's answers.

The products, the history and the statements are those of `bench/fleet.py`. The run is stopped and
started again between thirds of the history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("duckdb")
import joinery as jn
from fleet_compare import differences
from fleet_log import History, LogFiles
from fleet_shape import declared, make_fleet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

THIRD = 800


def classes_compiled(spark: SparkSession) -> int:
    """Return how many texts of Java Spark has compiled so far."""
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics  # type: ignore[union-attr]
    return int(metrics.METRIC_COMPILATION_TIME().getCount())


def test_every_document_of_a_fleet_is_what_a_statement_over_the_rows_says(
    spark: SparkSession, tmp_path: Path
) -> None:
    fleet = make_fleet(1, relations=14, products=12)
    history, log = History(fleet), LogFiles(tmp_path / "data")
    project = tmp_path / "joinery.yaml"
    project.write_text(declared(fleet, data="data", out="out", groups=2), encoding="utf-8")
    compiled = [classes_compiled(spark)]

    for _ in range(3):
        log.write(history.lines(THIRD), files=2, total=THIRD)
        query = jn.run(spark, jn.load(project), once=True)
        query.await_termination()
        compiled.append(classes_compiled(spark))

    history.write_rows(tmp_path / "rows")
    assert {} == differences(fleet, tmp_path / "rows", tmp_path / "out")
    costs = query.progress.costs
    assert {each.name for each in fleet.products} == set(costs)
    assert all(each["us"] > 0 for each in costs.values())
    # What the first third compiled, some 150 classes, is still known in the last.
    assert compiled[3] - compiled[2] < max(20, (compiled[1] - compiled[0]) / 4), compiled
