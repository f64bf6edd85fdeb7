"""An aggregate that counts exactly tells where it meets more values than it keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.expression import group_aggregate
from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.driver import Driver

PROJECT = """
sources: {c: {files: {path: data}}}
relations:
  view: {key: [id], fields: {id: long, page: string}}
products:
  p:
    aggregate: view
    by: [page]
    values: {seen: approx_count_distinct(id), most: "approx_top_k(id, 1)"}
    sink: {files: {path: out}}
"""


def view(number: int) -> RowChange:
    return insert("view", id=number, page="a")


def test_it_is_told_once_and_again_when_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_aggregate, "MOST_VALUES", 2)
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    made = Driver(jn.load(tmp_path / "joinery.yaml").products["p"])

    few = made.send(view(1), view(2))
    many = made.send(view(3))
    made.send(view(4))
    again = made.send(delete("view", id=3), delete("view", id=4))
    made.send(view(5))

    assert [2, None, 2] == [each.value["seen"] for (each,) in (few, many, again) if each.value]
    assert ["instance_limit"] * 2 == [each.reason for each in made.dead_letters]
    assert 2 == made.counters["instance_limit"]
