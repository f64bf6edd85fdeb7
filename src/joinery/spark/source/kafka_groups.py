"""Tells consumer groups what was read, so that ordinary tools see how far a run is.

It is information only: Spark's checkpoint decides where reading goes on. Where several
queries read a topic, the group is told the position of the slowest.

Invariant: telling a group never holds up a batch, and never fails a run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from joinery.errors import RunError
from joinery.project.kafka import KafkaOptions, kafka_options
from joinery.spark.source.kafka_client import (
    KafkaClient,
)
from joinery.spark.source.source import Positions, SourceRead, positions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLOSING_S = 30.0
log = logging.getLogger(__name__)


class KafkaGroups:
    """The groups that the Kafka sources of a run name; told in a thread of their own.

    Args:
        spark: A session with the Kafka connector, where a source names a group.
        reads: What the run reads.
    """

    def __init__(self, spark: SparkSession, reads: Iterable[SourceRead]) -> None:
        self._spark = spark
        self._named: dict[str, KafkaOptions] = {}
        for read in reads:
            options = kafka_options(read.source) if read.source.kind == "kafka" else None
            if options is not None and options.group is not None:
                self._named[read.source.name] = options
        self._read: dict[str, dict[str, Positions]] = {name: {} for name in self._named}
        self._changed = threading.Condition()
        self._waiting: set[str] = set()
        self._closing = False
        self._thread: threading.Thread | None = None
        if self._named:
            self._thread = threading.Thread(
                target=self._tell, name="joinery-kafka-groups", daemon=True
            )
            self._thread.start()

    def note(self, query: str, source: str, told: str | None) -> None:
        """Note where a batch of a query ended in a source, as Spark writes it."""
        if source in self._named:
            with self._changed:
                self._read[source][query] = positions(told)
                self._waiting.add(source)
                self._changed.notify()

    def close(self) -> None:
        """Tell what is still to be told, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_CLOSING_S)

    def _tell(self) -> None:
        clients: dict[str, KafkaClient] = {}
        failed: set[str] = set()
        while (found := self._next()) is not None:
            source, slowest = found
            options = self._named[source]
            try:
                if source not in clients:
                    clients[source] = KafkaClient(self._spark, source, options)
                clients[source].tell_group(options.group or "", slowest)
                failed.discard(source)
            except RunError as error:
                if source not in failed:
                    failed.add(source)
                    why = f"{error.message}: {error.detail}"
                    log.warning(
                        'positions of group "%s" could not be committed: %s', options.group, why
                    )
        for client in clients.values():
            client.close()

    def _next(self) -> tuple[str, Positions] | None:
        """Wait for positions that are to be told; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if not self._waiting:
                return None
            source = self._waiting.pop()
            return source, slowest_of(self._read[source].values())


def slowest_of(read: Iterable[Positions]) -> Positions:
    """Return the lowest position of each partition.

    Example:
        >>> slowest_of([{"user": {"0": 7}}, {"user": {"0": 5}, "star": {"0": 1}}])
        {'user': {'0': 5}, 'star': {'0': 1}}
    """
    slowest: dict[str, dict[str, int]] = {}
    for each in read:
        for topic, partitions in each.items():
            _lower(slowest.setdefault(topic, {}), partitions)
    return slowest


def _lower(known: dict[str, int], partitions: Mapping[str, int]) -> None:
    for partition, offset in partitions.items():
        known[partition] = min(offset, known.get(partition, offset))
