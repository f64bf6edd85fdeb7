"""Join state in a key-value store: tables of rows, their auxiliary tables, a log of batches.

Other processes may read it while one writes.

Invariant: a crash between any two writes is repaired by the batch's next try; see
`tables.py` and `batch_log.py` for the order of the writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, cast

from joinery.model.change import Key, Row
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.semantics.document import SentDocument
from joinery.semantics.rows import JoinValue
from joinery.solutions.key_value.batch_log import BatchLog, documents_place, read_sent
from joinery.solutions.key_value.store import KeyValueStore, LaggingStore
from joinery.solutions.key_value.tables import KeyedRows, keyed_rows, relations_of
from joinery.solutions.stored.groups import stored_root
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import Batch, Emitted, StoredRow

Sides = Mapping[str, set[tuple[str, ...]]]


def join_sides(products: Sequence[Product]) -> Sides:
    """Return, by relation, the sets of columns that are not its primary key."""
    sides: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for product in products:
        _add_sides(stored_root(product), sides)
    return sides


def _add_sides(node: Node, sides: defaultdict[str, set[tuple[str, ...]]]) -> None:
    for embed in node.embeds:
        parents = tuple(pair.parent for pair in embed.on)
        children = tuple(pair.child for pair in embed.on)
        if set(parents) != set(node.relation.key):
            sides[node.relation.name].add(parents)
        if set(children) != set(embed.relation.key):
            sides[embed.relation.name].add(children)
        _add_sides(embed, sides)


class RowTable(Protocol):
    """The rows of one relation, in a store."""

    def rows(self, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`."""

    def matching(self, columns: tuple[str, ...], values: Collection[JoinValue]) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""


class LoggedState:
    """A `JoinState` over a key-value store: a table for each relation, and a log of batches."""

    def __init__(self, store: KeyValueStore, log: BatchLog) -> None:
        self._store = store
        self._log = log
        self._tables: Mapping[str, RowTable] = {}

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`."""
        return self._tables[relation].rows(keys)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        return self._tables[relation].matching(columns, values)

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Remember roots as work to do."""
        self._log.check()
        self._log.mark(roots)

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return what an earlier try marked."""
        return self._log.pending()

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sink holds."""
        return self._log.sent(product, roots)

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch."""
        self._log.acknowledge(batch, emitted)

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""
        return self._log.emitted(batch)

    def close(self) -> None:
        """Close the store."""
        self._store.close()


class KeyValueJoinState(LoggedState):
    """Keeps the rows that some products read, and their documents, in `store`, for `owner`."""

    def __init__(
        self, products: Sequence[Product], store: KeyValueStore, owner: Owner = NOBODY
    ) -> None:
        super().__init__(store, BatchLog(products, store, owner))
        self._sides = join_sides(products)
        self._relations = relations_of(products)
        self._tables: dict[str, KeyedRows] = {}

    def begin(self, batch: Batch) -> bool:
        """Start a batch, and return whether it was acknowledged before."""
        acknowledged = self._log.begin(batch)
        self._tables = keyed_rows(self._relations, self._sides, self._store, self._log.head)
        return acknowledged

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows, and keep the auxiliary tables right."""
        for entries in self._tables[relation].write(rows):
            self._log.check()
            self._store.put_many(entries)

    def share(self) -> object:
        """Let other processes know where to read; what was put stands there."""
        return self._log.moment

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and documents that went, before a time."""
        for table in self._tables.values():
            for entries in table.forget(before_us):
                self._log.check()
                self._store.put_many(entries)
        self._log.forget(before_us)


class PortableKeyValueState(KeyValueJoinState):
    """One whose store is a `ScannableStore`, so that another solution can take its place."""

    def last_number(self, query_id: str) -> int | None:
        """Return the batch of a checkpoint that was acknowledged last; None where none was."""
        number = self._log.settle(query_id)
        if number is not None:
            self._tables = keyed_rows(self._relations, self._sides, self._store, self._log.head)
        return number

    def keys(self, relation: str) -> Collection[Key]:
        """Return the keys of all stored rows, after `last_number`."""
        return set(self._tables[relation].keys())

    def roots(self, product: str) -> Collection[Key]:
        """Return the keys of all documents, after `last_number`."""
        return set(self._log.roots(product))


class KeyValueReader:
    """Reads what a `KeyValueJoinState` of the same products keeps.

    Args:
        products: Of the query.
        open_: Opens the store here, to be read; see `SharedStore`.
    """

    def __init__(self, products: Sequence[Product], open_: Callable[[], KeyValueStore]) -> None:
        self._store = open_()
        self._relations, self._sides = relations_of(products), join_sides(products)
        self._tables: dict[str, KeyedRows] = {}
        self._head = b""

    def see(self, shared: object) -> None:
        """See what stands in the store now."""
        self._head, *_ = cast(tuple[bytes, int, int], shared)
        if isinstance(self._store, LaggingStore):
            self._store.catch_up()
        self._tables = keyed_rows(self._relations, self._sides, self._store, self._head)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        return self._tables[relation].matching(columns, values)

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sink holds."""
        return read_sent(self._store, documents_place(self._head, product), roots)

    def close(self) -> None:
        """Close the store."""
        self._store.close()
