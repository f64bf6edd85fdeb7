"""Sends the events of an outbox to the topics of their aggregates, each once and in order.

A batch is one transaction of Kafka, which also notes the batch's number for a consumer group
of the query's own: a batch that runs again after a crash finds its number, sends nothing, and
tells again of the events that were refused.

Limits: the brokers forget the number after `offsets.retention.minutes` (7 days by default);
an event that a connector tells again is left out only where it is among those sent last
(`joinery.sinks.outbox_sent`), in the same partition.

Invariant: each event of the log that is not refused is in its topic, those of one partition of
the log in its order; for a reader of committed records once, but for these limits.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joinery.clients.kafka import (
    Brokers,
    NoAccessError,
    ProducerFencedError,
    Topic,
    create_topic,
    describe_topic,
    numbers_of_group,
)
from joinery.clients.kafka_producer import Note, Producer
from joinery.clients.kafka_reader import Record, read_topic, topic_names
from joinery.model.type import BINARY, DataType
from joinery.sinks.kafka import KafkaSinkOptions
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.outbox_refused import RefusedEvents
from joinery.sinks.outbox_sent import NO_POSITION, SentEvent, SentEvents
from joinery.sinks.protocol import Guarantee, Refusal, SinkError, StagedBatch, Written

POSITION_HEADER = "joinery.position"
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_RESERVED = frozenset({".", ".."})
_COLUMN = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventShape:
    """What of an outbox's row makes an event; names are columns.

    Attributes:
        topic: With columns in braces.
        id: The columns that tell events apart.
        headers: Names of headers, and their columns.
    """

    topic: str
    id: tuple[str, ...]
    key: str
    value: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """An event as a record of Kafka.

    Attributes:
        origin: What tells it from others.
    """

    origin: SentEvent
    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


class OutboxSink:
    """Sends the events of one outbox.

    Args:
        brokers: Where.
        shape: What makes an event.
        marks: A folder of this query's own, for what is to be known of its last batches.
        create: Create a topic that is missing.
        one_log: The places of events are all in one log, as those of files are.
        partitions, replication: Of topics that are created.
    """

    def __init__(
        self,
        brokers: Brokers,
        shape: EventShape,
        marks: Path,
        *,
        create: bool = True,
        one_log: bool = False,
        partitions: int | None = None,
        replication: int | None = None,
    ) -> None:
        self.target = f"kafka topics {shape.topic} at {brokers.bootstrap}"
        self.guarantee = Guarantee(
            summary="A reader of committed records sees each event, in order.",
            keeps="log",
        )
        self._brokers, self._shape, self._marks = brokers, shape, marks
        self._create, self._one_log = create, one_log
        self._partitions, self._replication = partitions, replication
        self._largest: dict[str, int] = {}
        self._producer: Producer | None = None
        self._producer_of: tuple[str, int, int] | None = None
        self._sent_before: tuple[str, SentEvents] | None = None

    def open(self) -> None:
        """Topics are looked for when their first event comes."""

    def write(self, batch: StagedBatch) -> Written:
        """Send the events of `batch` that were not sent before."""
        sent = self._sent_of(batch)
        reading = _Reading(self._shape, batch, sent.before(batch.batch_id), self._one_log)
        events = list(reading)
        refused = {each.row.key: each for each in reading.refused}
        if events:
            for topic in {event.topic for _, event in events} - self._largest.keys():
                self._largest[topic] = self._found(topic)
            producer = self._producer_for(batch)
            try:
                while not self._sent(producer, batch, events, refused):
                    # What the brokers refused spoiled the transaction: once more without it.
                    pass
            except ProducerFencedError:
                batch.check()
                raise  # this is still the run: the batch's number tells what was sent
        sent.keep(batch.batch_id, (event.origin for row, event in events if row.key not in refused))
        return Written(refused=tuple(refused.values()), older=reading.repeated)

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the batch of the checkpoint that was committed last, while the brokers know it."""
        try:
            numbers = numbers_of_group(self._brokers, _group(batch))
        except NoAccessError:
            return None
        return max(numbers) - 1 if numbers else None

    def close(self) -> None:
        """Close the producer, and read again what was sent when the next batch comes."""
        self._sent_before = None
        self._close_producer()

    def _close_producer(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _sent_of(self, batch: StagedBatch) -> SentEvents:
        """Return what the batch's query sent last."""
        if self._sent_before is None or self._sent_before[0] != batch.query_id:
            self._sent_before = batch.query_id, SentEvents(self._marks / batch.query_id)
        return self._sent_before[1]

    def _producer_for(self, batch: StagedBatch) -> Producer:
        """Return the producer of the batch's query; a fresh one fences those before it.

        It sends an event alone that, with others, would be more than a topic takes at once: the
        brokers refuse all that comes together.
        """
        limits = min(self._largest.values()), max(self._largest.values())
        this = (batch.query_id, *limits)
        if self._producer is None or self._producer_of != this:
            self._close_producer()
            settings = {"batch.size": limits[0], "message.max.bytes": limits[1]}
            name = f"joinery-{batch.query_id}-{batch.product}-outbox"
            self._producer = Producer(self._brokers, transactional_id=name, **settings)
            self._producer_of = this
        return self._producer

    def _sent(
        self,
        producer: Producer,
        batch: StagedBatch,
        events: list[tuple[StagedRow, Event]],
        refused: dict[str, Refusal],
    ) -> bool:
        """Send all but `refused`, to which is added what cannot be taken.

        Returns:
            False where nothing was taken because of events that are in `refused` now.
        """
        kept = RefusedEvents(self._marks / batch.query_id)
        left = [each for each in events if each[0].key not in refused]
        if not left:
            return True
        note = Note(_group(batch), events[0][1].topic)
        if (producer.noted(note) or 0) > batch.batch_id:
            refused |= {each.row.key: each for each in kept.of(batch.batch_id)}
            return True
        producer.begin()
        try:
            for row, event in left:
                if not producer.send(
                    event.topic, event.key, event.value, event.headers, label=row.key
                ):
                    detail = f'The event is larger than topic "{event.topic}" allows.'
                    refused[row.key] = Refusal(row, "document_too_large", detail)
            producer.note(note, batch.batch_id + 1)
            batch.check()
            kept.keep(batch.batch_id, refused.values())
        except BaseException:
            producer.abandon()
            raise
        unsendable = producer.finish()
        for row, _ in left:
            if row.key in unsendable:
                refused[row.key] = Refusal(row, "document_refused", unsendable[row.key])
        return not unsendable

    def _found(self, topic: str) -> int:
        """Find a topic, or create it; return how many bytes it takes at once."""
        standing = describe_topic(self._brokers, topic)
        if standing is None:
            if not self._create:
                raise SinkError(
                    f'there is no topic "{topic}" at {self._brokers.bootstrap}',
                    hint="Create it, or remove create: false.",
                )
            create_topic(
                self._brokers,
                topic,
                partitions=self._partitions,
                replication=self._replication,
                settings={},
            )
            standing = describe_topic(self._brokers, topic) or Topic()
        return standing.max_bytes


def _group(batch: StagedBatch) -> str:
    """Return the consumer group that bears the number of the last batch."""
    return f"joinery-{batch.query_id}-{batch.product}"


def outbox_sink(
    options: KafkaSinkOptions, shape: EventShape, marks: Path, *, one_log: bool
) -> OutboxSink:
    """Return the sink of an outbox, whose events go where the options of `kafka` say."""
    return OutboxSink(
        options.brokers(),
        shape,
        marks,
        create=options.create,
        one_log=one_log,
        partitions=options.partitions,
        replication=options.replication,
    )


class _Reading:
    """The events of one batch that were not sent before; counts and refuses the others."""

    def __init__(
        self, shape: EventShape, batch: StagedBatch, sent: Collection[SentEvent], one_log: bool
    ) -> None:
        self._shape, self._batch, self._one_log = shape, batch, one_log
        self._types = {each.name: each.type for each in batch.value.fields}
        self._sent, self._met = sent, set[SentEvent]()
        self.refused: list[Refusal] = []
        self.repeated = 0

    def __iter__(self) -> Iterator[tuple[StagedRow, Event]]:
        for row in read_rows(self._batch.files):
            columns = json.loads(row.value or "{}", parse_float=str)  # keeps all digits
            place = row.key_values()
            partition = 0 if self._one_log else int(str(place["partition"]))
            id_ = json.dumps([columns.get(each) for each in self._shape.id])
            origin = SentEvent(partition, row.version, id_)
            if origin in self._sent or origin in self._met:
                self.repeated += 1
                continue
            event = self._event(row, columns, origin)
            if event is not None:
                if origin.position != NO_POSITION:
                    self._met.add(origin)
                yield row, event

    def _event(self, row: StagedRow, columns: Mapping[str, Any], origin: SentEvent) -> Event | None:
        shape = self._shape
        topic = topic_of(shape.topic, columns)
        if topic is None:
            detail = f'Its columns do not give the name of a topic in "{shape.topic}".'
            self.refused.append(Refusal(row, "unroutable", detail))
            return None
        headers = [
            (name, encoded)
            for name, column in shape.headers
            if (encoded := self._encoded(column, columns)) is not None
        ]
        headers.append((POSITION_HEADER, str(row.version).encode()))
        key, value = (self._encoded(each, columns) for each in (shape.key, shape.value))
        return Event(origin, topic, key, value, headers)

    def _encoded(self, column: str, columns: Mapping[str, Any]) -> bytes | None:
        return _bytes_of(columns.get(column), self._types[column])


def topic_of(route: str, columns: Mapping[str, Any]) -> str | None:
    """Return the topic that a row's columns make of a route; None where Kafka takes no such name.

    Example:
        >>> topic_of("shop.{shard}", {"shard": 0})
        'shop.0'
        >>> topic_of("shop.{shard}", {"shard": None}) is None
        True
    """
    parts = [_text_of(columns.get(name)) for name in _COLUMN.findall(route)]
    topic = _COLUMN.sub(lambda found: _text_of(columns.get(found[1])), route)
    named = all(parts) and topic not in _RESERVED and _TOPIC.fullmatch(topic)
    return topic if named else None


def read_events(brokers: Brokers, route: str) -> Iterator[tuple[str, Record]]:
    """Yield the events in all topics that a route may name, each with its topic.

    A route may name topics of others, too, whose records are left out.
    """
    for topic in topics_among(topic_names(brokers), route):
        for record in read_topic(brokers, topic):
            if any(name == POSITION_HEADER for name, _ in record.headers):
                yield topic, record


def topics_among(topics: Iterable[str], route: str) -> list[str]:
    """Return those of some topics that a route may name.

    Example:
        >>> topics_among(["shop.0", "shop.1.old", "shops"], "shop.{shard}.old")
        ['shop.1.old']
    """
    parts = (re.escape(each) for each in _COLUMN.split(route)[::2])
    named = re.compile("[A-Za-z0-9._-]+".join(parts))
    return [each for each in topics if named.fullmatch(each)]


def _text_of(value: Any) -> str:
    """Return a value as a topic's name has it: as JSON writes it; nothing for a null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _bytes_of(value: Any, type_: DataType) -> bytes | None:
    """Return a value as a record carries it: a number or a boolean as JSON writes it."""
    if value is None:
        return None
    if type_ == BINARY:
        return base64.b64decode(value)
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value).encode()
