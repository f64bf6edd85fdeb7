"""What one query remembers of the topics that it read, beside the positions of its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from joinery.place.place import Place
from joinery.spark.jvm import Called, class_of
from joinery.spark.source.last_read import LastRead, signs_of
from joinery.spark.source.topic_ids import TopicIds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RECORDS_READ = "dev.joinery.kernel.kafka.RecordsRead"


@dataclass(frozen=True, slots=True)
class KafkaMemory:
    """By what the topics are known again.

    Attributes:
        ids: Which topics they are.
        last: The last record that was read of each partition.
    """

    ids: TopicIds
    last: LastRead
    _read: dict[str, Any] = field(default_factory=dict, repr=False)

    def hear(self, spark: SparkSession, source: str, *, live: bool) -> int:
        """Hear from now on what tasks read of a source.

        Args:
            spark: The session that they run in.
            source: Its name.
            live: In real time, where Spark commits without a word to Python.

        Returns:
            The id by which the kernel's source finds who hears.
        """
        read = class_of(spark, _RECORDS_READ).of(spark.sparkContext._jsc.sc())
        if live:
            read.whenRead(Called(spark, partial(self._note, source)))
        self._read[source] = read
        return int(read.id())

    def note(self) -> None:
        """Note what tasks have read, which is about to be committed.

        Raises:
            FencedError: Another run has taken over.
        """
        for source in self._read:
            self._note(source)

    def _note(self, source: str) -> None:
        self.last.note(source, signs_of(json.loads(self._read[source].take())))


def kafka_memory(checkpoint: Place, check: Callable[[], None]) -> KafkaMemory:
    """Return what a query remembers.

    Args:
        checkpoint: Of the query.
        check: Raises once another run has taken over.
    """
    return KafkaMemory(TopicIds(checkpoint, check), LastRead(checkpoint, check))
