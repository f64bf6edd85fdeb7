"""Reads documents from a topic as careful readers do."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition
from tests.services.log import headers_of

from joinery.sinks.line import StagedRow


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
    until = time.monotonic() + 300
    while ended < len(standing):
        assert time.monotonic() < until
        for message in consumer.consume(10_000, timeout=1):
            if message.error():
                ended += 1
                continue
            value = message.value()
            version = int(headers_of(message)["joinery.version"])
            text = None if value is None else value.decode()
            rows.append(StagedRow((message.key() or b"").decode(), text, version))
    consumer.close()
    return rows
