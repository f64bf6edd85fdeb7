"""The store `memory`: entries in dictionaries, gone with the process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from joinery.project.option import options
from joinery.solutions.key_value.store import Address

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace


class MemoryStore:
    """Keeps entries by partition, then by sort key."""

    def __init__(self) -> None:
        self._partitions: dict[bytes, dict[bytes, bytes]] = {}

    def get_many(self, addresses: Sequence[Address]) -> list[bytes | None]:
        """Return the value at each address."""
        nothing: dict[bytes, bytes] = {}
        return [self._partitions.get(partition, nothing).get(sort) for partition, sort in addresses]

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put and remove entries."""
        for (partition, sort), value in entries.items():
            if value is not None:
                self._partitions.setdefault(partition, {})[sort] = value
            elif partition in self._partitions:
                self._partitions[partition].pop(sort, None)
                if not self._partitions[partition]:
                    del self._partitions[partition]

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        """Yield all entries of some partitions."""
        for partition in partitions:
            for sort, value in list(self._partitions.get(partition, {}).items()):
                yield (partition, sort), value

    def clear(self, head: bytes) -> None:
        """Remove all entries of all partitions that begin with `head`."""
        for partition in [each for each in self._partitions if each.startswith(head)]:
            del self._partitions[partition]

    def close(self) -> None:
        """Keep everything: the next driver of the same object goes on with it."""


@options
class MemoryOptions:
    """`{kv: {store: memory}}`."""

    def make(self, place: SolutionPlace) -> MemoryStore:
        """Return the store of a query."""
        return MemoryStore()
