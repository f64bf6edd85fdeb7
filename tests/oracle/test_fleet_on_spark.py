"""A random fleet on `spark-state`: a dozen products that share tables, against DuckDB's answers.

The products, the history and the statements are those of `bench/fleet/`. The run is started anew
for the second half of the history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import joinery as jn
from bench.fleet.compare import differences
from bench.fleet.log import History, LogFiles
from bench.fleet.shape import declared, make_fleet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HALF = 1_000


def test_every_document_of_a_fleet_is_what_a_statement_over_the_rows_says(
    spark: SparkSession, tmp_path: Path
) -> None:
    fleet = make_fleet(1, relations=14, products=12)
    history, log = History(fleet), LogFiles(tmp_path / "data")
    project = tmp_path / "joinery.yaml"
    project.write_text(declared(fleet, out="out", groups=2), encoding="utf-8")

    for _ in range(2):
        log.write(history.lines(HALF), files=2, total=HALF)
        query = jn.run(spark, jn.load(project), once=True)
        query.await_termination()

    history.write_rows(tmp_path / "rows")
    assert {} == differences(fleet, tmp_path / "rows", tmp_path / "out")
    costs = query.progress.costs
    assert {each.name for each in fleet.products} == set(costs)
    assert all(each["us"] > 0 for each in costs.values())
