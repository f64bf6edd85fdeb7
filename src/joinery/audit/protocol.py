"""The two sides of a comparison: what documents should be, and how far a product has come."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from joinery.model.change import Key

Form = Literal["text", "digest"]
"""What is made of a document: its text as it is sent, or the digest of that text as `jsonb`."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Documents as one snapshot gives them.

    Attributes:
        upper: The place in the log at or above all that they show.
        documents: By key; None where there is none.
        unreadable: By key, why the document cannot be told.
        versions: Of all rows that were read; equal for two snapshots where nothing changed.
        snapshot: Which transactions they show, as PostgreSQL writes it.
    """

    upper: int
    documents: Mapping[Key, str | None]
    unreadable: Mapping[Key, str]
    versions: frozenset[object]
    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class Glance:
    """What the database itself makes of some documents.

    Attributes:
        upper: The place in the log at or above all that it shows.
        keys: Of roots, in their order.
        made: By key, what was asked of its document, None where it does not tell; a key without
            a document is left out.
    """

    upper: int
    keys: Sequence[Key]
    made: Mapping[Key, str | None]


class Truth(Protocol):
    """What documents should be."""

    def roots(self, after: Key | None, most: int) -> Sequence[Key]:
        """Return the keys of the next rows of the root, in an order of its own."""

    def present(self, keys: Sequence[Key]) -> Collection[Key]:
        """Return those of some keys under which the root has a row."""

    def documents(
        self, keys: Sequence[Key], *, at_least: int = 0, noting: bool = True
    ) -> Shown | None:
        """Return documents as they are now; None where it has not come so far in time.

        Args:
            keys: Of roots; one without a row has no document.
            at_least: A place in the log that has to be shown.
            noting: Note the versions of rows, which takes a while.
        """


@runtime_checkable
class Glancing(Protocol):
    """A truth whose database can build documents itself."""

    def glances(self, form: Form) -> bool:
        """Return whether it can make that of them."""

    def glance(self, after: Key | None, most: int, form: Form) -> Glance:
        """Return what it makes of the documents of the next rows of the root."""

    def leave(self) -> None:
        """Break off what another thread has asked; called where nobody waits for it any more."""


class Applied(Protocol):
    """How far a product has come."""

    def reach(self, place: int) -> bool:
        """Return once all up to a place is applied and sent; False where it is not in time."""

    def heard(self) -> int:
        """Return a place at or above all that the product has been told."""
