"""A row-level change, and what it does to a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Key = tuple[Any, ...]
"""The values of a key's columns, in the relation's order."""


class KeyObject(dict[str, Any]):
    """An object in a key: equal to a map of the same values, and hashable, so never changed."""

    # A dict says by None that it has no hash.
    def __hash__(self) -> int:  # type: ignore[override]
        """Return the hash of its values."""
        return hash(tuple(self.items()))


@dataclass(frozen=True, slots=True)
class Change:
    """One insert, update, snapshot read, delete or tombstone of one row.

    Values are Python's own: int, float, str, bool, bytes, `decimal.Decimal`,
    `datetime.date`, `datetime.datetime` (aware, UTC), list, dict, None.

    Attributes:
        relation: The relation's name.
        key: The key columns and their values; never null.
        after: The columns the source sent. An absent column keeps its stored value.
            None for a delete or a tombstone.
        position: The source's own position, such as an LSN; None where it has none.
        tombstone: True for a null value under a key (no `after`, no position).
        place: Where it stands in the log (partition and offset, or file and line), by which
            changes without a position are ordered; None means after all before it.
        partition: The part of the log that has an order; a topic of files is one.
        snapshot: Whether it was read from the table itself, and tells nothing of when it came.
        ended: What a delete tells beside its key, such as its time; None where it tells nothing.
        logged_us: When its log took it, in microseconds since 1970; None where that is not known.
    """

    relation: str
    key: Row
    after: Row | None
    position: int | None = None
    tombstone: bool = False
    place: tuple[int, int] | None = None
    partition: int = 0
    snapshot: bool = False
    ended: Row | None = None
    logged_us: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """One emission: the whole document under its root key, or a tombstone.

    Attributes:
        product: The product's name.
        key: The root relation's key columns, under their own names.
        value: The document, None for a tombstone.
        version: Strictly increasing for its key.
    """

    product: str
    key: Row
    value: Row | None
    version: int
