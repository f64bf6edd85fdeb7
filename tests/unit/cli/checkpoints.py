"""Checkpoints of a project that only have what a run notes of them."""

from __future__ import annotations

import json
from pathlib import Path

from joinery.app.project import load
from joinery.plan.stream import outputs_of
from joinery.solutions.spark_state.fingerprint import claim_checkpoint
from joinery.spark.batch.query_kernel import lower_query
from joinery.spark.batch.setup import select_queries
from joinery.spark.batch.stores import solution_of
from joinery.spark.recovery.checkpoint import claim_sources
from joinery.spark.source.source import sources_of

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string, city: string}}
  order: {key: [id], fields: {id: long, customer: long, total: long}}
products:
  profile: {root: customer, group: core, embed: {orders: {many: order, on: {customer: id}}}, SINK}
  cities: {aggregate: customer, group: core, by: [city], values: {n: count(*)}, SINK}
  totals: {aggregate: order, group: core, by: [customer], values: {total: sum(total)}, SINK}
  card: {root: customer, fields: [name], SINK}
""".replace("SINK", "sink: {files: {path: out}}")
TOTALS = next(line for line in PROJECT.splitlines(keepends=True) if "totals:" in line)
SUMS = TOTALS.replace("totals", "sums")


def has_run(folder: Path) -> None:
    """Leave what a run notes of its checkpoints."""
    project = load(folder / "joinery.yaml")
    for query, products in select_queries(outputs_of(project.plan)).items():
        checkpoint = folder / ".joinery/checkpoint" / query
        program = lower_query(products, project.spec.run).program
        claim_checkpoint(checkpoint, query, program, solution_of(products))
        reads = sources_of(project.spec, products)
        claim_sources(checkpoint, query, reads)
        for each in ("offsets", "commits"):
            (checkpoint / each).mkdir()
            (checkpoint / each / "0").write_text("\n".join(["v1", "{}", *("-" for _ in reads)]))


def has_read(folder: Path, **sizes: int) -> None:
    """Leave a file of each of some topics, and what a run notes that has read them."""
    checkpoint = folder / ".joinery/checkpoint/core"
    seen = [{"topic": each, "number": 0, "file": "0.jsonl", "label": 1} for each in sizes]
    lines = [{"format": 1}, *({**each, "size": sizes[str(each["topic"])]} for each in seen)]
    labels = checkpoint / "sources/0/000000000.labels"
    labels.parent.mkdir(parents=True)
    labels.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    done = {"format": 1, "topics": {each: {"done": "0"} for each in sizes}}
    (checkpoint / "offsets/0").write_text(f"v1\n{{}}\n{json.dumps(done)}")
    for topic, size in sizes.items():
        (folder / "data" / topic).mkdir(parents=True)
        (folder / "data" / topic / "0.jsonl").write_text("." * size)


def declare(folder: Path, *changes: tuple[str, str]) -> None:
    text = PROJECT
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    (folder / "joinery.yaml").write_text(text)
