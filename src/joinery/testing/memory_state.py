"""Join state in dictionaries: each call takes effect at once, as in a store without transactions.

For tests, and as the plainest example of a `JoinState`. It is lost with the process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from joinery.model.change import Key, Row
from joinery.plan.product import Product
from joinery.semantics.document import SentDocument
from joinery.semantics.rows import JoinValue, join_value
from joinery.solutions.stored.state import (
    Batch,
    Emitted,
    StoredRow,
    StoreError,
    StoreFencedError,
)

_Index = dict[JoinValue, dict[Key, Row]]


class MemoryState:
    """The rows of some products' relations."""

    def __init__(self, products: Sequence[Product]) -> None:
        self._sides = {side for product in products for side in _sides(product)}
        self._owner: str | None = None

    def _empty(self, batch: Batch) -> None:
        if batch.number > 0:
            raise StoreError(f"the join state of the batches before {batch.number} is not here")
        self._owner = batch.query_id
        self._rows: dict[str, dict[Key, StoredRow]] = defaultdict(dict)
        self._indexes: dict[tuple[str, tuple[str, ...]], _Index] = {
            side: defaultdict(dict) for side in self._sides
        }
        self._sent: dict[str, dict[Key, SentDocument]] = defaultdict(dict)
        self._marks: dict[str, set[Key]] = defaultdict(set)
        self._epoch = 0
        self._done: tuple[Batch, Mapping[str, Emitted]] | None = None

    def begin(self, batch: Batch) -> bool:
        """Start a batch, or start it again; return whether it was acknowledged before."""
        if batch.query_id != self._owner:
            self._empty(batch)
        if batch.epoch < self._epoch:
            raise StoreFencedError(f"a run with the epoch {self._epoch} keeps its join state here")
        self._epoch = batch.epoch
        return self._done is not None and self._done[0].number == batch.number

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`."""
        stored = self._rows[relation]
        return {key: stored[key] for key in keys if key in stored}

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        index = self._indexes[relation, columns]
        return [row for value in values if value in index for row in index[value].values()]

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Remember roots by product as work to do."""
        for product, keys in roots.items():
            self._marks[product].update(keys)

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return what an earlier try of this batch marked."""
        return {product: set(keys) for product, keys in self._marks.items()}

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys."""
        stored = self._rows[relation]
        for key, row in rows.items():
            self._index(relation, key, stored.get(key), row)
            stored[key] = row

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sink holds."""
        sent = self._sent[product]
        return {key: sent[key] for key in roots if key in sent}

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch."""
        for product, each in emitted.items():
            self._sent[product].update({**each.documents, **each.silent})
        self._marks.clear()
        self._done = batch, emitted

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""
        return self._done[1] if self._done else {}

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and documents that went, before a time."""
        for stored in self._rows.values():
            old = [k for k, row in stored.items() if row.row is None and row.changed_us < before_us]
            for key in old:
                del stored[key]
        for sent in self._sent.values():
            went = [k for k, each in sent.items() if each.text is None and not each.failing]
            for key in went:
                if sent[key].version < before_us:
                    del sent[key]

    def close(self) -> None:
        """Keep everything; a test may go on with the same state."""

    def _index(self, relation: str, key: Key, old: StoredRow | None, new: StoredRow) -> None:
        for (name, columns), index in self._indexes.items():
            if name == relation:
                if old is not None and old.row is not None and old.visible:
                    value = join_value(old.row, columns)
                    if value is not None:
                        index[value].pop(key, None)
                if new.row is not None and new.visible:
                    value = join_value(new.row, columns)
                    if value is not None:
                        index[value][key] = new.row


def _sides(product: Product) -> Sequence[tuple[str, tuple[str, ...]]]:
    """Return the relations and columns by which rows are looked up."""
    root = product.root
    sides = [(root.relation.name, root.relation.key)]
    for node in root.walk():
        for embed in node.embeds:
            sides.append((embed.relation.name, tuple(pair.child for pair in embed.on)))
            sides.append((node.relation.name, tuple(pair.parent for pair in embed.on)))
    return sides
