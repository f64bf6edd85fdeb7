"""How far Debezium's connector has come in the log of its PostgreSQL database, as a proof.

Kafka Connect keeps the position of a connector, in its topic of offsets, only once the brokers
have acknowledged all records before it. Debezium tells with each record which commit it has seen
last (`lsn_commit`). So once what is kept is at or past a place, the changes of every transaction
that was committed up to there are in the topics, before the ends that these have from then on.

Limits: a connector tells with the next record, so in a database without other changes it takes a
heartbeat (`heartbeat.interval.ms`). While it takes a snapshot it tells nothing.

Invariant: the topics' ends are asked for after what is kept was read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from joinery.dead_letters.open import source_brokers
from joinery.project.kafka import kafka_options
from joinery.project.kind import SourceSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from joinery.clients.kafka_reader import Record

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
_SNAPSHOT = ("snapshot", "last_snapshot_record", "incremental_snapshot_collections")


def lsn_of(text: str) -> int | None:
    """Return the place in PostgreSQL's log that a text names, as PostgreSQL writes it; else None.

    Example:
        >>> lsn_of("0/16B3748"), lsn_of("1/0"), lsn_of("orders/0/7")
        (23803720, 4294967296, None)
    """
    found = _LSN.fullmatch(text)
    return None if found is None else (int(found[1], 16) << 32) + int(found[2], 16)


def committed_in(offset: bytes | None) -> int | None:
    """Return up to which commit a position that Connect keeps has come; None where it tells none.

    Example:
        >>> committed_in(b'{"lsn": 90, "lsn_commit": 80, "lsn_proc": 90}')
        80
        >>> committed_in(b'{"lsn": 90, "lsn_commit": 80, "snapshot": "INITIAL"}') is None
        True
    """
    told: Any = json.loads(offset) if offset else None
    if not isinstance(told, dict) or any(told.get(each) for each in _SNAPSHOT):
        return None
    lsn = told.get("lsn_commit")
    return lsn if isinstance(lsn, int) else None


def moment_in(offset: bytes | None) -> float | None:
    """Return when what a position of Connect stands at was committed, in seconds since 1970.

    Example:
        >>> moment_in(b'{"lsn": 90, "ts_usec": 1500000}'), moment_in(b"null")
        (1.5, None)
    """
    told: Any = json.loads(offset) if offset else None
    micros = told.get("ts_usec") if isinstance(told, dict) else None
    return micros / 1e6 if isinstance(micros, int) else None


class Tail(Protocol):
    """Gives the records of Connect's topic that were not given before."""

    def records(self) -> Iterator[Record]:
        """Yield them, up to the end of now."""

    def close(self) -> None:
        """Disconnect."""


@dataclass(slots=True)
class ConnectorLog:
    """What Connect keeps of one connector; used by one thread, closed once.

    Attributes:
        connector: Its name.
        tail: Reads Connect's topic of offsets.
        ends: Returns the offset after the last record of each partition of a topic.
    """

    connector: str
    tail: Tail
    ends: Callable[[str], dict[int, int]]
    _kept: dict[bytes, bytes | None] = field(default_factory=dict)

    @classmethod
    def of(cls, source: SourceSpec) -> Self | None:
        """Return that of a source's connector; None where it names none.

        Raises:
            SinkUnavailableError: The brokers do not answer.
            SinkError: They refuse us.
        """
        from joinery.clients.kafka_reader import TopicTail, read_ends

        options = kafka_options(source)
        if not options.connector:
            return None
        brokers = source_brokers(source)
        tail = TopicTail(brokers, options.connect_offsets)
        return cls(options.connector, tail, lambda topic: read_ends(brokers, topic))

    def ends_past(self, lsn: int, topics: Sequence[str]) -> dict[tuple[str, int], int] | None:
        """Return ends of topics before which all is that was committed up to a place.

        Args:
            lsn: The place.
            topics: Those that are asked for.

        Returns:
            The offset after the last record, by topic and partition; None where the connector is
            not known to have come so far.

        Raises:
            SinkUnavailableError: The brokers do not answer.
            SinkError: They refuse us.
        """
        committed = self.committed()
        if committed is None or committed < lsn:
            return None
        return {
            (topic, partition): end
            for topic in topics
            for partition, end in self.ends(topic).items()
        }

    def committed(self) -> int | None:
        """Return up to which commit the connector has come; None where nothing tells."""
        for each in self.tail.records():
            if each.key is not None and _is_of(each.key, self.connector):
                self._kept[each.key] = each.value
        told = [committed_in(each) for each in self._kept.values() if each is not None]
        known = [each for each in told if each is not None]
        return min(known) if known and len(known) == len(told) else None

    @property
    def committed_at(self) -> float | None:
        """When that commit was, as far as was read; None where nothing tells."""
        told = [moment_in(each) for each in self._kept.values() if each is not None]
        known = [each for each in told if each is not None]
        return min(known) if known and len(known) == len(told) else None

    def close(self) -> None:
        """Disconnect."""
        self.tail.close()


def _is_of(key: bytes, connector: str) -> bool:
    """Return whether a key of Connect's topic is that of a connector.

    Example:
        >>> _is_of(b'["shop",{"server":"shop"}]', "shop"), _is_of(b'["shop2",{}]', "shop")
        (True, False)
    """
    try:
        told = json.loads(key)
    except ValueError:
        return False
    return isinstance(told, list) and bool(told) and told[0] == connector
