"""Projects that read Avro by a real schema registry, written by Confluent's own client."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.looking import rest
from tests.services.log import Log
from tests.services.project_folder import ProjectFolder

import joinery as jn
from joinery.dev.service import Service
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import Run, run
from joinery.spark.jar import kafka_jars
from joinery.spark.jvm import add_jars
from joinery.spark.recovery.attempt import QueryFailedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: shop
sources:
  changes: {{kafka: {{bootstrap: "{bootstrap}", registry: {{url: "{registry}", wait: {wait}}}}}}}
defaults: {{format: avro}}
relations:
  customer: {{topic: {topic}, key: [id], fields: {{id: long, name: string, born: date}}}}
products:
  profile: {{root: customer, sink: {{files: {{path: out}}}}}}
"""
ID = {"name": "id", "type": "int"}
NAME = {"name": "name", "type": ["null", "string"], "default": None}
BORN = {"name": "born", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None}


def record(*fields: Mapping[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "customer", "fields": fields})


@dataclass(frozen=True, slots=True)
class Shop(ProjectFolder):
    """A project of customers, its folder and its topic."""

    spark: SparkSession
    log: Log
    registry: str
    topic: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")

    def declare(self, *, registry: str = "", wait: str = "60s") -> None:
        """Write the project file."""
        text = PROJECT.format(
            bootstrap=self.log.bootstrap,
            registry=registry or self.registry,
            topic=self.topic,
            wait=wait,
        )
        (self.folder / "joinery.yaml").write_text(text, encoding="utf-8")

    def put(self, schema: str, row: Mapping[str, Any]) -> None:
        """Append a row, written as Confluent's client writes it."""
        client = SchemaRegistryClient({"url": self.registry})
        serializer = AvroSerializer(client, schema)
        value = serializer(row, SerializationContext(self.topic, MessageField.VALUE))
        self.log.put(self.topic, value)

    def once(self) -> Run:
        """Run to the end of what there is."""
        ended = run(self.spark, self, once=True)
        assert ended.await_termination(300)
        return ended

    def documents(self) -> list[str]:
        """Return all documents that were sent, in order."""
        rows = read_rows(sorted((self.folder / "out/profile").glob("*.jsonl")))
        return [row.value or "" for row in rows]

    def letters(self) -> list[tuple[str, str]]:
        """Return reason and detail of the dead letters."""
        files = sorted((self.folder / ".joinery/dead_letters").glob("*.jsonl"))
        read = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [(each["reason"], each["detail"]) for each in read]


@pytest.fixture
def shop(spark: SparkSession, kafka: Service, registry: Service, tmp_path: Path) -> Shop:
    """The project on the broker, with a topic of its own."""
    add_jars(spark, kafka_jars())
    made = Shop(tmp_path, spark, Log(kafka.address, {}), registry.address)
    made.declare()
    return made


def test_columns_that_come_widen_and_go_need_no_restart(shop: Shop) -> None:
    shop.put(record(ID, NAME), {"id": 1, "name": "Ada"})
    wide = {"name": "id", "type": "long"}
    shop.put(record(wide, NAME, BORN), {"id": 2, "name": "Bob", "born": 20455})
    shop.put(record(wide, BORN), {"id": 1, "born": 0})

    shop.once()

    assert [
        '{"id":1,"name":"Ada","born":"1970-01-01"}',
        '{"id":2,"name":"Bob","born":"2026-01-02"}',
    ] == sorted(shop.documents())


def test_what_was_not_written_by_a_schema_of_avro_is_a_dead_letter(shop: Shop) -> None:
    client = SchemaRegistryClient({"url": shop.registry})
    draft = "http://json-schema.org/draft-07/schema#"
    other = Schema(json.dumps({"$schema": draft, "type": "object"}), "JSON")
    number = client.register_schema(f"{shop.topic}-other", other)
    shop.put(record(ID, NAME), {"id": 1, "name": "Ada"})
    shop.log.put(shop.topic, {"id": 2})
    shop.log.put(shop.topic, b"\0" + (999_999).to_bytes(4) + b"\2\0")
    shop.log.put(shop.topic, b"\0" + number.to_bytes(4) + b"{}")

    ended = shop.once()

    assert ['{"id":1,"name":"Ada","born":null}'] == shop.documents()
    assert {
        "no schema id in front: not Avro in a schema registry's wire format",
        "schema 999999 is not in the schema registry",
        f"schema {number} is of JSON, not of Avro",
    } == {detail for reason, detail in shop.letters() if reason == "undecodable"}
    assert (4, 1, 3) == (
        ended.progress.totals.read,
        ended.progress.totals.applied,
        ended.progress.totals.dead,
    )


def test_a_registry_that_is_down_fails_the_run_and_loses_nothing(
    shop: Shop, registry: Service
) -> None:
    shop.put(record(ID, NAME), {"id": 1, "name": "Ada"})
    shop.declare(wait="300ms")

    registry.stop()
    try:
        for _ in range(3):  # the third start of a batch looks for records that break it
            with pytest.raises(QueryFailedError) as caught:
                shop.once()
    finally:
        registry.start()
    shop.declare()
    shop.once()

    assert "could not get schema" in caught.value.message
    assert "it cannot be connected to" in caught.value.message
    assert ['{"id":1,"name":"Ada","born":null}'] == shop.documents()
    assert [] == shop.letters()


def test_a_registry_that_is_down_is_told_while_it_is_waited_for(
    shop: Shop, registry: Service
) -> None:
    shop.put(record(ID, NAME), {"id": 1, "name": "Ada"})
    target = 'the schema registry of source "changes"'

    registry.stop()
    try:
        begun = run(shop.spark, shop, once=True)
        waits(begun, lambda: target in begun.progress.waiting)
        waits(begun, lambda: target in jn.status(shop.folder / "joinery.yaml").products[0].because)
        (status,) = jn.status(shop.folder / "joinery.yaml").products
    finally:
        registry.start()
    assert begun.await_termination(300)

    assert ("starting", "it waits for ") == (status.state, status.because[:13])
    assert status.because.endswith("it cannot be connected to")
    assert ['{"id":1,"name":"Ada","born":null}'] == shop.documents()


def waits(begun: Run, condition: Callable[[], bool]) -> None:
    """Wait until something holds of a run under way."""
    deadline = time.monotonic() + 300
    while not condition():
        looked = time.monotonic()
        assert not begun.ended
        assert looked < deadline
        rest(looked, 0.1)


def test_a_wrong_path_is_no_missing_schema(shop: Shop) -> None:
    shop.put(record(ID, NAME), {"id": 1, "name": "Ada"})
    shop.declare(registry=shop.registry.replace("/ccompat/", "/nothing/"))

    with pytest.raises(QueryFailedError) as caught:
        shop.once()

    assert "no schema registry answers at" in caught.value.message
    assert [] == shop.letters()
