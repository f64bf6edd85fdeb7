"""Kafka's administrative client, in the JVM of a session.

It is the client that Spark's connector brings, so it takes the same properties. Every call
is bounded in time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

from pyspark.sql import SparkSession

from joinery.errors import RunError
from joinery.project.kafka import KafkaOptions
from joinery.spark.connector import require_connector

Answer = TypeVar("Answer")
_TIMEOUT_MS = 20_000
_SECURITY = ("AuthenticationException", "SslException", "SSL", "AuthorizationException")


class KafkaUnreachableError(RunError):
    """No broker of a Kafka source answers."""

    code = "RUN_KAFKA"


class KafkaClient:
    """Asks the brokers of one source.

    Args:
        spark: A session that has the Kafka connector.
        source: The source's name, for errors.
        options: How to reach the brokers.
        timeout_ms: How long an answer may take.

    Raises:
        ConnectorMissingError: The session has no Kafka connector.
        KafkaUnreachableError: The properties are not what Kafka's client takes.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: str,
        options: KafkaOptions,
        *,
        timeout_ms: int = _TIMEOUT_MS,
    ) -> None:
        require_connector(spark)
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._source, self._options = source, options
        properties = self._jvm.java.util.HashMap()
        for name, value in options.properties.items():
            properties.put(name, value)
        properties.put("bootstrap.servers", options.bootstrap)
        properties.put("default.api.timeout.ms", str(timeout_ms))
        properties.put("request.timeout.ms", str(timeout_ms // 2))
        try:
            self._admin = self._jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
        except Exception as error:
            raise self._failed("cannot make a client for", error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._admin.close(self._jvm.java.time.Duration.ZERO)

    def check(self) -> None:
        """Reach a broker.

        Raises:
            KafkaUnreachableError: None answers, or it refuses us.
        """
        self._ask(lambda: self._admin.describeCluster().clusterId().get())

    def partitions(self, pattern: str) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Return the topics whose whole name matches, with their partitions."""
        return self._described([each for each in self.names() if re.fullmatch(pattern, each)])

    def edges(self, pattern: str) -> list[tuple[tuple[str, int], int, int]]:
        """Return (topic, partition), first offset and end of all partitions that match."""
        return self._edges(self.partitions(pattern))

    def edges_of(self, topics: Collection[str]) -> list[tuple[tuple[str, int], int, int]]:
        """Return (topic, partition), first offset and end of the topics that are there."""
        return self._edges(self._described([each for each in self.names() if each in topics]))

    def names(self) -> list[str]:
        """Return the topics there are, without the brokers' own."""
        return self._ask(lambda: [str(each) for each in self._admin.listTopics().names().get()])

    def _described(self, names: Iterable[str]) -> list[tuple[str, tuple[int, ...]]]:
        wanted = self._jvm.java.util.ArrayList()
        for name in names:
            wanted.add(name)
        found = self._ask(lambda: self._admin.describeTopics(wanted).allTopicNames().get())
        return [
            (str(name), tuple(int(each.partition()) for each in found[name].partitions()))
            for name in sorted(found)
        ]

    def ends(self, pattern: str) -> dict[str, dict[str, int]]:
        """Return the next offset of each partition, by topic, of topics that match."""
        ends: dict[str, dict[str, int]] = {}
        for (topic, partition), _, end in self.edges(pattern):
            ends.setdefault(topic, {})[str(partition)] = end
        return ends

    def _edges(
        self, topics: Iterable[tuple[str, tuple[int, ...]]]
    ) -> list[tuple[tuple[str, int], int, int]]:
        spec = self._jvm.org.apache.kafka.clients.admin.OffsetSpec
        places = [(topic, each) for topic, partitions in topics for each in partitions]
        first, last = (self._offsets(places, each) for each in (spec.earliest(), spec.latest()))
        return [(place, low, high) for place, low, high in zip(places, first, last, strict=True)]

    def _offsets(self, places: Sequence[tuple[str, int]], edge: Any) -> list[int]:
        wanted = self._jvm.java.util.HashMap()
        keys = [self._jvm.org.apache.kafka.common.TopicPartition(*place) for place in places]
        for key in keys:
            wanted.put(key, edge)
        found = self._ask(lambda: self._admin.listOffsets(wanted).all().get())
        return [int(found.get(key).offset()) for key in keys]

    def tell_group(self, group: str, positions: Mapping[str, Mapping[str, int]]) -> None:
        """Note, for a consumer group, what was read.

        Args:
            group: A group without members.
            positions: By topic and partition, the next offset to be read.
        """
        offsets = self._jvm.java.util.HashMap()
        for topic, partitions in positions.items():
            for partition, offset in partitions.items():
                place = self._jvm.org.apache.kafka.common.TopicPartition(topic, int(partition))
                position = self._jvm.org.apache.kafka.clients.consumer.OffsetAndMetadata(offset)
                offsets.put(place, position)
        self._ask(lambda: self._admin.alterConsumerGroupOffsets(group, offsets).all().get())

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        try:
            return question()
        except Exception as error:
            raise self._failed("could not reach", error) from error

    def _failed(self, what: str, error: Exception) -> KafkaUnreachableError:
        why = _reason(error)
        secured = any(word in why for word in _SECURITY)
        return KafkaUnreachableError(
            f'source "{self._source}" {what} Kafka at {self._options.bootstrap}',
            detail=why,
            hint="Check the security properties of the source."
            if secured
            else "Check that a broker listens there, and bootstrap and properties of the source.",
        )


def _reason(error: Exception) -> str:
    """Return the innermost reason of a failure in the JVM, as one line."""
    java: Any = getattr(error, "java_exception", None)
    if java is None:
        return " ".join(str(error).split())[:300]
    while java.getCause() is not None:
        java = java.getCause()
    return " ".join(f"{java.getClass().getSimpleName()}: {java.getMessage()}".split())[:300]
