"""A checkpoint that a run left is gone on with by its own plan, and by no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joinery as jn
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

    assert 'column "age" int was added' in refused.value.detail
    assert ["Ada"] == names(tmp_path / "out/profile")
    assert ["Ida"] == names(tmp_path / "elsewhere/profile")


def names(folder: Path) -> list[str]:
    """Return the names in all documents of a folder."""
    lines = [line for file in sorted(folder.glob("*.jsonl")) for line in file.open()]
    return [json.loads(line)["value"]["name"] for line in lines]
