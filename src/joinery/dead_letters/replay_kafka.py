"""Puts records of a Kafka source back, into the topics beside their own.

A header of each says of which time its letter is: one that stands there since then is not put back
again, as after a command that was killed before it had marked the letter.

Invariant: when it returns, the brokers have every record, at its first place.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_producer import Producer
from joinery.clients.kafka_reader import Record, read_record, read_topic
from joinery.dead_letters.dead_letter import DeadLetter, moment
from joinery.dead_letters.replay import ReplayError, is_put_back, kept_words
from joinery.dead_letters.replay_key import replay_key
from joinery.dead_letters.topic import ensure_topic
from joinery.project.kafka import REPLAY

_Content: TypeAlias = tuple[bytes | None, bytes | None]
_SETTINGS: Mapping[str, Any] = {"acks": "all"}
_TIME = "joinery.letter_time"
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
        newest: dict[_Content, DeadLetter] = {}  # of a record that was refused for two reasons
        for each in some:
            content = _content(whole[each.id])
            if moment(newest.setdefault(content, each).time) < moment(each.time):
                newest[content] = each
        since = _put_back(brokers, topic + REPLAY, newest)
        records = [
            (whole[each.id], each.time)
            for content, each in newest.items()
            if not is_put_back(each, since.get(content))
        ]
        settings = {**_SETTINGS, "message.max.bytes": standing.max_bytes}
        producer = Producer(brokers, **settings)
        try:
            _produce(producer, topic + REPLAY, records)
        finally:
            producer.close()


def _content(record: Record) -> _Content:
    """Return key and value under which a record is put back."""
    return replay_key(record.partition, record.offset, record.key), record.value


def _put_back(
    brokers: Brokers, topic: str, asked: Container[_Content]
) -> Mapping[_Content, datetime]:
    """Return what of `asked` a topic of replays has, and the newest time of the letters of each."""
    found: dict[_Content, datetime] = {}
    for each in read_topic(brokers, topic):
        content = (each.key, each.value)
        if content in asked and (told := dict(each.headers).get(_TIME)):
            at = moment(told.decode())
            found[content] = max(at, found.get(content, at))
    return found


def _produce(producer: Producer, topic: str, records: Sequence[tuple[Record, str]]) -> None:
    """Produce records, each with the time of its letter."""
    producer.begin()
    for each, time in records:
        key, value = _content(each)
        if not producer.send(topic, key, value, [(_TIME, time.encode())]):
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
