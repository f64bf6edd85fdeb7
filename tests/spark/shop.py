"""A shop over change files: they are written, run in the session of all tests, and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.app.project import load
from joinery.spark.batch.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = """\
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string, city: string}}
  order: {key: [id], fields: {id: long, customer_id: long, total: long}}
products:
  profile:
    group: shop
    root: customer
    embed: {orders: {many: order, on: {customer_id: id}, fields: [id, total]}}
    sink: {files: {path: out}}
  cities:
    group: shop
    aggregate: customer
    by: [city]
    values: {n: count(*)}
    sink: {files: {path: out}}
run: {spark: {spark.sql.shuffle.partitions: "2"}}
"""
CUSTOMERS = [{"id": i, "name": f"c{i}", "city": f"city {i % 5}"} for i in range(30)]
ORDERS = [{"id": i, "customer_id": i % 30, "total": i} for i in range(90)]


def feed(folder: Path, number: int, **rows: list[dict[str, Any]]) -> None:
    for relation, each in rows.items():
        file = folder / "data" / relation / f"{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in each), encoding="utf-8")


def run_once(spark: SparkSession, folder: Path) -> Mapping[str, int]:
    ended = run(spark, load(folder / "joinery.yaml"), once=True)
    ended.await_termination()
    counts = ended.progress.documents
    return {name: each.get("upserts", 0) for name, each in counts.items()}


def documents(folder: Path, product: str) -> dict[str, Any]:
    lines = (
        json.loads(line)
        for file in sorted((folder / "out" / product).glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    )
    newest: dict[str, Any] = {}
    for each in sorted(lines, key=lambda line: line["version"]):
        newest[json.dumps(each["key"])] = each["value"]
    return newest
