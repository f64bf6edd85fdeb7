"""The newest documents of one product in a topic of Kafka, in a temporary table on disk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record, TopicTail
from joinery.sinks.kafka_log import version_of
from joinery.sinks.key import canonical_key
from joinery.sinks.reader import Held

_TABLE = """
create table newest (
  name text primary key, key text, version integer, partition integer, place integer, document blob
) without rowid
"""  # The document comes last, so that a scan of what stands before it does not read it.
_TAKE = """
insert into newest values (?1, ?2, coalesce(?3, 0), ?4, ?5, ?6)
on conflict (name) do update set
  key = excluded.key, version = coalesce(?3, version),
  partition = excluded.partition, place = excluded.place, document = excluded.document
where coalesce(?3, version) >= version
"""
_FORGET = "delete from newest where partition = ? and place < ?"
_PAGE = """
select name, key from newest where document is not null and name > ? order by name limit 1000
"""


class KafkaDocumentReader:
    """Reads a topic, and again what has come since.

    The newest record of a key is the one with the highest version. One without a version, which
    somebody else wrote, replaces those before it, as it does for readers who take the last one.

    Args:
        brokers: Where.
        topic: Its name.
    """

    def __init__(self, brokers: Brokers, topic: str) -> None:
        self.target = brokers.target(topic)
        self._tail = TopicTail(brokers, topic)
        self._edges: Mapping[int, tuple[int, int]] = {}
        self._kept = sqlite3.connect("")
        self._kept.execute(_TABLE)

    def keys(self) -> Iterator[str]:
        """Yield the root keys of all documents; what is no JSON as a JSON text."""
        self._look()
        last = ""
        while page := self._kept.execute(_PAGE, (last,)).fetchall():
            yield from (key for _, key in page)
            last = page[-1][0]

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        """Return the documents of some root keys."""
        self._look()
        found: dict[str, Held] = {}
        for key in keys:
            asked = "select document, version from newest where name = ?"
            row = self._kept.execute(asked, (canonical_key(key),)).fetchone()
            if row is not None and row[0] is not None:
                found[key] = Held(row[0].decode(errors="replace"), row[1])
        return found

    def close(self) -> None:
        """Disconnect, and remove the table."""
        self._tail.close()
        self._kept.close()

    def _look(self) -> None:
        """Read the records that came since the last look; all where the topic was made again."""
        edges = self._tail.edges()
        if any(edges.get(each, (0, 0))[1] < end for each, (_, end) in self._edges.items()):
            self._tail.rewind()
            self._kept.execute("delete from newest")
        else:  # What its retention has removed is in the topic no more.
            self._kept.executemany(_FORGET, list(self._risen(edges)))
        self._kept.executemany(_TAKE, _rows(self._tail.records(edges)))
        self._edges = edges

    def _risen(self, edges: Mapping[int, tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield the partitions that begin later than at the last look, and where they begin."""
        for each, (low, _) in edges.items():
            if low > self._edges.get(each, (low, 0))[0]:
                yield each, low


def _rows(records: Iterable[Record]) -> Iterator[tuple[object, ...]]:
    for each in records:
        if each.key is not None:
            key = _key_text(each.key)
            place = (each.partition, each.offset)
            yield canonical_key(key), key, version_of(each), *place, each.value


def _key_text(key: bytes) -> str:
    """Return a record's key as JSON."""
    text = key.decode(errors="replace")
    try:
        canonical_key(text)
    except ValueError:
        return json.dumps(text)
    return text
