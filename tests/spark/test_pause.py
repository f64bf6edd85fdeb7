"""A paused query stands still, in this run and in the next, and goes on where it stood."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.session_run import until

from joinery.delivery.control import Action, ControlLog
from joinery.delivery.query_paths import QueryPaths
from joinery.observe.status import project_status
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.spark.batch.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {format: json, key: [id], fields: {id: long}}}
products:
  card: {root: customer, sink: {files: {path: out}}}
  copy: {root: customer, sink: {files: {path: out}}}
run: {max_rows_per_batch: 1}
"""


class Shop:
    """A project whose product `card` is paused and resumed; `copy` shows that the run goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / "joinery.yaml"
        file.write_text(PROJECT)
        self.spec = load_spec(file)
        self.plan = build_plan(self.spec)
        root = self.spec.path_of(self.spec.run.checkpoint)
        self.control = ControlLog(QueryPaths.of(root, "card").control_file)

    def put(self, *numbers: int) -> None:
        topic = self.folder / "data" / "customer"
        topic.mkdir(parents=True, exist_ok=True)
        for number in numbers:
            part = topic / ".part"
            part.write_text(f'{{"id": {number}}}\n')
            part.rename(topic / f"{number:04}.jsonl")

    def sent(self, product: str = "card") -> list[int]:
        return [
            json.loads(line)["key"]["id"]
            for file in sorted((self.folder / "out" / product).glob("[!.]*.jsonl"))
            for line in file.read_text().splitlines()
        ]

    def has_sent(self, number: int, product: str = "card") -> bool:
        return number in self.sent(product)

    def state(self) -> str:
        found = {each.product: each for each in project_status(self.spec).products}
        return found["card"].state


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_run_once_leaves_out_what_is_paused_and_says_so(spark: SparkSession, shop: Shop) -> None:
    shop.put(1, 2)
    shop.control.ask(Action.now("pause", "stock-taking"))

    first = run(spark, shop, once=True)
    first.await_termination()

    assert ([], [1, 2]) == (shop.sent(), shop.sent("copy"))
    assert ["WARN_PAUSED"] == [each.code for each in first.progress.warnings]
    assert "stock-taking" in str(first.progress.warnings[0])
    assert "paused" == shop.state()

    shop.control.ask(Action.now("resume"))
    run(spark, shop, once=True).await_termination()

    assert [1, 2] == shop.sent()
    assert "ended" == shop.state()


def test_a_query_is_paused_and_resumed_again_and_again_and_loses_nothing(
    spark: SparkSession, shop: Shop
) -> None:
    shop.put(*range(8))
    running = run(spark, shop)
    try:
        until(lambda: bool(shop.sent()), running)
        for number in (100, 101):
            shop.control.ask(Action.now("pause"))
            until(lambda: _stands_still(shop), running)
            before = shop.sent()
            shop.put(number)
            until(partial(shop.has_sent, number, "copy"), running)
            assert before == shop.sent()
            shop.control.ask(Action.now("resume"))
            until(partial(shop.has_sent, number), running)
        shop.control.ask(Action.now("pause"))
        until(lambda: _stands_still(shop), running)
    finally:
        running.stop()

    assert [*range(8), 100, 101] == shop.sent()
    assert "paused" == shop.state()


def _stands_still(shop: Shop) -> bool:
    root = shop.spec.path_of(shop.spec.run.checkpoint)
    told = json.loads((root / "_status" / "card.json").read_text())
    return bool(told["paused"])
