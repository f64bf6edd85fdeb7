"""Puts records into the topics of a real broker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

# Its types do not export what it takes from its C part.
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from tests.looking import rest

Data = Mapping[str, Any] | str | bytes | None


@dataclass(frozen=True, slots=True)
class Log:
    """The topics of one broker; `properties` are librdkafka's."""

    bootstrap: str
    properties: Mapping[str, str]

    def create(self, topic: str, partitions: int = 1, *, settings: Mapping[str, str] = {}) -> None:
        """Create a topic; `settings` are the broker's."""
        client = AdminClient(self._settings())
        made = client.create_topics([NewTopic(topic, partitions, 1, config={**settings})])
        made[topic].result(30)

    def widen(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        client = AdminClient(self._settings())
        client.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def drop(self, topic: str) -> None:
        """Delete a topic, and wait until it is gone."""
        client = AdminClient(self._settings())
        client.delete_topics([topic])[topic].result(30)
        begun = time.monotonic()
        while topic in client.list_topics(timeout=30).topics:
            rest(begun, 0.05)
            begun = time.monotonic()

    def set(self, topic: str, **settings: str) -> None:
        """Change settings of a topic."""
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        client = AdminClient(self._settings())
        client.incremental_alter_configs([resource])[resource].result(30)

    def put(
        self, topic: str, *values: Data, key: Data = None, partition: int = -1, at_ms: int = 0
    ) -> None:
        """Append records, and wait until the broker has them."""
        producer = Producer(self._settings())
        for value in values:
            producer.produce(topic, _bytes(value), _bytes(key), partition, timestamp=at_ms)
        assert producer.flush(30) == 0

    def put_all(self, records: Iterable[tuple[str, Data, Data]]) -> None:
        """Append records of any topics: topic, key and value."""
        producer = Producer(self._settings())
        for topic, key, value in records:
            producer.produce(topic, _bytes(value), _bytes(key))
        assert producer.flush(30) == 0

    def cut(self, topic: str, before: int, partition: int = 0) -> None:
        """Remove the records before an offset, as retention does."""
        place = TopicPartition(topic, partition, before)
        client = AdminClient(self._settings())
        client.delete_records([place])[place].result(30)

    def told(self, group: str, topic: str, partition: int = 0) -> int:
        """Return the position that a consumer group was told."""
        consumer = Consumer({**self._settings(), "group.id": group})
        (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=30)
        consumer.close()
        return found.offset

    def _settings(self) -> dict[str, str | int | float | bool]:
        # Brokers that tests take away are no news.
        return {"bootstrap.servers": self.bootstrap, "log_level": 0, **self.properties}


def headers_of(message: Message) -> dict[str, str]:
    """Return the headers of a message, each as text."""
    texts = {}
    for name, value in dict(message.headers() or []).items():
        assert isinstance(value, bytes)
        texts[name] = value.decode()
    return texts


def _bytes(data: Data) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    return (data if isinstance(data, str) else json.dumps(data)).encode()
