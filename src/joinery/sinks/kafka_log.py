"""What a topic of documents holds, found by reading it once: its keys, and their versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record, read_topic, read_whole_topic

VERSION_HEADER = "joinery.version"
_LAST_VERSION = 2**63 - 1


def version_of(record: Record) -> int | None:
    """Return the version under which a document was sent; None where a record tells none.

    What is not a number of 63 bits was written by somebody else, and is none.
    """
    told = dict(record.headers).get(VERSION_HEADER)
    if told is None or not told.isdigit() or len(told) > len(str(_LAST_VERSION)):
        return None
    version = int(told)
    return version if version <= _LAST_VERSION else None


def standing_keys(brokers: Brokers, topic: str) -> Iterator[str]:
    """Yield the keys of a topic whose newest record is not a tombstone.

    The newest is the one with the highest version; one without a version replaces those before.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    newest: dict[bytes, tuple[int, bool]] = {}
    for record in read_topic(brokers, topic):
        if record.key is None:
            continue
        highest, _ = newest.get(record.key, (0, False))
        version = version_of(record)
        if version is None or version >= highest:
            newest[record.key] = (highest if version is None else version, record.value is not None)
    yield from (key.decode() for key, (_, stands) in newest.items() if stands)


def highest_versions(brokers: Brokers, topic: str, keys: Collection[bytes]) -> dict[bytes, int]:
    """Return the highest version of each of some keys that has a committed record in a topic.

    Deletes count, and what is not committed yet is waited for.

    Args:
        brokers: Where.
        topic: Its name.
        keys: As they stand in records.

    Raises:
        SinkUnavailableError: The brokers do not answer, or a transaction stays open.
        SinkError: They refuse us.
    """
    found: dict[bytes, int] = {}
    for record in read_whole_topic(brokers, topic):
        if record.key is not None and record.key in keys:
            version = version_of(record)
            if version is not None:
                found[record.key] = max(version, found.get(record.key, 0))
    return found
