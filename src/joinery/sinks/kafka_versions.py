"""The versions of documents in a topic, found by reading it once."""

from __future__ import annotations

from collections.abc import Collection

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record, read_topic

VERSION_HEADER = "joinery.version"


def version_of(record: Record) -> int | None:
    """Return the version under which a document was sent; None where a record tells none."""
    told = dict(record.headers).get(VERSION_HEADER)
    return int(told) if told is not None and told.isdigit() else None


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
