"""The key of a replayed Kafka record: its first place, then its own key.

A record that is put back goes to a topic beside its own, `<topic>.joinery-replay`, so that
neither other readers nor compaction of the topic meet it. Its key is its partition (10
digits), its offset (19 digits), `k` or `n` for whether it had a key, and that key.

Invariant: a replayed record stands at its first place, so it counts only where nothing
newer was applied, and counts once however often it is put back.
"""

from __future__ import annotations

from dataclasses import replace

from joinery.clients.kafka_reader import Record

PARTITION_AT, OFFSET_AT = (1, 10), (11, 19)  # first byte, from 1, and length
KEY_AT = 31


def replay_key(partition: int, offset: int, key: bytes | None) -> bytes:
    """Return the key under which a record is put back.

    Example:
        >>> replay_key(3, 42, b"ada")
        b'00000000030000000000000000042kada'
    """
    return b"%010d%019d%s" % (partition, offset, b"n" if key is None else b"k" + key)


def at_first_place(record: Record) -> Record:
    """Return a record of a topic of replays as it was read at first: its place, and its own key.

    One that nobody put back is returned as it is.

    Example:
        >>> again = at_first_place(Record(0, 7, replay_key(3, 42, b"ada"), b"{}"))
        >>> again.partition, again.offset, again.key
        (3, 42, b'ada')
    """
    key = record.key or b""
    own = KEY_AT - 1
    places = [key[first - 1 : first - 1 + length] for first, length in (PARTITION_AT, OFFSET_AT)]
    if not all(each.isdigit() for each in places):
        return record
    partition, offset = map(int, places)
    known = key[own:] if key[own - 1 : own] == b"k" else None
    return replace(record, partition=partition, offset=offset, key=known)
