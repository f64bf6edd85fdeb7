"""Rows and documents read from a key-value store while another process writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

from joinery.model.change import Row
from joinery.plan.nodes import Product
from joinery.solutions.key_value.ledger import documents_place, read_sent
from joinery.solutions.key_value.sides import join_sides
from joinery.solutions.key_value.store import KeyValueStore
from joinery.solutions.key_value.tables import KeyedRows, keyed_rows, relations_of
from joinery.solutions.store import JoinValue, Key, SentDocument


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
        if (catch_up := getattr(self._store, "catch_up", None)) is not None:
            catch_up()
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
