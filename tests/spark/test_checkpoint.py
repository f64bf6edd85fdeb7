"""A checkpoint that a run left is gone on with by its own plan, and by no other."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joinery as jn
from joinery.delivery.restored import RestoredError
from joinery.errors import StateMismatchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string, age: int}}
products:
  profile: {root: customer, fields: [name], sink: {files: {path: out}}}
"""


def project(folder: Path, text: str) -> jn.Project:
    (folder / "joinery.yaml").write_text(text)
    return jn.load(folder / "joinery.yaml")


def test_a_changed_plan_is_refused_where_an_unchanged_one_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "data/customer").mkdir(parents=True)
    (tmp_path / "data/customer/1.jsonl").write_text('{"id": 1, "name": "Ada", "age": 5}\n')
    jn.run(spark, project(tmp_path, PROJECT), once=True).await_termination(300)
    (tmp_path / "data/customer/2.jsonl").write_text('{"id": 1, "name": "Ida", "age": 5}\n')

    with pytest.raises(StateMismatchError) as refused:
        jn.run(spark, project(tmp_path, PROJECT.replace("[name]", "[name, age]")), once=True)
    elsewhere = PROJECT.replace("path: out", "path: elsewhere")
    jn.run(spark, project(tmp_path, elsewhere), once=True).await_termination(300)

    assert 'column "age" was added (int)' in refused.value.detail
    assert ["Ada"] == names(tmp_path / "out/profile")
    assert ["Ida"] == names(tmp_path / "elsewhere/profile")


def names(folder: Path) -> list[str]:
    """Return the names in all documents of a folder."""
    lines = [line for file in sorted(folder.glob("*.jsonl")) for line in file.open()]
    return [json.loads(line)["value"]["name"] for line in lines]


def test_a_checkpoint_that_was_put_back_is_refused_until_it_is_said_to_be_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = PROJECT.replace(
        "sink: {files: {path: out}}", "sink: [{files: {path: out}}, {sqlite: {path: out.db}}]"
    )
    kept, backup = tmp_path / ".joinery/checkpoint", tmp_path / "backup"
    data = tmp_path / "data/customer"
    data.mkdir(parents=True)
    (data / "1.jsonl").write_text('{"id": 1, "name": "Ada"}\n')
    jn.run(spark, project(tmp_path, text), once=True).await_termination(300)
    shutil.copytree(kept, backup)
    (data / "2.jsonl").write_text('{"id": 1, "name": "Ida"}\n{"id": 2, "name": "Bob"}\n')
    jn.run(spark, project(tmp_path, text), once=True).await_termination(300)
    shutil.rmtree(kept)
    shutil.copytree(backup, kept)
    (data / "3.jsonl").write_text('{"id": 1, "name": "Ada"}\n{"id": 3, "name": "Cleo"}\n')

    for _ in range(2):  # the first refusal leaves nothing that lets the next start pass
        with pytest.raises(RestoredError) as refused:
            jn.run(spark, project(tmp_path, text), once=True)
    run = jn.run(spark, project(tmp_path, text), once=True, restored=True)
    run.await_termination(300)
    again = jn.run(spark, project(tmp_path, text), once=True)
    again.await_termination(300)

    assert "It ends with batch 0, and files" in refused.value.detail
    assert "has batch 1." in refused.value.detail
    assert ["WARN_RESTORED"] == [each.code for each in run.progress.warnings]
    assert not again.progress.warnings
    assert ["Ada", "Ida", "Bob", "Bob", "Cleo"] == names(tmp_path / "out/profile")
    with closing(sqlite3.connect(tmp_path / "out.db")) as database:
        held = database.execute("SELECT document ->> 'name' FROM profile ORDER BY id").fetchall()
    assert [("Ida",), ("Bob",), ("Cleo",)] == held  # the first as the runbook says: not sent again
