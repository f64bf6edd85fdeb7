"""The kafka sink: every emission as a record of a compacted topic, partitioned by key.

A record has the root key and the document, or null, as JSON or as Avro, and the header
`joinery.version`. A batch is one transaction unless `transactions: false`.

Limits: a log cannot compare versions; a reader takes the highest of each key. Emissions of
an interrupted batch may stand twice, with equal versions and contents.

Invariant: nothing is committed once another run of the query has begun to write.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

from joinery.clients.kafka import (
    Brokers,
    NoAccessError,
    ProducerFencedError,
    Topic,
    client_properties,
    create_topic,
    describe_topic,
    numbers_of_group,
)
from joinery.clients.kafka_producer import UNNAMED, Note, Producer, Record
from joinery.clients.schema_registry import SchemaRegistry
from joinery.errors import SinkOptionError, SinkUnavailableError
from joinery.model.type import Struct
from joinery.project.option import Target, count, flag, options, properties, text, word
from joinery.project.schema_registry import RegistryOptions, registry
from joinery.sinks.kafka_document_reader import KafkaDocumentReader
from joinery.sinks.kafka_encoding import AvroEncoding, Encoding, JsonEncoding
from joinery.sinks.kafka_log import VERSION_HEADER, highest_versions, standing_keys
from joinery.sinks.kafka_run import RunNote, producer_name
from joinery.sinks.line import StagedRow, read_chunks, read_parts, read_rows
from joinery.sinks.protocol import (
    Guarantee,
    LogVersions,
    Promise,
    Refusal,
    SinkError,
    StagedBatch,
    Writer,
    Written,
)

_log = logging.getLogger(__name__)
_CREATED = {"cleanup.policy": "compact", "max.message.bytes": str(17 << 20)}
_SETTINGS: dict[str, Any] = {
    "acks": "all",
    "compression.type": "lz4",
    "message.timeout.ms": 60_000,
    # As Kafka's Java client partitions, so that a key has one partition whoever writes it.
    "partitioner": "murmur2_random",
    "queue.buffering.max.kbytes": 64 << 10,
    "queue.buffering.max.messages": 200_000,
}
_TRANSACTION_MS = 300_000
_CHECK_EVERY = 5_000
_MOST_HEADERS = 1_000
_SUMMARY = (
    "Every emission is in the log; to a reader of committed records a batch appears all at once."
)
_NEITHER = {
    Promise.FENCE: "without transactions the broker cannot refuse a writer; the lease is checked",
    Promise.ATOMIC: "without transactions records appear one after the other",
}


class _LimitChangedError(Exception):
    """A topic takes larger records than it did, or no more such large ones."""


class KafkaSink:
    """Appends the documents of one product to a topic."""

    writer: Writer = "driver"

    def __init__(
        self,
        brokers: Brokers,
        topic: str,
        *,
        create: bool = True,
        partitions: int | None = None,
        replication: int | None = None,
        transactions: bool = True,
        encoding: Encoding | None = None,
    ) -> None:
        self.target = brokers.target(topic)
        self.guarantee = Guarantee(
            summary=_SUMMARY, keeps="log", gaps={} if transactions else _NEITHER
        )
        self._brokers = brokers
        self._topic = topic
        self._create = create
        self._partitions = partitions
        self._replication = replication
        self._transactions = transactions
        self._encoding = encoding or JsonEncoding()
        self._standing: Topic | None = None
        self._producer: Producer | None = None
        self._producer_of: tuple[str, int] | None = None
        self._run = RunNote(topic, self.target)

    def open(self) -> None:
        """Find the topic, or create it compacted."""
        standing = describe_topic(self._brokers, self._topic)
        if standing is None:
            standing = self._created()
        if not standing.compacted:
            facts = {"topic": self._topic}
            _log.warning("topic is not compacted, so old documents are lost", extra=facts)
        self._standing = standing

    def write(self, batch: StagedBatch) -> Written:
        """Produce all documents of `batch`, and wait until the brokers have them."""
        self._encoding.prepare(batch)
        with self._unless_replaced(batch):
            while True:
                producer = self._producer_for(batch)
                noted = self._transactions and self._run.refused is None
                note = self._batch_note(batch) if noted else None
                try:
                    return self._written(producer, batch, note)
                except _LimitChangedError:
                    self.close()  # the next producer has the limit that the topic has now

    def begin(self, batch: StagedBatch) -> None:
        """Note which run writes, where every part looks for it; it fences earlier runs."""
        if self._transactions:
            with self._unless_replaced(batch):
                producer = self._producer_for(batch)
                if self._run.refused is not None:
                    raise self._run.refused  # parts note what they have written, too
                self._note_begun(producer, batch)

    def write_part(self, batch: StagedBatch, part: int) -> Written:
        """Produce the documents of a part in a transaction of its own, unless that was done.

        The transaction notes the batch as that of the part, so a batch that runs again knows.
        A part of which documents were refused is produced again, to hear of them again.
        """
        if not self._transactions:
            return self.write(batch)
        self._encoding.prepare(batch)
        note = Note(f"{producer_name(batch, self._topic)}-{part}", self._topic)
        while True:
            # A fresh producer fences every earlier attempt at the part, whichever run made it.
            producer = self._producer_named(note.group)
            try:
                self._run.refuse_older(producer, batch)
                if producer.noted(note) == _note_of(batch, refused=False):
                    return Written()
                return self._written(producer, batch, note)
            except _LimitChangedError:
                continue
            except ProducerFencedError:
                batch.check()
                self._run.refuse_older(producer, batch)
                raise
            finally:
                producer.close()

    def end(self, batch: StagedBatch) -> None:
        """Nothing is left to be done."""

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the batch of the checkpoint that was committed last, while the brokers know it."""
        try:
            numbers = numbers_of_group(self._brokers, self._batch_note(batch).group)
        except NoAccessError:
            return None  # nor may this user note any
        return max(numbers) // 2 - 1 if numbers else None

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys of all documents in the topic; none where keys are in Avro."""
        if isinstance(self._encoding, JsonEncoding):
            yield from standing_keys(self._brokers, self._topic)

    def log_versions(self, batch: StagedBatch, keys: Collection[str]) -> LogVersions:
        """Read the topic once for the versions of some root keys."""
        wanted = self._encoding.encode_keys(batch, keys)
        found = highest_versions(self._brokers, self._topic, wanted)
        highest = {wanted[key]: version for key, version in found.items()}
        return LogVersions(highest=highest, deletes_ms=(self._standing or Topic()).deletes_ms)

    def close(self) -> None:
        """Close the producer."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    @contextmanager
    def _unless_replaced(self, batch: StagedBatch) -> Iterator[None]:
        """Let a producer that the brokers refuse end the run only if another run is behind it.

        One that is stuck is given up.
        """
        try:
            yield
        except ProducerFencedError as error:
            batch.check()
            if self._run.refused is not None:
                raise self._run.unclear() from error
            if self._producer is not None:
                self._run.refuse_other(self._producer, batch)
            raise
        except SinkUnavailableError:
            if self._producer is not None and self._producer.stuck:
                self.close()
            raise

    def _batch_note(self, batch: StagedBatch) -> Note:
        return Note(f"{producer_name(batch, self._topic)}-batch", self._topic)

    def _note_begun(self, producer: Producer, batch: StagedBatch) -> None:
        """Note a batch whose parts others write, before they do."""
        producer.begin()
        try:
            producer.note(self._batch_note(batch), _note_of(batch, refused=False))
            batch.check()
        except BaseException:
            producer.abandon()
            raise
        producer.finish()

    def _written(self, producer: Producer, batch: StagedBatch, note: Note | None = None) -> Written:
        refused: dict[str, Refusal] = {}
        named = not self._transactions
        while not self._sent(producer, batch, refused, named=named, note=note):
            # What the brokers refused spoiled the transaction: once more, to hear what it was,
            # then without it.
            named = True
        return Written(refused=tuple(refused.values()))

    def _created(self) -> Topic:
        if not self._create:
            raise SinkError(
                f'there is no topic "{self._topic}" at {self._brokers.bootstrap}',
                hint="Create it, or remove create: false.",
            )
        create_topic(
            self._brokers,
            self._topic,
            partitions=self._partitions,
            replication=self._replication,
            settings=_CREATED,
        )
        return Topic(max_bytes=int(_CREATED["max.message.bytes"]))

    def _producer_for(self, batch: StagedBatch) -> Producer:
        """Return the producer of the batch's run; a fresh one fences those before it."""
        this = (batch.query_id, batch.epoch)
        if self._producer is None or self._producer_of != this:
            self.close()
            producer = self._producer_named(producer_name(batch, self._topic))
            try:
                if self._transactions:
                    self._run.make(producer, batch)
            except BaseException:
                producer.close()
                raise
            self._producer, self._producer_of = producer, this
        return self._producer

    def _producer_named(self, name: str) -> Producer:
        """Return a fresh producer, which fences those of the same name."""
        standing = self._standing or Topic()
        settings = {**_SETTINGS, "message.max.bytes": standing.max_bytes}
        if not self._transactions:
            return Producer(self._brokers, **settings)
        settings["transaction.timeout.ms"] = _TRANSACTION_MS
        return Producer(self._brokers, transactional_id=name, **settings)

    def _sent(
        self,
        producer: Producer,
        batch: StagedBatch,
        refused: dict[str, Refusal],
        *,
        named: bool,
        note: Note | None,
    ) -> bool:
        """Send all but `refused`, to which is added what cannot be taken.

        Args:
            producer: Of the batch's query, or of its part.
            batch: What to send.
            refused: What not to send, by key.
            named: Let the brokers' refusals tell the key, which costs as much as sending.
            note: Where the batch is noted in its transaction, if anywhere.

        Returns:
            False where nothing was taken because of documents that are in `refused` now, or
            would be if they were named.

        Raises:
            _LimitChangedError: Some are too large for a limit that is not the topic's any more.
        """
        known = len(refused)
        producer.begin()
        try:
            if isinstance(self._encoding, JsonEncoding):
                self._queue_parts(producer, batch, refused, named=named)
            else:
                self._queue_rows(producer, batch, refused)
            if len(refused) > known:
                self._look_at_limit()
            if note is not None:
                producer.note(note, _note_of(batch, refused=bool(refused)))
            batch.check()
        except BaseException:
            producer.abandon()
            raise
        unsendable = producer.finish()
        if unsendable:
            self._look_at_limit()
        if UNNAMED in unsendable:
            return False
        if unsendable:
            rows = (row for row in read_rows(batch.files) if row.key in unsendable)
            refused |= {
                row.key: Refusal(row, "document_refused", unsendable[row.key]) for row in rows
            }
        return not (unsendable and self._transactions)

    def _queue_parts(
        self, producer: Producer, batch: StagedBatch, refused: dict[str, Refusal], *, named: bool
    ) -> None:
        """Queue all documents as they are staged."""
        topic, headers = self._topic, _VersionHeaders()
        records = (
            (key, value, headers[version])
            for key, value, version in read_parts(batch.files)
            if not refused or key.decode() not in refused
        )
        large = (
            self._send_named(producer, records, batch)
            if named
            else producer.send_all(topic, records)
        )
        for key, value, ((_, version),) in large:
            text = None if value is None else value.decode()
            row = StagedRow(key.decode(), text, int(version))
            refused[row.key] = Refusal(row, "document_too_large", self._limit())

    def _send_named(
        self, producer: Producer, records: Iterable[Record], batch: StagedBatch
    ) -> Iterator[Record]:
        """Queue records under their keys; yield those that are too large."""
        for number, record in enumerate(records):
            if not self._transactions and number % _CHECK_EVERY == 0:
                batch.check()
            key, value, headers = record
            if not producer.send(self._topic, key, value, headers, label=key.decode()):
                yield record

    def _queue_rows(
        self, producer: Producer, batch: StagedBatch, refused: dict[str, Refusal]
    ) -> None:
        """Queue all documents in the topic's encoding."""
        for chunk in read_chunks(batch.files):
            if not self._transactions:
                batch.check()
            for row in chunk:
                if row.key in refused:
                    continue
                if refusal := self._send(producer, row):
                    refused[row.key] = refusal

    def _send(self, producer: Producer, row: StagedRow) -> Refusal | None:
        """Queue one document; return why it can never be taken."""
        headers = [(VERSION_HEADER, str(row.version).encode())]
        try:
            key, value = self._encoding.encode(row)
        except ValueError as error:
            if row.value is None:  # The topic has no document to delete under such a key.
                return None
            return Refusal(row, "document_refused", f"It cannot be written in Avro: {error}.")
        if producer.send(self._topic, key, value, headers, label=row.key):
            return None
        return Refusal(row, "document_too_large", self._limit())

    def _look_at_limit(self) -> None:
        """Ask the topic for its limit again, which anybody may change while a run goes on."""
        standing = describe_topic(self._brokers, self._topic) or Topic()
        known, self._standing = self._standing or Topic(), standing
        if standing.max_bytes != known.max_bytes:
            raise _LimitChangedError

    def _limit(self) -> str:
        most = (self._standing or Topic()).max_bytes
        return f'Topic "{self._topic}" takes at most {most} bytes (max.message.bytes).'


def _note_of(batch: StagedBatch, *, refused: bool) -> int:
    """Return the number that tells of a batch, or a part of it, that it was committed, and how."""
    return 2 * (batch.batch_id + 1) + refused


class _VersionHeaders(dict[bytes, list[tuple[str, bytes]]]):
    """The headers of each version; those of a batch have few."""

    def __missing__(self, version: bytes) -> list[tuple[str, bytes]]:
        if len(self) >= _MOST_HEADERS:
            self.clear()
        headers = self[version] = [(VERSION_HEADER, version)]
        return headers


@options
class KafkaSinkOptions:
    """`{kafka: {topic: …}}`; the brokers are those of the source unless it says else."""

    keeps_all: ClassVar[bool] = False
    topic: str = text("The topic; an outbox may name columns in braces.")
    bootstrap: str = text("The bootstrap servers; by default those of the source.", default="")
    properties: Mapping[str, str] = properties(
        "Properties of Kafka's Java client, such as security.protocol.", default=None
    )
    create: bool = flag("Create a missing topic, compacted.", default=True)
    partitions: int | None = count(
        "Partitions of a topic that is created; by default the brokers' own.",
        default=None,
    )
    replication: int | None = count(
        "Replicas of a topic that is created; by default the brokers' own.", default=None
    )
    transactions: bool = flag("Write a batch in one transaction.", default=True)
    format: Literal["json", "avro"] = word(
        "The format of keys and documents.", ("json", "avro"), default="json"
    )
    registry: RegistryOptions | None = registry(
        "The schema registry of Avro; by default that of the source.", default=None
    )

    def make(self, product: str, folder: Path) -> KafkaSink:
        """Return the sink of a product."""
        return KafkaSink(
            self.brokers(),
            self.topic,
            create=self.create,
            partitions=self.partitions,
            replication=self.replication,
            transactions=self.transactions,
            encoding=self._encoding(),
        )

    def target(self, product: str, folder: Path) -> Target:
        """Return the topic."""
        return Target("kafka", self.bootstrap, self.topic, "topic", log=True)

    def reader(self, product: str, folder: Path, key: Struct, value: Struct) -> KafkaDocumentReader:
        """Return what reads the documents of a product."""
        if self.format != "json":
            raise SinkError(f'documents in {self.format} cannot be read back from sink "kafka" yet')
        return KafkaDocumentReader(self.brokers(), self.topic)

    def brokers(self) -> Brokers:
        """Return the brokers, once their properties are known to be good."""
        if not self.bootstrap:
            raise SinkOptionError('sink "kafka" needs "bootstrap"')
        client_properties(self.properties)
        return Brokers(self.bootstrap, self.properties)

    def _encoding(self) -> Encoding:
        """Return how keys and documents are written."""
        if self.format == "json":
            return JsonEncoding()
        if self.registry is None:
            raise SinkOptionError('sink "kafka" in Avro needs "registry"')
        return AvroEncoding(SchemaRegistry(self.registry), self.topic)
