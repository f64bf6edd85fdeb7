"""Puts records of a Kafka source back, into the topics beside their own.

Invariant: when it returns, the brokers have every record, at its first place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from joinery.connect.dead_letter_topic import ensure_topic
from joinery.connect.kafka_client import Brokers
from joinery.connect.kafka_producer import Producer
from joinery.connect.kafka_reader import Record, read_record
from joinery.connect.letter import Letter
from joinery.connect.replay import ReplayError
from joinery.connect.replay_key import REPLAY, replay_key

_SETTINGS: Mapping[str, Any] = {"enable.idempotence": True, "acks": "all"}
_CREATED = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(17 << 20),
}


def replay_kafka(brokers: Brokers, letters: Sequence[Letter]) -> None:
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


def _whole(brokers: Brokers, letter: Letter) -> Record:
    """Return the record of a letter: its own, or the topic's where it was cut."""
    topic, facts = str(letter.facts["topic"]), letter.facts
    partition, offset = int(facts["partition"]), int(facts["offset"])
    if not letter.cut:
        return Record(partition, offset, letter.raw("key"), letter.raw("value"))
    found = read_record(brokers, topic, partition, offset)
    if found is None:
        raise ReplayError(
            f"letter {letter.id} holds only the beginning of its record, which is gone",
            detail=f'It stood in topic "{topic}", {letter.place}.',
            hint="Drop the letter, or give the whole record with --value.",
        )
    return found
