"""Documents in Avro on a real broker, read back by Confluent's own client."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from joinery.dev.service import Service
from joinery.model.type import Field, Struct, parse_type
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import (
    Sink,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Written,
    log_of,
    make_sink,
)

pytestmark = pytest.mark.services
FIELDS = "struct<id: long, at: timestamp, total: decimal(12,2), lines: array<struct<item: string>>>"


@dataclass(frozen=True, slots=True)
class Sunk:
    """A sink, and what it wrote."""

    folder: Path
    kafka: str
    registry: str
    topic: str

    def write(self, *rows: StagedRow, batch_id: int = 0, **parts: Any) -> Written:
        """Write one batch through a sink of its own."""
        batch = self.stage(*rows, batch_id=batch_id, **parts)
        with self.opened() as sink:
            return sink.write(batch)

    def versions(self, *keys: str) -> Mapping[str, int]:
        """Return the highest versions that the topic has of some keys."""
        with self.opened() as sink:
            log = log_of(sink)
            assert log is not None
            return log.log_versions(self.stage(), keys).highest

    def stage(
        self,
        *rows: StagedRow,
        fields: str = FIELDS,
        batch_id: int = 0,
        nullable: frozenset[str] = frozenset(),
    ) -> StagedBatch:
        """Return a batch of these documents."""
        file = self.folder / f"part-{batch_id}.jsonl"
        file.write_text("".join(each.line() for each in rows), encoding="utf-8")
        value = parse_type(fields)
        assert isinstance(value, Struct)
        return StagedBatch(
            product="orders",
            query="orders",
            query_id=self.topic,
            batch_id=batch_id,
            files=(file,),
            key=Struct((Field("id", parse_type("long")),)),
            value=value,
            nullable_key=nullable,
        )

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """Give a sink of its own, open."""
        options = {"topic": self.topic, "bootstrap": self.kafka}
        sink = make_sink(
            "kafka", "orders", {**options, "format": "avro", "registry": self.registry}, self.folder
        )
        sink.open()
        try:
            yield sink
        finally:
            sink.close()

    def read(self) -> list[tuple[Any, Any]]:
        """Return keys and documents, as another reader of the registry has them."""
        deserialize = AvroDeserializer(SchemaRegistryClient({"url": self.registry}))
        consumer = Consumer({"bootstrap.servers": self.kafka, "group.id": self.topic})
        places = consumer.list_topics(self.topic, timeout=30).topics[self.topic].partitions
        found: dict[int, tuple[Any, Any]] = {}
        for each in places:
            place = TopicPartition(self.topic, each, 0)
            _, end = consumer.get_watermark_offsets(place, timeout=30)
            consumer.assign([place])
            while end > 0 and (at := consumer.position([place])[0].offset) < end:
                message = consumer.poll(1)
                assert message is not None or at < end
                if message is not None and message.error() is None:
                    parts = (message.key(), MessageField.KEY), (message.value(), MessageField.VALUE)
                    key, value = (
                        deserialize(data, SerializationContext(self.topic, part))
                        for data, part in parts
                    )
                    found[len(found)] = key, value
        consumer.close()
        return list(found.values())


@pytest.fixture
def sunk(kafka: Service, registry: Service, tmp_path: Path) -> Sunk:
    """A topic of a name of its own."""
    return Sunk(tmp_path, kafka.address, registry.address, f"t{uuid.uuid4().hex[:8]}")


def order(number: int, total: str = "12.50", version: int = 7) -> StagedRow:
    value = (
        f'{{"id":{number},"at":"2026-01-02T03:04:05.000006Z","total":{total},'
        '"lines":[{"item":"ü"},null]}'
    )
    return StagedRow(f'{{"id":{number}}}', value, version)


def test_documents_and_tombstones_are_read_by_another_client(sunk: Sunk) -> None:
    sunk.write(order(1))
    sunk.write(StagedRow('{"id":1}', None, 8), batch_id=1)

    at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    document = {"id": 1, "at": at, "total": Decimal("12.50"), "lines": [{"item": "ü"}, None]}
    assert [({"id": 1}, document), ({"id": 1}, None)] == sunk.read()


def test_the_versions_of_documents_are_found_by_their_keys(sunk: Sunk) -> None:
    sunk.write(order(1), order(2))
    sunk.write(StagedRow('{"id":1}', None, 8), batch_id=1)

    assert {'{"id":1}': 8, '{"id":2}': 7} == sunk.versions('{"id":1}', '{"id":2}', '{"id":3}')


def test_a_document_that_gets_a_field_has_a_new_schema(sunk: Sunk) -> None:
    sunk.write(order(1))
    wider = FIELDS.replace("id: long", "id: long, more: string")

    sunk.write(order(2), fields=wider, batch_id=1)

    subjects = SchemaRegistryClient({"url": sunk.registry}).get_versions(f"{sunk.topic}-value")
    assert 2 == len(subjects)
    assert {1, 2} == {key["id"] for key, _ in sunk.read()}


def test_a_registry_that_is_down_is_waited_for(sunk: Sunk, registry: Service) -> None:
    registry.stop()
    try:
        with pytest.raises(SinkUnavailableError, match="could not reach the schema registry"):
            sunk.write(order(1))
    finally:
        registry.start()

    sunk.write(order(1))

    assert [1] == [key["id"] for key, _ in sunk.read()]


def test_a_key_that_may_be_null_is_a_key_like_any_other(sunk: Sunk) -> None:
    nullable = frozenset({"id"})
    unknown = StagedRow('{"id":null}', '{"id":null}', 7)

    sunk.write(unknown, order(1), nullable=nullable)
    sunk.write(StagedRow('{"id":null}', None, 8), batch_id=1, nullable=nullable)

    assert Counter([(None, True), (1, True), (None, False)]) == Counter(
        (key["id"], document is not None) for key, document in sunk.read()
    )


def test_keys_of_a_topic_that_had_no_nulls_stay_as_they_are(sunk: Sunk) -> None:
    sunk.write(order(1))
    unknown = StagedRow('{"id":null}', '{"id":null}', 7)

    written = sunk.write(unknown, order(1, version=8), batch_id=1, nullable=frozenset({"id"}))

    assert [unknown] == [each.row for each in written.refused]
    assert '"id" is null' in written.refused[0].detail
    gone = StagedRow('{"id":null}', None, 9)  # of what the topic never had
    assert () == sunk.write(gone, batch_id=2, nullable=frozenset({"id"})).refused
    assert 1 == len(SchemaRegistryClient({"url": sunk.registry}).get_versions(f"{sunk.topic}-key"))
    assert {'{"id":1}': 8} == sunk.versions('{"id":1}', '{"id":null}')


def test_what_avro_has_no_place_for_is_told(sunk: Sunk) -> None:
    written = sunk.write(order(1, total="12.505"), order(2))

    assert ["document_refused"] == [each.reason for each in written.refused]
    assert [2] == [key["id"] for key, _ in sunk.read()]
    with pytest.raises(SinkError, match='field "a b" of product "orders"'):
        sunk.write(order(1), fields="struct<`a b`: int>", batch_id=1)
