"""A run ends only when its spools are empty, and its sinks then hold the same documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.sqlite_file import sqlite_file

from joinery.app.project import load
from joinery.spark.batch.run import run

pytestmark = pytest.mark.spark
PROJECT = """\
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile:
    root: customer
    sink: [{files: {path: out}}, {sqlite: {path: out.db, spool: true}}]
"""


def test_a_run_to_the_end_empties_its_spools(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    changes = tmp_path / "data/customer/1.jsonl"
    changes.parent.mkdir(parents=True)
    changes.write_text('{"id": 1, "name": "Ada"}\n{"id": 2, "name": "Bob"}\n', encoding="utf-8")

    run(spark, load(tmp_path / "joinery.yaml"), once=True).await_termination()

    with sqlite_file(tmp_path / "out.db") as database:
        rows = database.execute("SELECT id, document FROM profile ORDER BY id").fetchall()
    assert [(1, "Ada"), (2, "Bob")] == [(key, json.loads(text)["name"]) for key, text in rows]
    spools = tmp_path / ".joinery/checkpoint/profile/joinery-spool/profile"
    assert [[]] == [list(each.iterdir()) for each in spools.iterdir()]
