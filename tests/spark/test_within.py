"""What did not happen is told though nothing comes for its key: by another key, by silence."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.spark.batch.run import Run

pytestmark = pytest.mark.spark
PROJECT = """\
name: web
sources: {{log: {{files: {{path: data}}}}}}
relations:
  search: {{key: [id], fields: {{id: long, at: timestamp}}, time: at}}
  click:
    key: [id]
    fields: {{id: long, search_id: long, at: timestamp}}
    time: at
    {watermark}
products:
  outcome:
    root: search
    fields: [id]
    embed: {{clicks: {{many: click, on: {{search_id: id}}, within: [0s, 30m], fields: [id]}}}}
    emit: {{when: closed}}
    sink: {{files: {{path: out}}}}
"""
SEARCHES = [{"id": each, "at": f"2026-03-01T10:{each:02}:00Z"} for each in range(10)]
NONE = {each: {"id": each, "clicks": []} for each in range(10)}
WAIT_S = 300.0


class Project:
    """A project in a folder, and what its sink holds."""

    def __init__(self, spark: SparkSession, folder: Path, watermark: str = "") -> None:
        self.spark, self.folder, self.files = spark, folder, 0
        text = PROJECT.format(watermark=watermark)
        (folder / "joinery.yaml").write_text(text, encoding="utf-8")

    def put(self, topic: str, *rows: Mapping[str, object]) -> None:
        self.files += 1
        place = self.folder / "data" / topic
        place.mkdir(parents=True, exist_ok=True)
        hidden = place / f".{self.files:03}"
        hidden.write_text("".join(f"{json.dumps(each)}\n" for each in rows), encoding="utf-8")
        hidden.rename(place / f"{self.files:03}.jsonl")

    def start(self, *, once: bool = False, until_closed: bool = False) -> Run:
        project = jn.load(self.folder / "joinery.yaml")
        return jn.run(self.spark, project, once=once, until_closed=until_closed)

    def once(self, *, until_closed: bool = False) -> dict[int, Any]:
        self.start(once=True, until_closed=until_closed).await_termination()
        return self.held()

    def lines(self) -> list[Any]:
        files = sorted((self.folder / "out" / "outcome").glob("*.jsonl"))
        return [json.loads(line) for each in files for line in each.read_text().splitlines()]

    def held(self) -> dict[int, Any]:
        return {each["key"]["id"]: each["value"] for each in self.lines()}


def test_a_click_of_another_search_decides_ten(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(spark, tmp_path)
    project.put("search", *SEARCHES)

    before = project.once()
    project.put("click", {"id": 1, "search_id": 77, "at": "2026-03-01T10:39:00.000001Z"})
    after = project.once()
    project.put("click", {"id": 2, "search_id": 3, "at": "2026-03-01T10:05:00Z"})
    corrected = project.once()

    assert {} == before
    assert NONE == after
    assert NONE | {3: {"id": 3, "clicks": [{"id": 2}]}} == corrected
    assert 11 == len(project.lines()), "each search has one answer, and one is corrected"


def test_the_end_of_all_logs_decides_ten(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(spark, tmp_path)
    project.put("search", *SEARCHES)

    assert NONE == project.once(until_closed=True)
    project.put("click", {"id": 2, "search_id": 3, "at": "2026-03-01T10:05:00Z"})
    assert NONE | {3: {"id": 3, "clicks": [{"id": 2}]}} == project.once(until_closed=True)


WINDOWS = """\
name: web
sources: {log: {files: {path: data}}}
relations:
  search:
    append: true
    fields: {id: long, at: timestamp}
    time: at
    watermark: {delay: 10s}
  click:
    key: [id]
    fields: {id: long, search_id: long, at: timestamp}
    time: at
    watermark: {idle: 3s}
  asked: {product: minutes, time: window_start, watermark: {delay: 20s}}
products:
  minutes:
    aggregate: search
    by: [id]
    window: {tumbling: 1m}
    values: {n: count(*)}
    group: web
    sink: {files: {path: out}}
  outcome:
    root: asked
    fields: [id, n]
    embed: {clicks: {many: click, on: {search_id: id}, within: [0s, 30m], fields: [id]}}
    emit: {when: closed}
    group: web
    sink: {files: {path: out}}
"""


def test_a_root_that_is_a_product_goes_by_what_that_reads_while_all_else_is_silent(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path)
    (tmp_path / "joinery.yaml").write_text(WINDOWS, encoding="utf-8")
    # Half a minute behind 10:10:30 the half hour of the second window is not yet over.
    project.put("search", {"id": 1, "at": "2026-03-01T09:39:10Z"})
    project.put("search", {"id": 2, "at": "2026-03-01T09:40:10Z"})
    project.put("search", {"id": 3, "at": "2026-03-01T10:10:30Z"})
    begun = time.monotonic()
    run = project.start()
    try:
        while not project.held() and time.monotonic() - begun < WAIT_S:
            time.sleep(0.1)
        first = project.held()
        project.put("search", {"id": 3, "at": "2026-03-01T10:10:30.000001Z"})
        while len(project.held()) < 2 and time.monotonic() - begun < WAIT_S:
            time.sleep(0.1)
    finally:
        run.stop()

    assert {1: {"id": 1, "n": 1, "clicks": []}} == first
    assert {1, 2} == project.held().keys()


def test_clicks_that_never_come_hold_nobody_up_for_long(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, "watermark: {idle: 3s}")
    project.put("search", *SEARCHES, {"id": 10, "at": "2026-03-01T10:39:00.000001Z"})
    begun = time.monotonic()
    run = project.start()
    try:
        while len(project.held()) < 10 and time.monotonic() - begun < WAIT_S:
            time.sleep(0.1)
    finally:
        run.stop()

    assert NONE == project.held()
