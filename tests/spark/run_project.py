"""A project of customers and their orders in a folder of its own, and what its sinks hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.sqlite_file import sqlite_file

from joinery.plan.build import build_plan
from joinery.plan.product import Plan, Sink
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import Run, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  order: {key: [number], fields: {number: long, customer_id: long, item: string}}
products:
  profile:
    root: customer
    embed: {orders: {many: order, on: {customer_id: id}, fields: [number, item]}}
    sink:
      - files: {path: out}
      - sqlite: {path: out/shop.db}
run: {max_rows_per_batch: 4}
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A project in a folder of its own."""

    folder: Path
    spec: ProjectSpec
    plan: Plan

    def change(self, topic: str, name: str, *rows: Mapping[str, object] | str) -> None:
        """Put one change file in place."""
        part = self.folder / "data" / topic / f".{name}"
        part.parent.mkdir(parents=True, exist_ok=True)
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        part.write_text("".join(f"{line}\n" for line in lines))
        part.rename(part.with_name(f"{name}.jsonl"))

    def emitted(self) -> list[str]:
        """Return the emissions in order: `id name item,item` or `id deleted`."""
        files = sorted((self.folder / "out/profile").glob("*.jsonl"))
        told = []
        for row in read_rows(files):
            key, value = row.key_values(), json.loads(row.value) if row.value else None
            shown = "deleted"
            if value:
                items = ",".join(each["item"] for each in value["orders"])
                shown = f"{value['name']} {items}".strip()
            told.append(f"{key['id']} {shown}")
        return told

    def table(self) -> list[tuple[int, str]]:
        """Return the documents that sqlite holds."""
        with sqlite_file(self.folder / "out/shop.db") as database:
            rows = database.execute("SELECT id, document FROM profile ORDER BY id").fetchall()
        return [(key, json.loads(text)["name"]) for key, text in rows]

    def sold(self) -> list[tuple[int, str]]:
        """Return the orders that sqlite holds, each with its customer."""
        with sqlite_file(self.folder / "out/shop.db") as database:
            rows = database.execute("SELECT number, document FROM sold ORDER BY 1").fetchall()
        return [(key, json.loads(text)["by"]["name"]) for key, text in rows]

    def to_sink(self, kind: str) -> Project:
        """Return the project with another sink."""
        product = replace(self.plan.products[0], sinks=(Sink(kind),))
        return replace(self, plan=Plan((product,)))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    spec = load_spec(tmp_path / "joinery.yaml")
    return Project(tmp_path, spec, build_plan(spec))


def once(spark: SparkSession, project: Project) -> Run:
    ended = run(spark, project, once=True)
    assert ended.await_termination(300)
    return ended
