"""Rows and documents read from a database while another connection writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from joinery.model.change import Row
from joinery.solutions.relational.state import DocumentTable, RowTable
from joinery.solutions.store import JoinValue, Key, SentDocument

Link = TypeVar("Link", bound=Any)


class RelationalReader(Generic[Link]):
    """Reads what a `RelationalState` has committed, over a connection of its own.

    Args:
        link: In autocommit mode.
        told: Tells what the driver raises as errors of a store.
        tables: By relation.
        documents: By product.
        learn: Called with what the writer shares, before what that made visible is read.
    """

    def __init__(
        self,
        link: Link,
        told: Callable[[], AbstractContextManager[None]],
        *,
        tables: Mapping[str, RowTable[Link]],
        documents: Mapping[str, DocumentTable[Link]],
        learn: Callable[[Any], None] = lambda shared: None,
    ) -> None:
        self._link, self._told, self._learn = link, told, learn
        self._tables, self._documents = tables, documents

    def see(self, shared: object) -> None:
        """See what was committed until now, as each statement does."""
        self._learn(shared)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        with self._told():
            return self._tables[relation].matching(self._link, columns, values)

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sinks hold of `roots`."""
        with self._told():
            return self._documents[product].sent(self._link, roots)

    def close(self) -> None:
        """Close the connection."""
        self._link.close()
