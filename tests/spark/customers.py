"""A project that any solution can run: its changes, its runs, its documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joinery as jn
from joinery.app.project import Project
from joinery.project.product import with_solution
from joinery.spark.batch.run import Run, RunOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  customer: {key: [id], fields: {id: long, email: string, name: string}}  # email: not shown
  order: {key: [id], fields: {id: long, customer: long, total: "decimal(8,2)", at: timestamp}}
products:
  profile:
    root: customer
    fields: [name]
    embed:
      orders: {many: order, on: {customer: id}, fields: [total, at]}
    sink: {files: {path: out}}
run: {max_rows_per_batch: 3}
"""


def write(folder: Path, topic: str, name: str, *rows: dict[str, Any]) -> None:
    part = folder / "data" / topic / f".{name}"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    part.rename(part.with_name(f"{name}.jsonl"))


def project_in(folder: Path) -> Project:
    """Return the project, with a first file of each topic."""
    (folder / "joinery.yaml").write_text(PROJECT)
    write(folder, "customer", "1", *({"id": n, "name": f"n{n}"} for n in range(4)))
    at = "2026-01-02T03:04:05Z"
    orders = ({"id": n, "customer": n % 4, "total": f"{n}.50", "at": at} for n in range(8))
    write(folder, "order", "1", *orders)
    return jn.load(folder / "joinery.yaml")


def run(spark: SparkSession, project: Project, solution: str, *, rebuild: bool = False) -> Run:
    chosen = Project.of(with_solution(project.spec, solution))
    started = Run(chosen.spec, chosen.plan, RunOptions(once=True, rebuild=rebuild))
    started.prepare()
    started.start(spark)
    started.await_termination()
    return started


def documents(folder: Path) -> dict[int, Any]:
    """Return what a reader of the files makes of them; versions rise."""
    found: dict[int, tuple[int, Any]] = {}
    for file in sorted((folder / "out/profile").glob("*.jsonl")):
        for line in map(json.loads, file.read_text().splitlines()):
            key = line["key"]["id"]
            assert line["version"] > found.get(key, (0,))[0]
            found[key] = (line["version"], line["value"])
    return {key: value for key, (_, value) in found.items()}
