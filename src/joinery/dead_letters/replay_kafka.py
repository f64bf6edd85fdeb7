"""Puts records of a Kafka source back, into the topics beside their own.

Invariant: when it returns, the brokers have every record, at its first place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_producer import Producer
from joinery.clients.kafka_reader import Record, read_record
from joinery.dead_letters.dead_letter import DeadLetter
from joinery.dead_letters.replay import ReplayError, kept_words
from joinery.dead_letters.replay_key import (
    replay_key,
)
from joinery.dead_letters.topic import ensure_topic
from joinery.project.kafka import REPLAY

_SETTINGS: Mapping[str, Any] = {"acks": "all"}
_CREATED = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(17 << 20),
}


def replay_kafka(brokers: Brokers, letters: Sequence[DeadLetter]) -> None:
    """Put records back in the order of their places.

    Raises:
        ReplayError: A record was cut and is gone, or the brokers refuse one.
        SinkError: The brokers cannot be reached, or refuse us.
    """
    whole = {letter.id: _whole(brokers, letter) for letter in letters}
    for topic, some in groupby(letters, lambda each: str(each.facts["topic"])):
        standing = ensure_topic(brokers, topic + REPLAY, _CREATED)
        settings = {**_SETTINGS, "message.max.bytes": standing.max_bytes}
        producer = Producer(brokers, **settings)
        try:
            _produce(producer, topic + REPLAY, [whole[each.id] for each in some])
        finally:
            producer.close()


def _produce(producer: Producer, topic: str, records: Sequence[Record]) -> None:
    producer.begin()
    for each in records:
        key = replay_key(each.partition, each.offset, each.key)
        if not producer.send(topic, key, each.value, []):
            raise ReplayError(
                f"the record at partition {each.partition}, offset {each.offset} is too large",
                hint=f'Raise max.message.bytes of topic "{topic}".',
            )
    if refused := producer.finish():
        raise ReplayError(f'topic "{topic}" refuses records', detail=next(iter(refused.values())))


def _whole(brokers: Brokers, letter: DeadLetter) -> Record:
    """Return the record of a letter: its own, or the topic's where it was cut."""
    topic, facts = str(letter.facts["topic"]), letter.facts
    partition, offset = int(facts["partition"]), int(facts["offset"])
    if not letter.cut:
        return Record(partition, offset, letter.raw("key"), letter.raw("value"))
    found = read_record(brokers, topic, partition, offset)
    if found is None:
        raise ReplayError(
            f"dead letter {letter.id} holds {kept_words(letter)} its record, which is gone",
            detail=f'It was in topic "{topic}", {letter.place}.',
            hint="Drop the dead letter, or give the whole record with --value.",
        )
    return found
