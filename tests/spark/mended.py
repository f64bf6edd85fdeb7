"""A shop whose records are mended and put back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.dead_letters.dead_letter import DeadLetter
from joinery.dead_letters.queue import DeadLetterQueue, Selection
from joinery.model.progress import Progress
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class MendedShop:
    """A project in a folder of its own, run to its end at each call."""

    def __init__(self, spark: SparkSession, folder: Path, project: str) -> None:
        self.spark, self.folder = spark, folder
        (folder / "joinery.yaml").write_text(project)
        self.spec = load_spec(folder / "joinery.yaml")
        self.plan = build_plan(self.spec)
        self.queue = DeadLetterQueue(self.spec, self.plan)

    def run(self) -> Progress:
        ended = run(self.spark, self, once=True)
        assert ended.await_termination(300)
        return ended.progress

    def letters(self) -> list[DeadLetter]:
        return self.queue.find(Selection())

    def mend(self, letter: DeadLetter, value: str) -> None:
        mended = replace(letter, facts={**letter.facts, "value": value})
        assert [] == self.queue.replay([mended])

    def names(self) -> dict[int, str]:
        rows = read_rows(sorted((self.folder / "out/profile").glob("*.jsonl")))
        return {json.loads(row.key)["id"]: json.loads(row.value or "{}")["name"] for row in rows}
