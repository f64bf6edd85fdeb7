"""A group whose expression fails is told once, whatever leaves it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from joinery.plan.build import build_plan
from joinery.spark.testing import SparkRunner
from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.conformance.joined import joined
from joinery.testing.conformance.project import load_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """
relations:
  part: {key: [id], fields: {id: long, x: long, b: long}}
products:
  p: {aggregate: part, values: {n: count(*), top: max(x), share: "sum(x) / sum(b)"}}
"""
MANY = 4_000
"""So many values that a set of them stands in pages."""


def test_the_largest_of_many_values_may_leave_a_group_whose_expression_fails_then(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = joined([load_text(PROJECT)])
    ((part,),) = [each.relations for each in build_plan(project).products]
    batches: list[list[RowChange]] = [
        [insert("part", id=each, x=each, b=int(each > 0)) for each in range(MANY + 1)],
        [delete("part", id=each) for each in range(1, MANY + 1)],
        [insert("part", id=-1, x=-1, b=0)],
        [insert("part", id=1, x=8, b=2)],
        [delete("part", id=1)],
    ]

    runner = SparkRunner(spark, tmp_path / "run")
    sent = runner.run(project, [[each.change(part) for each in batch] for batch in batches])

    values = [json.loads(line)["value"] for batch in sent for line in batch.lines["p"]]
    sums = MANY * (MANY + 1) // 2
    assert [
        (MANY + 1, MANY, sums / MANY),
        (1, 0, None),
        (2, 0, None),
        (3, 8, 3.5),
        (2, 0, None),
    ] == [(each["n"], each["top"], each["share"]) for each in values]
    assert [0, 1, 0, 0, 1] == [
        (batch.found or {}).get("p", {}).get("expression_errors", 0) for batch in sent
    ]
