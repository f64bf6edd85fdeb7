"""Reads a topic of documents once, to tell which keys stand in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from joinery.connect.kafka_client import ANSWER_S, Brokers
from joinery.connect.protocol import SinkUnavailableError

_QUIET_S = 30.0


def standing_keys(brokers: Brokers, topic: str) -> Iterator[str]:
    """Yield the keys of a topic whose newest record is no tombstone.

    Raises:
        SinkUnavailableError: The brokers do not answer.
    """
    from confluent_kafka import Consumer, KafkaException

    consumer = Consumer(
        {
            **brokers.settings(),
            "group.id": "joinery-keys",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    standing: dict[bytes, None] = {}
    try:
        for key, stands in _records(consumer, topic):
            if stands:
                standing[key] = None
            else:
                standing.pop(key, None)
    except KafkaException as error:
        raise _away(brokers, topic, brokers.masked(str(error))) from error
    except TimeoutError as error:
        raise _away(brokers, topic, "It does not answer.") from error
    finally:
        consumer.close()
    yield from (key.decode() for key in standing)


def _records(consumer: Any, topic: str) -> Iterator[tuple[bytes, bool]]:
    """Yield the key of each record up to the ends of now, and whether it has a value."""
    from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition

    found = consumer.list_topics(topic, ANSWER_S).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    left = set(found.partitions)
    consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in left])
    heard = time.monotonic()
    while left:
        message = consumer.poll(1.0)
        if message is None:
            if time.monotonic() - heard > _QUIET_S:
                raise TimeoutError
            continue
        heard = time.monotonic()
        error = message.error()
        if error is None and message.key() is not None:
            yield message.key(), message.value() is not None
        elif error is not None and error.name() == "_PARTITION_EOF":
            left.discard(message.partition())
        elif error is not None:
            raise KafkaException(error)


def _away(brokers: Brokers, topic: str, why: str) -> SinkUnavailableError:
    return SinkUnavailableError(
        f"could not read kafka topic {topic} at {brokers.bootstrap}", detail=why
    )
