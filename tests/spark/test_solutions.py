"""One product file on another solution: the same documents, its own checkpoint, rebuilt beside."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.customers import PROJECT, documents, project_in, run, write

import joinery as jn
from joinery.app.project import Project
from joinery.errors import RunError, StateMismatchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_in(tmp_path)


@pytest.mark.parametrize(
    ("solution", "dead"),
    [("spark-state", 0), ("rdbms-store", 0), ("kv", 0), ("rdbms-trigger", 1)],
)
def test_a_column_that_no_product_reads_makes_no_dead_letter(
    solution: str, dead: int, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT.replace("email: string", "email: int"))
    rows = [{"id": 1, "email": 7, "name": "ann"}, {"id": 2, "email": "much", "name": "bob"}]
    write(tmp_path, "customer", "1", *rows)

    done = run(spark, jn.load(tmp_path / "joinery.yaml"), solution)

    assert dead == done.progress.totals.dead
    # Whole rows of rdbms-trigger, as views and statements of the user may name any column.
    shown = [1, 2][: 2 - dead]
    assert shown == sorted(documents(tmp_path))


@pytest.mark.parametrize("solution", ["rdbms-store", "kv"])
def test_a_store_gives_the_same_documents(
    solution: str, spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    run(spark, project, "spark-state")
    wanted = documents(tmp_path)
    shutil.rmtree(tmp_path / "out")
    shutil.rmtree(tmp_path / ".joinery")

    done = run(spark, project, solution)

    assert wanted == documents(tmp_path)
    assert (12, 12) == (done.progress.totals.read, done.progress.totals.applied)


def test_a_checkpoint_belongs_to_one_solution_until_it_is_rebuilt(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    run(spark, project, "spark-state")
    wanted = documents(tmp_path)

    with pytest.raises(StateMismatchError, match="another plan") as refused:
        run(spark, project, "rdbms-store")
    run(spark, project, "rdbms-store", rebuild=True)
    write(tmp_path, "order", "2", {"id": 8, "customer": 0, "total": "8.50", "at": None})
    run(spark, project, "rdbms-store")

    assert "kept by spark-state, not by rdbms-store" in refused.value.detail
    assert [each for key, each in wanted.items() if key] == [
        each for key, each in documents(tmp_path).items() if key
    ]
    assert {"total": 8.5, "at": None} == documents(tmp_path)[0]["orders"][-1]


def test_a_store_that_was_lost_is_told(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    run(spark, project, "rdbms-store")
    shutil.rmtree(tmp_path / ".joinery/checkpoint/profile/store")
    write(tmp_path, "order", "2", {"id": 8, "customer": 0, "total": "8.50", "at": None})

    with pytest.raises(RunError, match="the join state of this checkpoint is not in") as refused:
        run(spark, project, "rdbms-store")

    assert "STORE" == refused.value.code


def test_a_time_that_stores_cannot_hold_is_a_dead_letter(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    far = {"id": 9, "customer": 0, "total": "1.00", "at": 317_000_000_000_000_000}
    write(tmp_path, "order", "2", far)

    done = run(spark, project, "rdbms-store")

    letters = [*(tmp_path / ".joinery/dead_letters").rglob("*.jsonl")]
    told = [json.loads(line) for each in letters for line in each.read_text().splitlines()]
    assert ["out_of_range"] == [each["reason"] for each in told]
    assert 1 == done.progress.totals.dead
