"""The join state of a checkpoint goes over to another solution: nothing is read or sent again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.customers import documents, project_in, run, write

from joinery.app.project import Project
from joinery.project.product import with_solution
from joinery.spark.recovery.takeover import TakeoverError, take_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_in(tmp_path)


def taken(project: Project, solution: str) -> bool:
    chosen = Project.of(with_solution(project.spec, solution))
    return take_over(chosen.spec, project.spec, "profile", chosen.plan.products)


def test_a_key_value_store_goes_on_from_the_tables_of_another(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    run(spark, project, "rdbms-store")
    first = documents(tmp_path)
    late = {"id": 3, "customer": 1, "total": "3.75", "at": "2026-01-03T00:00:00Z"}

    assert taken(project, "kv")
    assert not taken(project, "kv")
    write(tmp_path, "order", "2", late, {"id": 8, "customer": 2, "total": "8.50", "at": None})
    done = run(spark, project, "kv")

    now = documents(tmp_path)
    assert 2 == done.progress.totals.read
    assert {**first, 1: now[1], 2: now[2], 3: now[3]} == now
    assert [1.5, 3.75, 5.5] == [each["total"] for each in now[1]["orders"]]
    assert [2.5, 6.5, 8.5] == [each["total"] for each in now[2]["orders"]]
    assert [7.5] == [each["total"] for each in now[3]["orders"]]


def test_what_cannot_go_over_is_told_and_stays_as_it_is(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    with pytest.raises(TakeoverError, match="has no checkpoint"):
        taken(project, "kv")
    run(spark, project, "spark-state")

    with pytest.raises(TakeoverError, match="from spark-state to kv") as refused:
        taken(project, "kv")

    assert "Use --bootstrap-from source." == refused.value.hint
    assert 0 == run(spark, project, "spark-state").progress.totals.read


def test_a_store_that_lacks_columns_does_not_go_over_to_one_that_keeps_them(
    spark: SparkSession, project: Project
) -> None:
    run(spark, project, "rdbms-store")

    with pytest.raises(TakeoverError, match="lacks columns that rdbms-trigger needs") as refused:
        taken(project, "rdbms-trigger")

    assert "rdbms-store does not keep columns that no product reads; of customer: email." == (
        refused.value.detail
    )
    assert 0 == run(spark, project, "rdbms-store").progress.totals.read
