"""Rows of patterns are forgotten by the watermark, also where matches wait: the state is flat."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.churn.measure import state_of

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: plant
sources: {log: {files: {path: data}}}
defaults: {format: json}
relations:
  reading:
    append: true
    key: [id]
    fields: {id: long, machine: long, celsius: long, at: timestamp}
    time: at
products:
  hot:
    pattern: reading
    by: [machine]
    define: {H: celsius > 80, C: celsius < 75}
    match: H not C
    within: 6s
    emit: {retention: 1m}
    sink: {files: {path: out}}
  cooled:
    pattern: reading
    by: [machine]
    define: {H: celsius > 80, C: celsius < 75}
    match: H -> C
    within: 6s
    emit: {retention: 1m}
    sink: {files: {path: out}}
"""
PRODUCTS = ("hot", "cooled")
SECONDS = 400
"""How long the rows of a run take."""


def readings(run: int) -> list[Mapping[str, int]]:
    """Return a reading a second of two machines, of which one is hot at times, and one too late."""
    rows: list[Mapping[str, int]] = []
    for second in range(run * SECONDS, (run + 1) * SECONDS):
        at = 1_700_000_000_000_000 + second * 1_000_000
        warm = 90 if second % 50 == 0 else 78
        for machine, celsius in ((1, 20), (2, warm)):
            row = {"id": 2 * second + machine, "machine": machine, "celsius": celsius, "at": at}
            rows.append(row)
    return [*rows, {**rows[-1], "id": -run, "at": rows[-1]["at"] - 3_600_000_000}]


def test_the_state_holds_no_more_rows_than_may_still_matter(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "data/reading").mkdir(parents=True)
    sizes: dict[str, list[tuple[int, int]]] = {each: [] for each in PRODUCTS}
    too_late = dict.fromkeys(PRODUCTS, 0)

    for run in range(4):
        lines = (json.dumps(each) for each in readings(run))
        file = tmp_path / f"data/reading/{run:04}.jsonl"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        ended = jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True)
        ended.await_termination(600)
        for each in PRODUCTS:
            sizes[each].append(state_of(spark, tmp_path / ".joinery/checkpoint" / each))
            too_late[each] += ended.progress.counters.get(each, {}).get("too_late", 0)

    for *_, (entries, size), (last_entries, last_size) in sizes.values():
        assert last_entries <= 1.1 * entries, sizes
        assert last_size <= 1.15 * size, sizes
    assert dict.fromkeys(PRODUCTS, 4) == too_late
    files = sorted((tmp_path / "out/hot").glob("*.jsonl"))
    sent = [json.loads(line)["key"]["start"]["id"] for each in files for line in each.open("rb")]
    assert [2 * second + 2 for second in range(0, 4 * SECONDS, 50)] == sorted(sent)
    assert not list((tmp_path / "out/cooled").glob("*.jsonl"))
