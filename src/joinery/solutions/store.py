"""What a store gives the solutions that keep join state in it: rows, who joins them, what was sent.

Every store-backed solution is `engine/driver.py` over one `JoinState`. A batch goes: `begin`;
`rows` of the keys it touches; affected roots, walking upward by `matching`, from the old rows
and the new; `mark` those roots; `write` the rows; read downward from the roots; `sent`; and
`acknowledge`, which ends the batch. A store with transactions may make all of it one.

Invariant: a batch that ended before `acknowledge` finds its roots in `pending` when it runs
again; one that ended after it finds what it sent in `emitted`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from joinery.model.change import Row

Key = tuple[Any, ...]
"""The values of a key's columns, in the relation's order."""

JoinValue = tuple[Any, ...]
"""What a row joins on; see `joinery.engine.rows.join_value`."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Which batch is at hand.

    Attributes:
        query_id: Of Spark's checkpoint; another one means that the log is read anew.
        number: Rises by one a batch, within a query id.
        epoch: Of the run that holds the lease; a store refuses a lower one than it has seen.
        timestamp_us: The batch's time, the same when it runs again.
    """

    query_id: str
    number: int
    epoch: int
    timestamp_us: int


@dataclass(frozen=True, slots=True)
class StoredRow:
    """The newest state of one key.

    Attributes:
        row: All columns, declared and derived; None once the row is deleted.
        visible: False where the relation's `where` leaves the row out, or there is none.
        position: The highest source position that was applied; None where there was none.
        after_delete: The last change of the key in the log was a delete.
        changed_us: The time of the batch that wrote it, by which deletes are forgotten.
    """

    row: Row | None
    visible: bool
    position: int | None
    after_delete: bool
    changed_us: int


@dataclass(frozen=True, slots=True)
class SentDocument:
    """What the sink holds for one root.

    Attributes:
        text: The document as JSON text; None where the sink holds none.
        version: The last one used; never falls.
        failing: The document that should stand cannot be sent, and a dead letter told so.
    """

    text: str | None
    version: int
    failing: bool = False


@dataclass(frozen=True, slots=True)
class Emitted:
    """What one batch sent of a product: `documents` by root, with their texts; `dead` besides.

    `dead` holds reason and detail by root.
    """

    documents: Mapping[Key, SentDocument]
    dead: Mapping[Key, tuple[str, str]]


class JoinState(Protocol):
    """Keeps the rows of some relations and the documents of some products, for one writer.

    All calls take and give sets: one request for thousands of keys.
    """

    def begin(self, batch: Batch) -> bool:
        """Start a batch, or start it again; return whether it was acknowledged before.

        Raises:
            FencedError: A run with a higher epoch has been here.
            StoreError: The store cannot be used; says why and what to do.
        """

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`, deleted rows included; unknown keys are left out."""

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`, each row once.

        `columns` are those of an edge, on either side, or the relation's key.
        """

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Remember, durably and before `write`, roots by product as work to do."""

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return what an earlier try of this batch marked."""

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys, and keep the indexes right."""

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sink holds; roots that were never sent are left out."""

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch: store what it sends by product, forget its marks, note that it is done."""

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted before a time; called now and then."""

    def close(self) -> None:
        """Give back what is held; what was not acknowledged is as if it had crashed here."""
