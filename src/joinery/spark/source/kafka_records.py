"""Looks by what single records of topics are known, by Kafka's consumer in the JVM of a session."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from joinery.project.kafka import KafkaOptions
from joinery.spark.jvm import class_of, made_beside_jars
from joinery.spark.source.kafka_client import (
    Edges,
    KafkaUnreachableError,
    Partition,
    reason_of,
    timeouts,
)
from joinery.spark.source.last_read import RecordSign, Replaced, Signs, replaced, signs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK = "dev.joinery.kernel.kafka.RecordLook"
_TIMEOUT_MS = 8_000


class Reader(Protocol):
    """Tells which records a log has."""

    def at(self, offsets: Mapping[Partition, int]) -> Mapping[Partition, RecordSign]:
        """Return what stands at offsets within a log: nothing, or a later record, where none does.

        Raises:
            KafkaUnreachableError: The brokers do not answer in time.
        """


class RecordReader:
    """Looks at records of one source as no member of a group; one thread uses it.

    Args:
        spark: A session that has the Kafka connector.
        source: The source's name, for errors.
        options: How to reach the brokers.
    """

    def __init__(self, spark: SparkSession, source: str, options: KafkaOptions) -> None:
        self._spark, self._source, self._options = spark, source, options
        self._look: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._look is not None:
            self._look.close()

    def at(self, offsets: Mapping[Partition, int]) -> Mapping[Partition, RecordSign]:
        """See `Reader`."""
        if not offsets:
            return {}
        asked: dict[str, dict[int, int]] = {}
        for (topic, partition), offset in offsets.items():
            asked.setdefault(topic, {})[partition] = offset
        try:
            return signs_of(json.loads(self._open().at(json.dumps(asked), _TIMEOUT_MS)))
        except Exception as error:
            raise KafkaUnreachableError(
                f'source "{self._source}" could not read from Kafka at {self._options.bootstrap}',
                detail=reason_of(error),
                hint="Check that its brokers are well.",
            ) from error

    def _open(self) -> Any:
        if self._look is None:
            properties = class_of(self._spark, "java.util.HashMap")()
            reached = {"bootstrap.servers": self._options.bootstrap}
            limits = timeouts(self._options.properties, _TIMEOUT_MS)
            for name, value in {**self._options.properties, **limits, **reached}.items():
                properties.put(name, value)
            self._look = made_beside_jars(self._spark, _LOOK, properties)
        return self._look


def replaced_in(reader: Reader, known: Signs, edges: Edges) -> list[Replaced]:
    """Return where a log has other records than those that are known.

    Raises:
        KafkaUnreachableError: The brokers do not answer in time.
    """
    there = {
        place: sign.offset
        for place, sign in known.items()
        if place in edges and edges[place][0] <= sign.offset < edges[place][1]
    }
    return replaced(known, reader.at(there))


def replaced_in_any(reader: Reader, known: Sequence[Signs], edges: Edges) -> list[Replaced]:
    """Return the same of several records of a partition, but of each partition the first."""
    found = [each for signs in known for each in replaced_in(reader, signs, edges)]
    return [*{(each.topic, each.partition): each for each in reversed(found)}.values()][::-1]
