"""Projects that read a real Kafka broker."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.log import Log

from joinery.connect.line import read_lines
from joinery.model.progress import BatchProgress
from joinery.plan.build import build_plan
from joinery.plan.nodes import Plan
from joinery.spark.connector import kafka_jars
from joinery.spark.kernel import add_jars
from joinery.spark.run import Run, run
from joinery.spec.load import load_spec
from joinery.spec.product import ProjectSpec
from joinery.stack.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: shop
sources:
  changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}
relations:
  customer: {{topic: {at}.customer, key: [id], fields: {{id: long, name: string}}}}
  order:
    topic: {at}.order
    key: [number]
    fields: {{number: long, customer_id: long, item: string}}
products:
  profile:
    root: customer
    embed: {{orders: {{many: order, on: {{customer_id: id}}, fields: [number, item]}}}}
    sink: {{files: {{path: out}}}}
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """A project of customers and orders, its folder and the prefix of its topics."""

    spark: SparkSession
    folder: Path
    log: Log
    at: str

    @property
    def spec(self) -> ProjectSpec:
        """The project as its file declares it."""
        return load_spec(self.folder / "joinery.yaml")

    @property
    def plan(self) -> Plan:
        """The plan of the project."""
        return build_plan(self.spec)

    def declare(self, text: str, **names: str) -> None:
        """Write the project file."""
        told = text.format(bootstrap=self.log.bootstrap, at=self.at, **names)
        (self.folder / "joinery.yaml").write_text(told, encoding="utf-8")

    def customer(self, number: int, name: str, **more: Any) -> None:
        """Append a customer."""
        self.log.put(f"{self.at}.customer", {"id": number, "name": name}, **more)

    def order(self, number: int, customer: int, item: str, **more: Any) -> None:
        """Append an order."""
        row = {"number": number, "customer_id": customer, "item": item}
        self.log.put(f"{self.at}.order", row, **more)

    def once(self) -> tuple[Run, list[BatchProgress]]:
        """Run to the end of what there is."""
        batches: list[BatchProgress] = []
        ended = run(self.spark, self, once=True, on_batch=batches.append)
        assert ended.await_termination(300)
        return ended, batches

    def documents(self) -> dict[int, str]:
        """Return the newest documents: `name item,item`."""
        newest: dict[int, str] = {}
        for key, document, _ in read_lines(sorted((self.folder / "out/profile").glob("*.jsonl"))):
            newest.pop(key["id"], None)
            if document:
                newest[key["id"]] = _told(json.loads(document))
        return dict(sorted(newest.items()))

    def letters(self) -> list[Mapping[str, Any]]:
        """Return the dead letters."""
        files = sorted((self.folder / ".joinery/dead_letters").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _told(value: Mapping[str, Any]) -> str:
    items = ",".join(each["item"] for each in value["orders"])
    return f"{value['name']} {items}".strip()


@pytest.fixture
def kafka_spark(spark: SparkSession) -> SparkSession:
    """The session, with the Kafka connector."""
    add_jars(spark, kafka_jars())
    return spark


@pytest.fixture
def shop(kafka_spark: SparkSession, kafka: Service, tmp_path: Path) -> Shop:
    """The project on the broker, with topics of its own, which are not there yet."""
    made = Shop(kafka_spark, tmp_path, Log(kafka.address, {}), f"t{uuid.uuid4().hex[:8]}")
    made.declare(PROJECT)
    return made


def test_a_run_once_reads_the_topics_to_their_end(shop: Shop) -> None:
    shop.customer(1, "Ada")
    shop.customer(2, "Bob")
    shop.order(7, 1, "tea")
    shop.log.put(f"{shop.at}.order", "{broken", key="k")

    ended, _ = shop.once()

    assert {1: "Ada tea", 2: "Bob"} == shop.documents()
    totals = ended.progress.totals
    assert (4, 3, 1) == (totals.read, totals.applied, totals.dead)
    (letter,) = shop.letters()
    told = {name: letter[name] for name in ("source", "topic", "partition", "offset", "key")}
    assert {
        "source": "changes",
        "topic": f"{shop.at}.order",
        "partition": 0,
        "offset": 1,
        "key": "k",
    } == told
    assert "{broken" == letter["value"]


def test_the_next_run_goes_on_where_the_last_one_ended(shop: Shop) -> None:
    shop.customer(1, "Ada")
    shop.once()
    shop.order(7, 1, "tea")

    ended, _ = shop.once()

    assert {1: "Ada tea"} == shop.documents()
    assert 1 == ended.progress.totals.read


def test_a_topic_that_is_not_there_yet_is_empty_and_read_once_it_comes(shop: Shop) -> None:
    shop.once()
    assert {} == shop.documents()

    shop.customer(1, "Ada")
    shop.once()
    shop.order(7, 1, "tea")
    shop.once()

    assert {1: "Ada tea"} == shop.documents()
