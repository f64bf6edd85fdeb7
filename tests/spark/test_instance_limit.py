"""Groups of all kinds tell once where they meet more different values than they keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import joinery as jn
from joinery.solutions.spark_state import grouping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
VALUES = 'values: {seen: approx_count_distinct(id), most: "approx_top_k(id, 1)"}'
PROJECT = f"""\
name: web
sources: {{log: {{files: {{path: data}}}}}}
relations:
  view: {{key: [id], fields: {{id: long, page: string, at: timestamp}}, format: json, time: at}}
products:
  pages: {{aggregate: view, by: [page], {VALUES}, sink: {{files: {{path: out}}}}, group: g}}
  stays:
    {{aggregate: view, by: [page], window: {{session: 1h}}, {VALUES},
     sink: {{files: {{path: out}}}}, group: g}}
  last:
    {{aggregate: view, by: [page], window: {{sliding: 1h}}, {VALUES},
     sink: {{files: {{path: out}}}}, group: g}}
"""
PRODUCTS = ("last", "pages", "stays")


def lines(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.rglob("*.jsonl"))
    return [json.loads(line) for each in files for line in each.read_text().splitlines()]


def test_the_value_is_null_and_a_letter_tells_it_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "MOST_VALUES", 2)
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    told = []
    for number, batch in enumerate(([1, 2], [3], [4], [-3, -4], [5])):
        rows = [{"id": abs(each), "page": "a", "at": 1_700_000_000_000_000} for each in batch]
        gone = [{"__deleted": True} if each < 0 else {} for each in batch]
        file = tmp_path / "data/view" / f"{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = (json.dumps({**row, **also}) for row, also in zip(rows, gone, strict=True))
        file.write_text("\n".join(whole) + "\n", encoding="utf-8")
        run = jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True)
        run.await_termination(300)
        told.append(
            [run.progress.counters.get(each, {}).get("instance_limit", 0) for each in PRODUCTS]
        )

    assert [[0] * 3, [1] * 3, [0] * 3, [0] * 3, [1] * 3] == told
    letters = lines(tmp_path / ".joinery/dead_letters")
    assert ["instance_limit"] * 6 == [each["reason"] for each in letters]
    assert sorted(PRODUCTS * 2) == sorted(each["product"] for each in letters)
    assert {"A value counts more than 2 different ones, and is null."} == {
        each["detail"] for each in letters
    }
    for product in PRODUCTS:
        sent = [each["value"] for each in lines(tmp_path / "out" / product)]
        assert [2, None, 2, None] == [each["seen"] for each in sent]
        assert [None, None] == [each["most"] for each in sent[1::2]]
