"""One product file on another solution: the same documents, its own checkpoint, rebuilt beside."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import joinery as jn
from joinery.app.project import Project
from joinery.errors import RunError, StateMismatchError
from joinery.project.product import with_solution
from joinery.spark.batch.run import Run, RunOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  customer: {key: [id], fields: {id: long, email: string, name: string}}  # email: not shown
  order: {key: [id], fields: {id: long, customer: long, total: "decimal(8,2)", at: timestamp}}
products:
  profile:
    root: customer
    fields: [name]
    embed:
      orders: {many: order, on: {customer: id}, fields: [total, at]}
    sink: {files: {path: out}}
run: {max_rows_per_batch: 3}
"""


def write(folder: Path, topic: str, name: str, *rows: dict[str, Any]) -> None:
    part = folder / "data" / topic / f".{name}"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    part.rename(part.with_name(f"{name}.jsonl"))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    write(tmp_path, "customer", "1", *({"id": n, "name": f"n{n}"} for n in range(4)))
    at = "2026-01-02T03:04:05Z"
    orders = ({"id": n, "customer": n % 4, "total": f"{n}.50", "at": at} for n in range(8))
    write(tmp_path, "order", "1", *orders)
    return jn.load(tmp_path / "joinery.yaml")


def run(spark: SparkSession, project: Project, solution: str, *, rebuild: bool = False) -> Run:
    chosen = Project.of(with_solution(project.spec, solution))
    started = Run(chosen.spec, chosen.plan, RunOptions(once=True, rebuild=rebuild))
    started.prepare()
    started.start(spark)
    started.await_termination()
    return started


def documents(folder: Path) -> dict[int, Any]:
    """Return what a reader of the files makes of them; versions rise."""
    found: dict[int, tuple[int, Any]] = {}
    for file in sorted((folder / "out/profile").glob("*.jsonl")):
        for line in map(json.loads, file.read_text().splitlines()):
            key = line["key"]["id"]
            assert line["version"] > found.get(key, (0,))[0]
            found[key] = (line["version"], line["value"])
    return {key: value for key, (_, value) in found.items()}


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
