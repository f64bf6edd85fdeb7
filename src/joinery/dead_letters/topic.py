"""Dead letters in a Kafka topic: a record each, and what was done about them beside.

A letter's key is its id, its value the letter's JSON, its header `joinery.reason` why. Marks
stand in `<topic>.marks`, compacted by id.

Limits: a batch that runs again after a crash writes its letters again; readers take each id
once. A letter above the topic's `max.message.bytes` keeps the beginning of its record.

Invariant: when `put` returns, the brokers have every letter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from joinery.clients.kafka import Brokers, Topic, create_topic, describe_topic
from joinery.clients.kafka_producer import Producer
from joinery.clients.kafka_reader import Record, read_topic
from joinery.dead_letters.dead_letter import (
    Resolution,
    letter_line,
    parse_dead_letter,
    parse_resolution,
    resolution_line,
)
from joinery.sinks.protocol import SinkError

_SETTINGS: Mapping[str, Any] = {
    "acks": "all",
    "compression.type": "lz4",
    "message.timeout.ms": 30_000,
}
_FOREVER = {"retention.ms": "-1", "retention.bytes": "-1"}
_LETTERS = {**_FOREVER, "cleanup.policy": "delete", "max.message.bytes": str(17 << 20)}
_MARKS = {"cleanup.policy": "compact"}
_REASON = "joinery.reason"
_KEPT_CHARACTERS = 64 << 10


def open_dead_letter_topic(brokers: Brokers, topic: str) -> None:
    """Find the topic of dead letters, or create it."""
    ensure_topic(brokers, topic, _LETTERS)


class DeadLetterTopic:
    """The dead letters of one query; several queries share the topic."""

    def __init__(self, brokers: Brokers, topic: str) -> None:
        self._brokers = brokers
        self._topic = topic
        self._producer: Producer | None = None
        self.target = brokers.target(topic)

    def put(
        self, parts: Sequence[Path], *, query_id: str, batch_id: int, check: Callable[[], None]
    ) -> None:
        """Produce the letters of one batch, and wait until the brokers have them."""
        if not any(part.stat().st_size for part in parts):
            return
        producer = self._opened()
        check()
        producer.begin()
        large: list[bytes] = []
        letters: dict[str, bytes] = {}
        for line in (line for part in parts for line in _lines(part)):
            letter = parse_dead_letter(line)
            letters[letter.id] = line
            if not self._send(producer, letter.id, letter.reason, line):
                large.append(line)
        large += [letters[id] for id in producer.finish() if id in letters]
        if large:
            self._put_cut(producer, large)

    def close(self) -> None:
        """Close the connections."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _put_cut(self, producer: Producer, lines: list[bytes]) -> None:
        """Produce letters that were too large, with the beginnings of their records."""
        producer.begin()
        for line in lines:
            letter = parse_dead_letter(line)
            facts = cut(letter.facts)
            self._send(producer, letter.id, letter.reason, json.dumps(facts).encode())
        if refused := producer.finish():
            raise SinkError(
                f"{self.target} refuses dead letters",
                detail=next(iter(refused.values())),
                hint="Raise the topic's max.message.bytes.",
            )

    def _send(self, producer: Producer, id: str, reason: str, line: bytes) -> bool:
        return producer.send(self._topic, id, line.decode(), [(_REASON, reason.encode())])

    def _opened(self) -> Producer:
        if self._producer is None:
            standing = ensure_topic(self._brokers, self._topic, _LETTERS)
            settings = {**_SETTINGS, "message.max.bytes": standing.max_bytes}
            self._producer = Producer(self._brokers, **settings)
        return self._producer


class DeadLetterTopicReader:
    """All dead letters in a topic."""

    def __init__(self, brokers: Brokers, topic: str) -> None:
        self._brokers = brokers
        self._topic = topic
        self._marks = f"{topic}.marks"
        self.target = brokers.target(topic)

    def lines(self) -> Iterator[bytes]:
        """Yield all letters, partition by partition."""
        return (
            letter_line(each.value, _place(self._topic, each))
            for each in read_topic(self._brokers, self._topic)
            if each.value
        )

    def marks(self) -> Iterator[Resolution]:
        """Yield the newest mark of each letter, and some older ones."""
        records = read_topic(self._brokers, self._marks)
        return (
            parse_resolution(each.value, _place(self._marks, each))
            for each in records
            if each.value
        )

    def mark(self, marks: Sequence[Resolution]) -> None:
        """Produce marks, and wait until the brokers have them."""
        ensure_topic(self._brokers, self._marks, _MARKS)
        producer = Producer(self._brokers, **_SETTINGS)
        try:
            producer.begin()
            for mark in marks:
                producer.send(self._marks, mark.id, resolution_line(mark), [])
            if refused := producer.finish():
                raise SinkError(f"{self.target} refuses marks", detail=next(iter(refused.values())))
        finally:
            producer.close()


def ensure_topic(brokers: Brokers, name: str, settings: Mapping[str, str]) -> Topic:
    """Return a topic as it stands, created with one partition where it is missing."""
    standing = describe_topic(brokers, name)
    if standing is not None:
        return standing
    create_topic(brokers, name, partitions=1, replication=None, settings=settings)
    return Topic(max_bytes=int(settings.get("max.message.bytes", Topic().max_bytes)))


def cut(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a letter with only the beginnings of what it holds, and the word for that."""
    short = {
        name: each[:_KEPT_CHARACTERS] if isinstance(each, str) else each
        for name, each in facts.items()
    }
    return {**short, "cut": True}


def _place(topic: str, record: Record) -> str:
    return f'the record in topic "{topic}", partition {record.partition}, offset {record.offset}'


def _lines(part: Path) -> Iterator[bytes]:
    with part.open("rb") as lines:
        yield from (line.rstrip(b"\n") for line in lines if line.strip())
