"""A run keeps the state of a batch from time to time, and says so."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.session_run import until

from joinery.observe.status import project_status
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.spark.batch.run import run
from joinery.spark.recovery.mark import marks_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {format: json, key: [id], fields: {id: long}}}
products: {card: {root: customer, sink: {files: {path: out}}}}
run: {marks: {every: 1s, keep: 2}}
"""


class Shop:
    """A project whose run marks often."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / "joinery.yaml"
        file.write_text(PROJECT, encoding="utf-8")
        self.spec = load_spec(file)
        self.plan = build_plan(self.spec)
        self._numbers = count()

    def put(self, number: int) -> None:
        part = self.folder / "data" / "customer" / ".part"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"id": number}) + "\n", encoding="utf-8")
        part.rename(part.with_name(f"{number:04}.jsonl"))

    @property
    def marks(self) -> list[int]:
        return [each.batch for each in marks_of(self.folder / ".joinery" / "checkpoint" / "card")]

    def goes_on(self, marked: set[int]) -> bool:
        """Write another change; return whether three batches have been marked by now."""
        self.put(next(self._numbers))
        marked |= {*self.marks}
        return len(marked) == 3


def test_a_run_keeps_the_newest_marks_and_tells_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    shop = Shop(tmp_path)
    marked: set[int] = set()
    with run(spark, shop) as running:
        until(lambda: shop.goes_on(marked), running)

    status = project_status(shop.spec)
    [card] = status.products
    assert card.marks is not None
    assert (2, shop.marks[-1]) == (card.marks.count, card.marks.batch)
    assert min(marked) not in shop.marks
    assert card.marks.bytes > 0
    assert f"card: 2 marks, the newest of batch {shop.marks[-1]} (20" in str(status)
