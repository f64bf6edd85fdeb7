"""What the sources of a batch still have to read, from what Spark tells of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from joinery.model.progress import Counts
from joinery.spark.source.source import SourceRead

Positions = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is still to be read.

    Attributes:
        bytes: By relation, where the source counts bytes.
        rows: By relation, where it counts records.
        lag: Records by topic and partition.
    """

    bytes: Counts = field(default_factory=dict)
    rows: Counts = field(default_factory=dict)
    lag: Positions = field(default_factory=dict)

    def plus(self, other: Backlog) -> Backlog:
        """Return both as one; a relation reads one source."""
        return Backlog(
            bytes={**self.bytes, **other.bytes},
            rows={**self.rows, **other.rows},
            lag={**self.lag, **other.lag},
        )


def files_backlog(read: SourceRead, metrics: Mapping[str, str]) -> Backlog:
    """Return the bytes that each topic of a files source still has, from its metrics."""
    left: dict[str, int] = {}
    for topic, size in remaining_bytes(metrics).items():
        left |= dict.fromkeys(read.relations.get(topic, (topic,)), size)
    return Backlog(bytes=left)


def remaining_bytes(metrics: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes that each topic still has to read, from the source's metrics.

    Example:
        >>> remaining_bytes({"user.bytes": "70", "user.bytesRead": "50", "user.files": "2"})
        {'user': 20}
    """
    read = {
        name.removesuffix(".bytesRead"): int(value)
        for name, value in metrics.items()
        if name.endswith(".bytesRead")
    }
    return {topic: int(metrics.get(f"{topic}.bytes", size)) - size for topic, size in read.items()}


def kafka_backlog(read: SourceRead, end: str | None, latest: str | None) -> Backlog:
    """Return the records that each partition of a Kafka source still has.

    Args:
        read: The source, and what is read of it.
        end: Where the batch ended, as Spark writes it: by topic and partition.
        latest: The ends of the topics, likewise.
    """
    ends, found = positions(end), positions(latest)
    lag = {
        topic: {each: max(0, to - ends.get(topic, {}).get(each, 0)) for each, to in parts.items()}
        for topic, parts in found.items()
    }
    rows: dict[str, int] = {}
    for relation in (each for every in read.relations.values() for each in every):
        rows[relation] = 0
    for topic, parts in lag.items():
        for relation in read.readers(topic):
            rows[relation] += sum(parts.values())
    return Backlog(rows=rows, lag=lag)


def positions(told: str | None) -> Positions:
    """Return offsets by topic and partition from Spark's text of them.

    Example:
        >>> positions('{"user":{"0":7}}')
        {'user': {'0': 7}}
    """
    try:
        found = json.loads(told or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
