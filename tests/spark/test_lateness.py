"""Which rows are late is a fact of the log: what is told is what reading it once would tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.lateness import View, late_of, log_of, minutes, newest, told

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: web
sources: {{log: {{files: {{path: data}}}}}}
relations:
  views:
    append: true
    time: at
    watermark: {{delay: 20s}}
    fields: {{id: long, page: string, at: timestamp}}
products:
  hours:
    aggregate: views
    by: [page]
    window: {{tumbling: 1m}}
    values: {{n: count(*), ids: sum(id)}}
    emit: {{late: {late}, allowed: 5s}}
    sink: {{files: {{path: out}}}}
run: {{max_rows_per_batch: {rows}}}
"""


def prepare(folder: Path, views: Sequence[Sequence[View]], *, rows: int, late: str) -> jn.Project:
    data = folder / "data/views"
    data.mkdir(parents=True)
    for number, file in enumerate(views):
        lines = ({**each, "at": each["at"] and each["at"] * 1_000_000} for each in file)
        text = "".join(f"{json.dumps(each)}\n" for each in lines)
        (data / f"{number}.jsonl").write_text(text, encoding="utf-8")
    (folder / "joinery.yaml").write_text(PROJECT.format(rows=rows, late=late), encoding="utf-8")
    return jn.load(folder / "joinery.yaml")


@pytest.mark.parametrize(
    "rows", [1_000, pytest.param(7_777, marks=pytest.mark.exhaustive), 200_000]
)
def test_the_rows_told_late_are_those_of_the_log(
    spark: SparkSession, tmp_path: Path, rows: int
) -> None:
    views = log_of(7)
    log = [each for file in views for each in file]
    late = list(late_of(log))
    made = prepare(tmp_path, views, rows=rows, late="dead_letter")

    run = jn.run(spark, made, once=True)
    run.await_termination(600)

    ids = [each["id"] for each in late]
    assert ids == told(tmp_path)
    assert minutes(each for each in log if each["id"] not in set(ids)) == newest(tmp_path)
    counted = run.progress.counters["hours"]
    timeless = sum(each["at"] is None for each in log)
    assert (len(ids), timeless) == (counted["late"], counted["event_without_time"])


def test_a_batch_that_was_not_committed_tells_the_same_rows_late(
    spark: SparkSession, tmp_path: Path
) -> None:
    views = log_of(11)
    made = prepare(tmp_path, views[:2], rows=5_000, late="drop")
    jn.run(spark, made, once=True).await_termination(600)
    commits = tmp_path / ".joinery/checkpoint/hours/commits"
    last = max(
        (each for each in commits.iterdir() if each.name.isdigit()), key=lambda e: int(e.name)
    )
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)

    jn.run(spark, made, once=True).await_termination(600)

    log = [each for file in views[:2] for each in file]
    ids = {each["id"] for each in late_of(log)}
    assert minutes(each for each in log if each["id"] not in ids) == newest(tmp_path)


def test_late_rows_that_correct_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    views = log_of(5)[:1]
    made = prepare(tmp_path, views, rows=200_000, late="correct")

    run = jn.run(spark, made, once=True)
    run.await_termination(600)

    assert minutes(views[0]) == newest(tmp_path)
    assert len(list(late_of(views[0]))) == run.progress.counters["hours"]["late"]
