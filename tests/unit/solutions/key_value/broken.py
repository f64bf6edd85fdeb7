"""A store that breaks down in the middle of a write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from joinery.solutions.key_value.store import Address, KeyValueStore
from joinery.solutions.stored.state import StoreError


class BrokenStore:
    """Breaks down in the given write, of which any part of the entries stands."""

    def __init__(self, store: KeyValueStore, *, at: int, random: Random) -> None:
        self._store, self._at, self._random = store, at, random
        self.writes = 0

    def get_many(self, addresses: Sequence[Address]) -> Sequence[bytes | None]:
        return self._store.get_many(addresses)

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        self.writes += 1
        if self.writes - 1 == self._at:
            share = self._random.choice((0.0, 0.5, 1.0))
            some = {at: value for at, value in entries.items() if self._random.random() < share}
            self._store.put_many(some)
            raise StoreError("broken down")
        self._store.put_many(entries)

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        return self._store.scan(partitions)

    def close(self) -> None:
        self._store.close()
