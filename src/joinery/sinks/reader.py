"""What a sink's target holds, read back beside a run: the documents of some keys, and all keys.

Invariant: reading changes nothing in the target, claims nothing of it, and stops no run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from joinery.errors import SinkError
from joinery.model.change import Key
from joinery.model.type import Struct
from joinery.project.kinds import SINKS


class Held(NamedTuple):
    """One document as a target holds it.

    Attributes:
        value: JSON text, perhaps written in another way than it was sent.
        version: Under which it was sent.
    """

    value: str
    version: int


class DocumentReader(Protocol):
    """Reads the documents of one product back; used by one thread, closed once."""

    @property
    def target(self) -> str:
        """Where documents are, for messages; never a secret."""

    def keys(self) -> Iterator[str]:
        """Yield the root keys of all documents, as JSON objects.

        Raises:
            SinkError: The target cannot be read.
        """

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        """Return the documents of some root keys; a key without one is left out.

        Args:
            keys: JSON objects, as the lines of a batch write them; the answer has the same.

        Raises:
            SinkError: The target cannot be read.
        """

    def close(self) -> None:
        """Release what is held open."""


@runtime_checkable
class ReadsFromKey(Protocol):
    """A reader of a target that keeps some fields of documents in no place but the key.

    Attributes:
        from_key: Their names.
    """

    from_key: frozenset[str]


@runtime_checkable
class LeavesOut(Protocol):
    """A reader of a target that does not tell the keys of all its documents.

    Attributes:
        left_out: How many documents `keys` did not yield the last time, as far as it went.
    """

    left_out: int


class RangeDigests(Protocol):
    """Digests of the documents in a target, by ranges of their keys."""

    def between(self, after: Key | None, last: Key | None) -> Mapping[Key, str] | None:
        """Return the MD5 of each document in a range of keys, of its text as `jsonb`.

        Args:
            after: The key before the first one; None to begin with the first.
            last: The last one; None for all others.

        Returns:
            None where the target has these keys in another order.

        Raises:
            SinkError: The target cannot be read.
        """


@runtime_checkable
class TellsDigests(Protocol):
    """A reader of a target that may make digests."""

    @property
    def digests(self) -> RangeDigests | None:
        """Return what makes them; None where this target cannot."""


@runtime_checkable
class ReadableOptions(Protocol):
    """The options of a kind of sink whose documents can be read back."""

    def reader(self, product: str, folder: Path, key: Struct, value: Struct) -> DocumentReader:
        """Return what reads the documents of a product.

        Args:
            product: The product's name.
            folder: Where relative paths begin.
            key: The root key's columns.
            value: The document's type.

        Raises:
            SinkError: With these options documents cannot be read back.
        """


def make_reader(
    kind: str,
    given: Mapping[str, object],
    *,
    product: str,
    folder: Path,
    key: Struct,
    value: Struct,
) -> DocumentReader:
    """Return what reads the documents of a product back from a sink.

    Raises:
        SinkError: Documents of this kind, or under these options, cannot be read back.
    """
    options = SINKS.read(kind, given) if isinstance(SINKS.find(kind), type) else None
    if not isinstance(options, ReadableOptions):
        raise SinkError(f'documents cannot be read back from sink "{kind}" yet')
    if given.get("spool") is True:
        raise SinkError(
            f'sink "{kind}" of product "{product}" has a spool, so committed documents may not be'
            " there yet"
        )
    return options.reader(product, folder, key, value)
