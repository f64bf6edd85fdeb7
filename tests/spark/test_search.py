"""Stored queries on `spark-state`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from joinery.spark.testing import SparkRunner
from joinery.testing import conformance
from joinery.testing.conformance import Case, search_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def problems(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    runner = SparkRunner(spark, tmp_path_factory.mktemp("search"), replay=True)
    examined = conformance.examine(runner, search_cases())
    return {each.case.sentence: each.problem for each in examined}


@pytest.mark.parametrize("case", search_cases(), ids=str)
def test_spark_state_matches_stored_queries(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""
