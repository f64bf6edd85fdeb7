"""Which rows are late is a fact of the log: what is told is what reading it once would tell."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

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
ALLOWED_S = 25
FILES, LINES = 4, 6_000

View = Mapping[str, Any]


def log_of(seed: int) -> list[list[View]]:
    """Return the views of each file: seconds that go on by and by, some of them far behind."""
    draw, views = random.Random(seed), list[list[View]]()
    for number in range(FILES):
        file = list[View]()
        for line in range(LINES):
            place = number * LINES + line
            behind = draw.choice([0, 0, 0, 3, 15]) if draw.random() < 0.98 else draw.randint(0, 90)
            seconds = place // 20 - behind
            at = None if draw.random() < 0.001 else 1_700_000_000 + seconds
            file.append({"id": place, "page": f"p{draw.randint(0, 20)}", "at": at})
        views.append(file)
    return views


def late_of(partition: Iterable[View]) -> Iterator[View]:
    """Yield the views of one partition that come late."""
    newest = None
    for view in partition:
        if view["at"] is None:
            continue
        if newest is not None and view["at"] < newest - ALLOWED_S:
            yield view
        newest = view["at"] if newest is None else max(newest, view["at"])


def minutes(views: Iterable[View]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the number of views and the sum of their ids, by page and minute."""
    found = dict[tuple[str, int], tuple[int, int]]()
    for each in views:
        if each["at"] is not None:
            key = each["page"], each["at"] // 60 * 60
            count, ids = found.get(key, (0, 0))
            found[key] = count + 1, ids + each["id"]
    return found


def prepare(folder: Path, views: Sequence[Sequence[View]], *, rows: int, late: str) -> jn.Project:
    data = folder / "data/views"
    data.mkdir(parents=True)
    for number, file in enumerate(views):
        lines = ({**each, "at": each["at"] and each["at"] * 1_000_000} for each in file)
        text = "".join(f"{json.dumps(each)}\n" for each in lines)
        (data / f"{number}.jsonl").write_text(text, encoding="utf-8")
    (folder / "joinery.yaml").write_text(PROJECT.format(rows=rows, late=late), encoding="utf-8")
    return jn.load(folder / "joinery.yaml")


def told(folder: Path) -> list[int]:
    """Return the ids of the views that dead letters tell as late."""
    files = (folder / ".joinery/dead_letters").rglob("*.jsonl")
    letters = [json.loads(line) for each in files for line in each.open(encoding="utf-8")]
    assert all(("late", "hours") == (each["reason"], each["product"]) for each in letters)
    return sorted(json.loads(each["value"])["id"] for each in letters)


def newest(folder: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """Return what stands in the sink, as `minutes` does."""
    lines = [
        json.loads(line) for file in (folder / "out/hours").glob("*.jsonl") for line in file.open()
    ]
    values = {json.dumps(each["key"]): each["value"] for each in sorted(lines, key=_version)}
    return {
        (each["page"], int(_seconds(each["window_start"]))): (each["n"], each["ids"])
        for each in values.values()
        if each is not None
    }


def _version(line: Mapping[str, Any]) -> int:
    return int(line["version"])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@pytest.mark.parametrize("rows", [1_000, 7_777, 200_000])
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
