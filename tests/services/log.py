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
_LIMIT_S = 120


@dataclass(frozen=True, slots=True)
class Log:
    """The topics of one broker; `properties` are librdkafka's."""

    bootstrap: str
    properties: Mapping[str, str]

    def create(self, topic: str, partitions: int = 1, *, settings: Mapping[str, str] = {}) -> None:
        """Create a topic; `settings` are the broker's."""
        client = AdminClient(self._settings())
        made = client.create_topics([NewTopic(topic, partitions, 1, config={**settings})])
        made[topic].result(_LIMIT_S)
        self._until_there(topic, partitions)

    def widen(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        client = AdminClient(self._settings())
        client.create_partitions([NewPartitions(topic, partitions)])[topic].result(_LIMIT_S)
        self._until_there(topic, partitions)

    def _until_there(self, topic: str, partitions: int) -> None:
        """Wait until the broker tells of so many partitions: a producer fails at an unknown one."""
        client, begun = AdminClient(self._settings()), time.monotonic()
        while len(client.list_topics(topic, _LIMIT_S).topics[topic].partitions) < partitions:
            rest(begun, 0.05)
            begun = time.monotonic()

    def drop(self, topic: str) -> None:
        """Delete a topic, and wait until it is gone."""
        client = AdminClient(self._settings())
        client.delete_topics([topic])[topic].result(_LIMIT_S)
        begun = time.monotonic()
        while topic in client.list_topics(timeout=_LIMIT_S).topics:
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
        client.incremental_alter_configs([resource])[resource].result(_LIMIT_S)

    def put(
        self, topic: str, *values: Data, key: Data = None, partition: int = -1, at_ms: int = 0
    ) -> None:
        """Append records, and wait until the broker has them."""
        self._send((topic, _bytes(each), _bytes(key), partition, at_ms) for each in values)

    def put_all(self, records: Iterable[tuple[str, Data, Data]]) -> None:
        """Append records of any topics: topic, key and value."""
        self._send((topic, _bytes(value), _bytes(key), -1, 0) for topic, key, value in records)

    def _send(self, records: Iterable[tuple[str, bytes | None, bytes | None, int, int]]) -> None:
        producer, failed = Producer(self._settings()), list[object]()

        def note(error: object, message: Message) -> None:
            if error is not None:
                failed.append(error)

        for topic, value, key, partition, at_ms in records:
            producer.produce(topic, value, key, partition, on_delivery=note, timestamp=at_ms)
        assert producer.flush(_LIMIT_S) == 0
        assert [] == failed

    def cut(self, topic: str, before: int, partition: int = 0) -> None:
        """Remove the records before an offset, as retention does."""
        place = TopicPartition(topic, partition, before)
        client = AdminClient(self._settings())
        client.delete_records([place])[place].result(_LIMIT_S)

    def told(self, group: str, topic: str, partition: int = 0) -> int:
        """Return the position that a consumer group was told."""
        consumer = Consumer({**self._settings(), "group.id": group})
        (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=_LIMIT_S)
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
