"""Documents that a topic refused are sent again, unless the topic has something newer."""

from __future__ import annotations

import json
import threading
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.services.log import Log

from joinery.clients.kafka import Brokers, Topic, describe_topic
from joinery.clients.kafka_reader import read_topic
from joinery.dead_letters.dead_letter import DeadLetter
from joinery.dead_letters.queue import DeadLetterQueue, NotReplayed, Selection
from joinery.delivery.outlet import SinkDeadLetters
from joinery.dev.service import Service
from joinery.errors import SinkUnavailableError
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.sinks.kafka_log import highest_versions
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import StagedBatch, make_sink

pytestmark = pytest.mark.services

PROJECT = """\
name: shop
sources: {{changes: {{files: {{path: data}}}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
products:
  profile: {{root: customer, sink: {{kafka: {{topic: "{topic}", bootstrap: "{bootstrap}"}}}}}}
"""
NOW = time.time_ns() // 1000
DAY_MS = 86_400_000
LARGE = "x" * 20_000


class Shop:
    """A project whose topic takes small documents at first."""

    def __init__(self, folder: Path, bootstrap: str, *, deletes_ms: int = DAY_MS) -> None:
        self.folder, self.topic = folder, f"t{uuid.uuid4().hex[:8]}"
        self.brokers, self.log = Brokers(bootstrap, {}), Log(bootstrap, {})
        kept = {"cleanup.policy": "compact", "delete.retention.ms": str(deletes_ms)}
        self.log.create(self.topic, settings={**kept, "max.message.bytes": "2000"})
        file = folder / "joinery.yaml"
        file.write_text(PROJECT.format(topic=self.topic, bootstrap=bootstrap))
        self.spec = load_spec(file)
        self.plan = build_plan(self.spec)
        self.sent = 0

    def send(self, version: int, name: str | None) -> None:
        """Send a document, and keep a dead letter of one that is refused."""
        self.sent += 1
        (product,) = self.plan.products
        (declared,) = product.sinks
        sink = make_sink(declared.kind, product.name, dict(declared.options), self.folder)
        value = None if name is None else json.dumps({"id": 1, "name": name})
        file = self.folder / f"part-{self.sent}.jsonl"
        file.write_text(StagedRow('{"id":1}', value, NOW + version).line(), encoding="utf-8")
        sink.open()
        batch = StagedBatch(
            product=product.name,
            query=product.name,
            query_id=self.topic,
            batch_id=self.sent,
            files=(file,),
            key=product.key,
            value=product.output,
        )
        refused = sink.write(batch).refused
        sink.close()
        letters = self.folder / f".joinery/dead_letters/profile-000001-{self.sent:010}.jsonl"
        SinkDeadLetters(letters).add(product.name, sink.target, refused)

    def replay(self) -> list[NotReplayed]:
        """Let the topic take large documents, and put all dead letters back."""
        self.log.set(self.topic, **{"max.message.bytes": "1000000"})
        until = time.monotonic() + 300
        while (describe_topic(self.brokers, self.topic) or Topic()).max_bytes != 1_000_000:
            assert time.monotonic() < until
        queue = DeadLetterQueue(self.spec, self.plan)
        return queue.replay(self.letters())

    def letters(self) -> list[DeadLetter]:
        return DeadLetterQueue(self.spec, self.plan).find(Selection())

    def names(self) -> list[str | None]:
        """Return the names in the topic's documents, in order; None for a delete."""
        values = (each.value for each in read_topic(self.brokers, self.topic))
        return [None if each is None else json.loads(each)["name"] for each in values]


@pytest.mark.parametrize("newest", ["small", None], ids=["a document", "a delete"])
def test_what_is_newer_in_the_topic_stays_the_newest(
    kafka: Service, tmp_path: Path, newest: str | None
) -> None:
    shop = Shop(tmp_path, kafka.address)
    shop.send(5, LARGE)
    shop.send(7, newest)

    (kept,) = shop.replay()

    assert f"has version {NOW + 7} of it, which is newer than {NOW + 5}" in kept.why
    assert [newest] == shop.names()
    assert 1 == len(shop.letters())


def test_a_document_above_what_the_topic_has_is_sent(kafka: Service, tmp_path: Path) -> None:
    shop = Shop(tmp_path, kafka.address, deletes_ms=0)
    shop.send(-30_000_000, "small")
    shop.send(-20_000_000, LARGE)

    kept = shop.replay()

    assert [] == kept
    assert ["small", LARGE] == shop.names()
    assert [] == shop.letters()


def test_a_document_whose_delete_the_topic_may_have_forgotten_is_kept(
    kafka: Service, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, kafka.address, deletes_ms=10_000)
    shop.send(-20_000_000, LARGE)

    (kept,) = shop.replay()

    assert "its root may have been deleted since: it is older than 10s" in kept.why
    assert [] == shop.names()


def test_a_version_that_is_not_committed_yet_is_waited_for(kafka: Service, tmp_path: Path) -> None:
    shop = Shop(tmp_path, kafka.address)
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": shop.topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(shop.topic, b"{}", b"a", headers=[("joinery.version", b"7")])
    producer.flush(30)
    found: dict[bytes, int] = {}
    reading = threading.Thread(
        target=lambda: found.update(highest_versions(shop.brokers, shop.topic, {b"a", b"b"}))
    )

    reading.start()
    reading.join(3)
    assert reading.is_alive()
    producer.commit_transaction(30)
    reading.join(60)

    assert {b"a": 7} == found


def test_a_transaction_that_stays_open_is_named(
    kafka: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, kafka.address)
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": shop.topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(shop.topic, b"{}", b"a", headers=[("joinery.version", b"7")])
    producer.flush(30)
    monkeypatch.setattr("joinery.clients.kafka_reader._STUCK_S", 2.0)

    with pytest.raises(SinkUnavailableError, match="a transaction is open") as caught:
        highest_versions(shop.brokers, shop.topic, {b"a"})
    producer.abort_transaction(30)

    assert f" at {shop.topic}/" in caught.value.detail
