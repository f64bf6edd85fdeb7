"""What a key-value store offers to keep join state: get many, put many, scan partitions.

An entry stands under a partition and a sort key, as in every wide-column store: a partition
that holds one entry has it under the empty sort key, all others are non-empty. Both are UTF-8
text, partitions without NUL.

A package adds a store by an entry point of the group `joinery.stores` that names a
`StoreOptions`.

Many things in slices that one request can carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from joinery.solutions.stored.state import StoreError

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

Address = tuple[bytes, bytes]
"""Partition and sort key of one entry."""


class KeyValueStore(Protocol):
    """Entries for one writer, used from one thread.

    Each entry changes whole or not at all. What a call wrote is durable when it returns, and
    every later call sees it; a call that fails may have written any part of its entries.
    """

    def get_many(self, addresses: Sequence[Address]) -> Sequence[bytes | None]:
        """Return the value at each address, in their order; None where there is none.

        Raises:
            StoreError: The store cannot be read.
        """

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put values in place of what stands at their addresses; None removes an entry.

        Raises:
            StoreError: The store cannot be written.
        """

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        """Yield all entries of some partitions, each once, in any order.

        Raises:
            StoreError: The store cannot be read.
        """

    def close(self) -> None:
        """Give back what is held."""


@runtime_checkable
class ClearingStore(KeyValueStore, Protocol):
    """A store that can also remove all partitions whose names begin alike.

    A checkpoint that takes a store over from another one begins under new names. Where the
    store cannot clear, the entries of the former one stay, and nobody reads them.
    """

    def clear(self, head: bytes) -> None:
        """Remove all entries of all partitions that begin with `head`.

        Raises:
            StoreError: The store cannot be written; some entries may be gone.
        """


@runtime_checkable
class ClaimingStore(KeyValueStore, Protocol):
    """A store that can compare and put in one, so that two runs never both hold the fence.

    It may compare at every later write as well, and then a run that was replaced writes
    nothing. Where the store cannot claim, the fence is read before each step.
    """

    def claim(self, address: Address, before: bytes | None, after: bytes) -> None:
        """Put `after` where `before` stands; None where nothing does.

        Raises:
            FencedError: Something else stands there; so may later calls of `put_many`.
        """


@runtime_checkable
class SharedStore(KeyValueStore, Protocol):
    """A store that other processes can read while this one writes.

    Documents are then made by several processes; where a store cannot, by one.
    """

    def reader(self) -> Callable[[], KeyValueStore]:
        """Return what opens the same entries in another process, to be read; it pickles.

        What it opens may be a `LaggingStore`.
        """


@runtime_checkable
class LaggingStore(KeyValueStore, Protocol):
    """A store, opened to be read, that sees what the writer put only once it is told to."""

    def catch_up(self) -> None:
        """See what was put; called after the writer's last call.

        Raises:
            StoreError: The store cannot be read.
        """


@runtime_checkable
class ScannableStore(KeyValueStore, Protocol):
    """A store that can also list what it holds, so that another solution can take its place."""

    def partitions(self, head: bytes) -> Iterator[bytes]:
        """Yield the partitions that begin with `head`, each once.

        Raises:
            StoreError: The store cannot be read.
        """


class StoreOptions(Protocol):
    """The options of a store; an entry point of `joinery.stores` names such a class.

    Made by `joinery.project.option.options`, which says how a project file gives them.
    """

    def make(self, place: SolutionPlace) -> KeyValueStore:
        """Return the store, opened; two queries must not see each other's entries.

        Args:
            place: The query's name, and where an embedded store keeps its files.

        Raises:
            SpecError: The options do not fit each other.
            StoreError: The store cannot be used; says why and what to do.
        """


def emptied(place: str) -> StoreError:
    """Return the error of a store that has lost what it held while it was used."""
    return StoreError(
        f"{place} was emptied while a run used it",
        detail="The mark of the run that writes there is gone.",
        hint="Restore the store, or run with --rebuild.",
    )
