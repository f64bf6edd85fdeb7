"""Reads single records of topics, by Kafka's consumer in the JVM of a session.

What is asked of it is what a log has at a few places. Only checksums come to Python, and a fetch is
as small as Kafka allows: a batch of one producer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from joinery.project.kafka import KafkaOptions
from joinery.spark.jvm import class_of
from joinery.spark.source.kafka_client import (
    Edges,
    KafkaUnreachableError,
    Partition,
    partitions_of,
    reason_of,
    timeouts,
)
from joinery.spark.source.last_read import LastRead, RecordSign, Replaced, replaced
from joinery.spark.source.source import Positions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BACK = 8
_AT_ONCE = 4  # at some 20 ms of processor each
_AT_END = 100
_POLL_MS = 500
_TIMEOUT_MS = 8_000
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteBufferDeserializer"
_PROPERTIES = {
    "key.deserializer": _DESERIALIZER,
    "value.deserializer": _DESERIALIZER,
    "enable.auto.commit": "false",
    "auto.offset.reset": "none",
    "isolation.level": "read_uncommitted",  # what an open transaction has there differs, too
    "max.partition.fetch.bytes": "4096",
    "fetch.max.wait.ms": "50",
    "metric.reporters": "",
    "auto.include.jmx.reporter": "false",
    "enable.metrics.push": "false",
}


class Reader(Protocol):
    """Tells which records a log has."""

    def last_in(self, ranges: Mapping[Partition, tuple[int, int]]) -> dict[Partition, RecordSign]:
        """Return the last record of each range of offsets, where it has one.

        Args:
            ranges: The first offset and the end, both within the log.

        Raises:
            KafkaUnreachableError: The brokers do not answer in time.
        """


class RecordReader:
    """Reads records of one source as no member of a group; one thread at a time uses it.

    Args:
        spark: A session that has the Kafka connector.
        source: The source's name, for errors.
        options: How to reach the brokers.
    """

    def __init__(self, spark: SparkSession, source: str, options: KafkaOptions) -> None:
        self._spark, self._source, self._options = spark, source, options
        self._consumer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        if self._consumer is not None:
            self._consumer.close(class_of(self._spark, "java.time.Duration").ZERO)

    def last_in(self, ranges: Mapping[Partition, tuple[int, int]]) -> dict[Partition, RecordSign]:
        """See `Reader`."""
        if not ranges:
            return {}
        try:
            return self._last_in(ranges)
        except KafkaUnreachableError:
            raise
        except Exception as error:
            raise self._failed(reason_of(error)) from error

    def _last_in(self, ranges: Mapping[Partition, tuple[int, int]]) -> dict[Partition, RecordSign]:
        consumer = self._open()
        partition_class = class_of(self._spark, "org.apache.kafka.common.TopicPartition")
        pause = class_of(self._spark, "java.time.Duration").ofMillis(_POLL_MS)
        places = {each: partition_class(*each) for each in ranges}
        assigned = class_of(self._spark, "java.util.ArrayList")()
        for place in places.values():
            assigned.add(place)
        consumer.assign(assigned)
        for each, (first, _) in ranges.items():
            consumer.seek(places[each], first)
        checksum = class_of(self._spark, "java.util.zip.CRC32C")()
        found: dict[Partition, RecordSign] = {}
        left, until = set(ranges), time.monotonic() + _TIMEOUT_MS / 1000
        while left:
            if time.monotonic() > until:
                raise self._failed(f"nothing came within {_TIMEOUT_MS // 1000} s")
            records = consumer.poll(pause)
            before = len(left)
            for each in sorted(left):
                first, end = ranges[each]
                last = _last_before(records.records(places[each]), first, end, checksum)
                if last is not None:
                    found[each] = last
                if consumer.position(places[each]) >= end:
                    left.remove(each)
            if len(left) < before:
                until = time.monotonic() + _TIMEOUT_MS / 1000
        consumer.unsubscribe()  # What was fetched beyond is not kept.
        return found

    def _open(self) -> Any:
        if self._consumer is None:
            properties = class_of(self._spark, "java.util.HashMap")()
            own = {**_PROPERTIES, "bootstrap.servers": self._options.bootstrap}
            limits = timeouts(self._options.properties, _TIMEOUT_MS)
            for name, value in {**self._options.properties, **limits, **own}.items():
                properties.put(name, value)
            consumer_class = "org.apache.kafka.clients.consumer.KafkaConsumer"
            self._consumer = class_of(self._spark, consumer_class)(properties)
        return self._consumer

    def _failed(self, why: str) -> KafkaUnreachableError:
        return KafkaUnreachableError(
            f'source "{self._source}" could not read from Kafka at {self._options.bootstrap}',
            detail=why,
            hint="Check that its brokers are well.",
        )


def _last_before(records: Any, first: int, end: int, checksum: Any) -> RecordSign | None:
    """Return the last of some records, from `first` on, that stands before `end`."""
    for index in range(min(int(records.size()), end - first) - 1, -1, -1):
        record = records.get(index)
        offset = int(record.offset())
        if offset < end:
            key, value = (_sum(each, checksum) for each in (record.key(), record.value()))
            return RecordSign(offset, int(record.timestamp()), key, value)
    return None


def _sum(data: Any, checksum: Any) -> int | None:
    """Return a checksum of bytes, the same on every version of Java."""
    if data is None:
        return None
    checksum.reset()
    checksum.update(data)
    return int(checksum.getValue())


def replaced_in(
    reader: Reader, known: Mapping[Partition, RecordSign], edges: Edges
) -> list[Replaced]:
    """Return where a log has other records than those that are known.

    Raises:
        KafkaUnreachableError: The brokers do not answer in time.
    """
    there = {
        place: (sign.offset, sign.offset + 1)
        for place, sign in known.items()
        if place in edges and edges[place][0] <= sign.offset < edges[place][1]
    }
    return replaced(known, reader.last_in(there))


class LastReadCheck:
    """Holds what one query reads of one source against the log, again and again.

    A look takes a few of the partitions that were read on since, those first that have waited
    longest; the last one takes more. Of each it compares the record that is known with the log,
    then notes the last one.

    Args:
        last: What is known.
        source: The source's name.
    """

    def __init__(self, last: LastRead, source: str) -> None:
        self._last, self._source = last, source
        self._noted: dict[Partition, int] = {}

    def look(
        self, reader: Reader, read: Positions, edges: Edges, *, goes_on: bool, ends: bool = False
    ) -> Sequence[Replaced]:
        """Return which records differ; note what was read since where none does.

        Args:
            reader: Of the source.
            read: The next offset to be read, by topic and partition.
            edges: Of the partitions.
            goes_on: Whether the source is read on nevertheless.
            ends: Whether this is the last look of a run.

        Raises:
            KafkaUnreachableError: The brokers do not answer in time.
        """
        moved = self._moved(read, edges, _AT_END if ends else _AT_ONCE)
        if not moved:
            return []
        known = self._last.known(self._source, {topic for topic, _ in moved})
        differing = replaced_in(
            reader, {each: known[each] for each in moved if each in known}, edges
        )
        if differing and not goes_on:
            return differing
        ranges = {each: (max(edges[each][0], end - _BACK), end) for each, end in moved.items()}
        nonempty = {each: (low, end) for each, (low, end) in ranges.items() if low < end}
        found = reader.last_in(nonempty)
        self._last.forget(self._source, partitions_of(differing))  # what differs is told once
        self._last.note(self._source, found)
        for each, end in moved.items():
            self._noted.pop(each, None)  # It is the last in turn now.
            self._noted[each] = end
        return differing

    def _moved(self, read: Positions, edges: Edges, most: int) -> dict[Partition, int]:
        ends = {
            (topic, int(partition)): end
            for topic, partitions in read.items()
            for partition, end in partitions.items()
        }
        turns = {each: turn for turn, each in enumerate(self._noted)}
        moved = [
            each
            for each, end in ends.items()
            if self._noted.get(each) != end and end > 0 and each in edges and edges[each][1] >= end
        ]
        moved.sort(key=lambda each: (turns.get(each, -1), each))
        return {each: ends[each] for each in moved[:most]}
