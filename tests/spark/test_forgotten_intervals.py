"""Rows of intervals are forgotten by the watermark: the state is flat, later rows are too late."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.churn.measure import state_of

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: web
sources: {log: {files: {path: data}}}
relations:
  search: {key: [id], fields: {id: long, user: long, at: timestamp}, time: at}
  click: {key: [id], fields: {id: long, search_id: long, user: long, at: timestamp}, time: at}
products:
  by_key:
    root: search
    fields: [id]
    embed: {clicks: {many: click, on: {search_id: id}, within: [0s, 1m], fields: [id]}}
    emit: {when: closed, retention: 5m}
    sink: {files: {path: out}}
  by_user:
    root: search
    fields: [id]
    embed: {clicks: {many: click, on: [user], within: [0s, 1m], fields: [id]}}
    emit: {when: closed, retention: 5m}
    sink: {files: {path: out}}
run: {max_rows_per_batch: 400}
"""
PRODUCTS = ("by_key", "by_user")
BATCHES, ROWS, SECONDS = 3, 200, 300
"""Of each relation in a batch, and how long a batch's rows take."""


def write(folder: Path, topic: str, number: int, rows: Sequence[Mapping[str, object]]) -> None:
    place = folder / "data" / topic
    place.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(each) for each in rows)
    (place / f"{number:04}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def log_of(batch: int) -> tuple[list[Mapping[str, int]], list[Mapping[str, int]]]:
    """Return searches and clicks; a click in twenty has no search, one comes after an hour."""
    searches: list[Mapping[str, int]] = []
    clicks: list[Mapping[str, int]] = []
    for number in range(batch * ROWS, (batch + 1) * ROWS):
        at = 1_700_000_000_000_000 + number * SECONDS * 1_000_000 // ROWS
        row = {"id": number, "user": number % 50, "at": at}
        searches.append(row)
        about = number + 1_000_000 if number % 20 == 0 else number
        behind = 3_600_000_000 if number % 50 == 49 else -20_000_000
        clicks.append({**row, "search_id": about, "at": at - behind})
    return searches, clicks


def test_the_state_holds_no_more_rows_than_are_retained(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    sizes: dict[str, list[tuple[int, int]]] = {each: [] for each in PRODUCTS}
    too_late = dict.fromkeys(PRODUCTS, 0)

    for run in range(3):
        for batch in range(run * BATCHES, (run + 1) * BATCHES):
            for topic, rows in zip(("search", "click"), log_of(batch), strict=True):
                write(tmp_path, topic, batch, rows)
        ended = jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True)
        ended.await_termination(600)
        for each in PRODUCTS:
            sizes[each].append(state_of(spark, tmp_path / ".joinery/checkpoint" / each))
            too_late[each] += ended.progress.counters[each]["too_late"]

    for _, (entries, size), (last_entries, last_size) in sizes.values():
        assert last_entries <= 1.1 * entries, sizes
        assert last_size <= 1.15 * size, sizes
    assert dict.fromkeys(PRODUCTS, 3 * BATCHES * ROWS // 50) == too_late
    for each in PRODUCTS:
        files = sorted((tmp_path / "out" / each).glob("*.jsonl"))
        sent = [json.loads(line)["key"]["id"] for one in files for line in one.open("rb")]
        assert sorted(set(sent)) == list(range(len(set(sent))))


COMES_BACK = """\
name: web
sources: {log: {files: {path: data}}}
relations:
  search: {key: [id], fields: {id: long, user: long, at: timestamp}, time: at}
  click: {key: [id], fields: {id: long, user: long, at: timestamp}, time: at}
products:
  by_user:
    root: search
    fields: [id]
    embed: {clicks: {many: click, on: [user], within: [0s, 1m], fields: [id]}}
    emit: {retention: 5m}
    sink: {files: {path: out}}
run: {tombstone_retention: 1s, spark: {spark.sql.shuffle.partitions: "1"}}
"""
START, HOUR = 1_700_000_000_000_000, 3_600_000_000


def test_a_row_that_comes_back_once_its_delete_is_forgotten_takes_nothing_from_the_former(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The searches do not go on meanwhile, so the state of the former click is still there."""
    (tmp_path / "joinery.yaml").write_text(COMES_BACK, encoding="utf-8")
    numbers = count()

    def clicked(*rows: Mapping[str, object]) -> None:
        write(tmp_path, "click", next(numbers), list(rows))
        ended = jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True)
        ended.await_termination(600)

    write(tmp_path, "search", 0, [{"id": 1, "user": 1, "at": START}])
    clicked(
        {"id": 1, "user": 1, "at": START + 1_000_000},
        {"id": 2, "user": 9, "at": START + 2 * HOUR},
    )
    clicked({"id": 1, "__deleted": True})
    until = time.monotonic() + 3
    while time.monotonic() < until:
        clicked({"id": 100 + next(numbers), "user": 9, "at": START + 2 * HOUR})

    clicked({"id": 1, "user": 1, "at": START + 2 * HOUR})

    files = sorted((tmp_path / "out/by_user").glob("*.jsonl"))
    sent = [json.loads(line)["value"] for one in files for line in one.open("rb")]
    assert [{"id": 1, "clicks": [{"id": 1}]}] == sent
