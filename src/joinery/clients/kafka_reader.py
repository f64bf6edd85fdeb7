"""Reads what a topic holds now, to the ends found at the start, and later what came since.

The end for a consumer is where what is committed ends: the place of the first open transaction.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from joinery.clients.kafka import (
    ANSWER_S,
    Brokers,
    code_of,
    failure,
    kafka_errors,
    make_consumer,
    topic_partition,
)
from joinery.errors import SinkUnavailableError

_STUCK_S = 60.0


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a topic.

    Attributes:
        logged_ms: Its timestamp, in milliseconds since 1970; -1 where it has none.
        headers: Their names and bytes.
    """

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    logged_ms: int = -1
    headers: tuple[tuple[str, bytes], ...] = ()


class TopicTail:
    """Reads a topic, and again what has come since; used by one thread, closed once.

    Args:
        brokers: Where.
        topic: Its name.
    """

    def __init__(self, brokers: Brokers, topic: str) -> None:
        self._brokers, self._topic = brokers, topic
        self._consumer = make_consumer(brokers)
        self._read: dict[int, int] = {}

    def edges(self) -> Mapping[int, tuple[int, int]]:
        """Return the first offset and the end of each partition; none where it is not there.

        Raises:
            SinkUnavailableError: The brokers do not answer.
            SinkError: They refuse us.
        """
        return _edges(self._brokers, self._consumer, self._topic)

    def records(self, edges: Mapping[int, tuple[int, int]] | None = None) -> Iterator[Record]:
        """Yield the committed records that were not yielded before, up to the ends of now.

        Args:
            edges: Of now, where they are known. Transactions that are open before an end are
                waited for.

        Raises:
            SinkUnavailableError: The brokers do not answer.
            SinkError: They refuse us.
        """
        edges = self.edges() if edges is None else edges
        begin = {each: max(low, self._read.get(each, 0)) for each, (low, _) in edges.items()}
        ends = {each: high for each, (_, high) in edges.items() if high > begin[each]}
        if ends:
            told = [topic_partition(self._topic, each, begin[each]) for each in ends]
            self._consumer.assign(told)
            yield from _until(self._brokers, self._consumer, dict(ends))
            self._read |= ends

    def rewind(self) -> None:
        """Begin again with all that the topic holds."""
        self._read = {}

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()


def read_topic(brokers: Brokers, topic: str) -> Iterator[Record]:
    """Yield all records of a topic, none where it is not there.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    with closing(TopicTail(brokers, topic)) as tail:
        yield from tail.records()


def topic_names(brokers: Brokers) -> list[str]:
    """Return the names of all topics that the user may see, in order.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    consumer = make_consumer(brokers)
    try:
        return sorted(consumer.list_topics(timeout=ANSWER_S).topics)
    except kafka_errors() as error:
        raise failure(brokers, error, "could not list the topics of") from error
    finally:
        consumer.close()


def read_whole_topic(brokers: Brokers, topic: str) -> Iterator[Record]:
    """Yield all records of a topic, none where it is not there; wait for open transactions.

    Raises:
        SinkUnavailableError: The brokers do not answer, or a transaction stays open.
        SinkError: They refuse us.
    """
    uncommitted = {**brokers.properties, "isolation.level": "read_uncommitted"}
    edges = read_edges(replace(brokers, properties=uncommitted), topic)
    with closing(TopicTail(brokers, topic)) as tail:
        yield from tail.records(edges)


def read_record(brokers: Brokers, topic: str, partition: int, offset: int) -> Record | None:
    """Return the record at one place; None where it is not there any more."""
    consumer = make_consumer(brokers)
    try:
        low, high = _ends(brokers, consumer, topic).get(partition, (0, 0))
        if not low <= offset < high:
            return None
        consumer.assign([topic_partition(topic, partition, offset)])
        found = next(_until(brokers, consumer, {partition: offset + 1}), None)
        return found if found is not None and found.offset == offset else None
    finally:
        consumer.close()


def read_ends(brokers: Brokers, topic: str) -> dict[int, int]:
    """Return the offset after the last record of each partition that holds any.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    consumer = make_consumer(brokers)
    try:
        return {each: end for each, (_, end) in _ends(brokers, consumer, topic).items()}
    finally:
        consumer.close()


def read_edges(brokers: Brokers, topic: str) -> dict[int, tuple[int, int]]:
    """Return the first offset and the end of each partition, also of those that hold nothing.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    return read_edges_of(brokers, topic)[topic]


def read_edges_of(brokers: Brokers, *topics: str) -> dict[str, dict[int, tuple[int, int]]]:
    """Return the same of several topics; of one that is not there, no partition.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    consumer = make_consumer(brokers)
    try:
        return {each: _edges(brokers, consumer, each) for each in topics}
    finally:
        consumer.close()


def _ends(brokers: Brokers, consumer: Any, topic: str) -> dict[int, tuple[int, int]]:
    """Return first offset and end of each partition that holds anything."""
    edges = _edges(brokers, consumer, topic)
    return {each: (low, high) for each, (low, high) in edges.items() if high > low}


def _edges(brokers: Brokers, consumer: Any, topic: str) -> dict[int, tuple[int, int]]:
    try:
        told = consumer.list_topics(topic, ANSWER_S).topics[topic]
        refused = told.error
        if refused is None:
            return {
                each: consumer.get_watermark_offsets(topic_partition(topic, each), ANSWER_S)
                for each in told.partitions
            }
    except kafka_errors() as error:
        refused = error
    if code_of(refused) in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"):
        return {}
    raise failure(brokers, refused, f'could not read topic "{topic}" of')


def _until(brokers: Brokers, consumer: Any, ends: dict[int, int]) -> Iterator[Record]:
    """Yield records until every partition has reached its end."""
    heard_at = time.monotonic()
    open_at: dict[int, str] = {}
    while ends:
        message = consumer.poll(1.0)
        if message is None:
            if time.monotonic() - heard_at > _STUCK_S:
                raise _stuck(brokers, [each for at, each in open_at.items() if at in ends])
            continue
        heard_at = time.monotonic()
        partition, position = message.partition(), message.offset()
        if message.error() is not None:
            if message.error().name() != "_PARTITION_EOF":
                raise failure(brokers, message.error(), "could not read from")
            open_at[partition] = f"{message.topic()}/{partition}@{position}"
        else:
            if position < ends.get(partition, 0):
                yield _record(message)
            position += 1
        # A log may end in markers of transactions, which are told as the end only; the end of
        # what is committed may lie before that of the log.
        if partition in ends and position >= ends[partition]:
            del ends[partition]


def _stuck(brokers: Brokers, open_at: Sequence[str]) -> SinkUnavailableError:
    """Return why no more records come.

    Args:
        brokers: Who are asked.
        open_at: Places before the end of their log where what is committed ends.
    """
    if not open_at:
        return SinkUnavailableError(f"Kafka at {brokers.bootstrap} does not answer")
    return SinkUnavailableError(
        f"a transaction is open in Kafka at {brokers.bootstrap}, and what follows cannot be read",
        detail=f"It has been open for {_STUCK_S:.0f} s or more at {', '.join(open_at)}.",
        hint="Wait until it ends; a broker ends it after the producer's transaction.timeout.ms.",
    )


def _record(message: Any) -> Record:
    return Record(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.timestamp()[1],
        tuple(message.headers() or ()),
    )
