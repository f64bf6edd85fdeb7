"""What a topic of documents holds, found by reading it once: its keys, and their versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record, read_topic

VERSION_HEADER = "joinery.version"


def version_of(record: Record) -> int | None:
    """Return the version under which a document was sent; None where a record tells none."""
    told = dict(record.headers).get(VERSION_HEADER)
    return int(told) if told is not None and told.isdigit() else None


def standing_keys(brokers: Brokers, topic: str) -> Iterator[str]:
    """Yield the keys of a topic whose newest record is no tombstone.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    standing: dict[bytes, None] = {}
    for record in read_topic(brokers, topic):
        if record.key is not None and record.value is not None:
            standing[record.key] = None
        elif record.key is not None:
            standing.pop(record.key, None)
    yield from (key.decode() for key in standing)


def highest_versions(brokers: Brokers, topic: str, keys: Collection[bytes]) -> dict[bytes, int]:
    """Return the highest version of each of some keys that has a committed record in a topic.

    Deletes count, and what is not committed yet is waited for.

    Args:
        brokers: Where.
        topic: Its name.
        keys: As they stand in records.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    found: dict[bytes, int] = {}
    for record in read_topic(brokers, topic):
        if record.key is not None and record.key in keys:
            version = version_of(record)
            if version is not None:
                found[record.key] = max(version, found.get(record.key, 0))
    return found
