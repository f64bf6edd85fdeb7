"""The key of a replayed Kafka record: its first place, then its own key.

A record that is put back goes to a topic beside its own, `<topic>.joinery-replay`, so that
neither other readers nor compaction of the topic meet it. Its key is its partition (10
digits), its offset (19 digits), `k` or `n` for whether it had a key, and that key.

Invariant: a replayed record stands at its first place, so it counts only where nothing
newer was applied, and counts once however often it is put back.
"""

from __future__ import annotations

from joinery.spec.kafka import REPLAY

PARTITION_AT, OFFSET_AT = (1, 10), (11, 19)  # first byte, from 1, and length
KEY_AT = 31

__all__ = ["KEY_AT", "OFFSET_AT", "PARTITION_AT", "REPLAY", "replay_key"]


def replay_key(partition: int, offset: int, key: bytes | None) -> bytes:
    """Return the key under which a record is put back.

    Example:
        >>> replay_key(3, 42, b"ada")
        b'00000000030000000000000000042kada'
    """
    return b"%010d%019d%s" % (partition, offset, b"n" if key is None else b"k" + key)
