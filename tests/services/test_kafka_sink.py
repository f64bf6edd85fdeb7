"""The sink suite on a Kafka topic, read as careful readers do: committed records, by version."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from joinery.connect.kafka import KafkaSink, kafka_sink
from joinery.connect.line import StagedRow
from joinery.stack.service import Service
from joinery.testing.conformance import SinkCase, SinkTarget, sink_cases

pytestmark = pytest.mark.services
EACH_CASE = pytest.mark.parametrize("case", sink_cases(), ids=str)


def committed(bootstrap: str, topic: str) -> list[StagedRow]:
    """Return all committed records of a topic, in their order by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    standing = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, each, 0) for each in standing])
    rows: list[StagedRow] = []
    ended = 0
    until = time.monotonic() + 60
    while ended < len(standing):
        assert time.monotonic() < until
        for message in consumer.consume(10_000, timeout=1):
            if message.error():
                ended += 1
                continue
            value = message.value()
            version = dict(message.headers())["joinery.version"]
            text = None if value is None else value.decode()
            rows.append(StagedRow(message.key().decode(), text, int(version)))
    consumer.close()
    return rows


@contextmanager
def cut(kafka: Service) -> Iterator[None]:
    kafka.kill()
    try:
        yield
    finally:
        kafka.start()


def target(kafka: Service, **options: object) -> SinkTarget:
    def make(product: str) -> KafkaSink:
        given = {"topic": product, "bootstrap": kafka.address, **options}
        return kafka_sink(product, given, Path())

    return SinkTarget(
        make=make,
        read=lambda product: committed(kafka.address, product),
        outage=lambda: cut(kafka),
    )


def keep(case: SinkCase, examined: SinkTarget) -> None:
    outcome = case.run(examined)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


@EACH_CASE
def test_a_topic_written_in_transactions(case: SinkCase, kafka: Service) -> None:
    keep(case, target(kafka))


@EACH_CASE
def test_a_topic_written_without_transactions(case: SinkCase, kafka: Service) -> None:
    keep(case, target(kafka, transactions=False))
