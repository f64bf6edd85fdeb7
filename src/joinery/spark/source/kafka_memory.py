"""What one query remembers of the topics that it read, beside the positions of its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from joinery.place.place import Place
from joinery.spark.source.last_read import LastRead
from joinery.spark.source.topic_ids import TopicIds


@dataclass(frozen=True, slots=True)
class KafkaMemory:
    """By what the topics are known again.

    Attributes:
        ids: Which topics they are.
        last: The last record that was read of each partition.
    """

    ids: TopicIds
    last: LastRead


def kafka_memory(checkpoint: Place, check: Callable[[], None]) -> KafkaMemory:
    """Return what a query remembers.

    Args:
        checkpoint: Of the query.
        check: Raises once another run has taken over.
    """
    return KafkaMemory(TopicIds(checkpoint, check), LastRead(checkpoint, check))
