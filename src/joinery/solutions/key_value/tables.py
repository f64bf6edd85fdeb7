"""The rows of one relation in a key-value store, and who they join.

A row stands under its primary key (`row/<relation>/<key>`). For each side of an edge that is
not the primary key itself there is an auxiliary table from join value to primary keys: the
partition `by/<relation>/<columns>/<value>`, whose sort keys are the keys.

Written are, in this order: new entries of the auxiliary tables, rows, and last the removal
of entries that hold no more. So a reader between two steps, and a batch that runs again after
a crash, finds too many entries and never too few; `matching` looks at the rows themselves,
and entries it finds to be stale go with the next write.

Limits: a delete is remembered until `forget`, under `gone/<relation>`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from joinery.model.change import Key, Row
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.semantics.rows import JoinValue, join_reader
from joinery.slices import slices
from joinery.solutions.key_value.codec import RowText
from joinery.solutions.key_value.key_text import key_bytes, key_of_bytes
from joinery.solutions.key_value.store import Address, KeyValueStore, ScannableStore
from joinery.solutions.stored.groups import stored_relations
from joinery.solutions.stored.state import StoredRow, visible_row

_AT_ONCE = 20_000


class KeyedRows:
    """One relation.

    Args:
        relation: Its key and columns.
        sides: The sets of columns, other than the key, that edges join on.
        store: Where everything is kept.
        head: Stands before all partitions.
    """

    def __init__(
        self,
        relation: Relation,
        sides: Collection[tuple[str, ...]],
        store: KeyValueStore,
        head: bytes,
    ) -> None:
        self._key = relation.key
        self._key_types = [relation.type_of(column) for column in relation.key]
        self._store = store
        self._texts = RowText(relation.row.fields)
        name = escaped(relation.name)
        self._place = head + f"row/{name}/".encode()
        self._gone = head + f"gone/{name}".encode()
        self._auxiliary = {
            columns: (
                head + f"by/{name}/{','.join(map(escaped, columns))}/".encode(),
                join_reader(relation, columns),
            )
            for columns in sides
        }
        self._standing: dict[Key, StoredRow | None] = {}
        self._sorts: dict[Key, bytes] = {}
        self._stale: set[Address] = set()

    def rows(self, keys: Collection[Key]) -> dict[Key, StoredRow]:
        """Return what is stored under `keys`."""
        asked = list(keys)
        sorts = list(map(key_bytes, asked))
        values = self._store.get_many([(self._place + sort, b"") for sort in sorts])
        found = {
            key: self._texts.stored(value)
            for key, value in zip(asked, values, strict=True)
            if value is not None
        }
        self._sorts.update(zip(asked, sorts, strict=True))
        self._standing.update(dict.fromkeys(asked))
        self._standing.update(found)
        return found

    def keys(self) -> Iterator[Key]:
        """Yield the keys of all rows, deleted ones included, from a `ScannableStore`."""
        store = cast(ScannableStore, self._store)
        for partition in store.partitions(self._place):
            yield key_of_bytes(partition.removeprefix(self._place), self._key_types)

    def matching(self, columns: tuple[str, ...], values: Collection[JoinValue]) -> list[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        if columns not in self._auxiliary:
            return self._under(columns, values)
        wanted = set(values)
        head, value_of = self._auxiliary[columns]
        partitions = [head + key_bytes(each) for each in wanted]
        addresses = [address for address, _ in self._store.scan(partitions)]
        sorts = list(dict.fromkeys(sort for _, sort in addresses))
        held = self._store.get_many([(self._place + sort, b"") for sort in sorts])
        rows: list[Row] = []
        joining: dict[bytes, JoinValue] = {}
        for sort, text in zip(sorts, held, strict=True):
            row = None if text is None else self._texts.visible(text)
            value = None if row is None else value_of(row)
            if row is not None and value is not None and value in wanted:
                rows.append(row)
                joining[sort] = value
        if len(joining) < len(addresses):
            places = {sort: head + key_bytes(value) for sort, value in joining.items()}
            self._stale.update(each for each in addresses if places.get(each[1]) != each[0])
        return rows

    def write(self, rows: Mapping[Key, StoredRow]) -> Iterator[dict[Address, bytes | None]]:
        """Yield what is to be put, step by step, so that `rows` stand."""
        self.rows([key for key in rows if key not in self._standing])
        added: dict[Address, bytes | None] = {}
        removed: dict[Address, bytes | None] = {}
        written: dict[Address, bytes | None] = {}
        for key, stored in rows.items():
            sort = self._sorts[key]
            before, after = visible_row(self._standing[key]), visible_row(stored)
            for head, value_of in self._auxiliary.values():
                old = None if before is None else value_of(before)
                new = None if after is None else value_of(after)
                if new != old and new is not None:
                    added[head + key_bytes(new), sort] = b""
                if new != old and old is not None:
                    removed[head + key_bytes(old), sort] = None
            if stored.row is None:
                added[self._gone, sort] = b""
            written[self._place + sort, b""] = self._texts.text(stored)
        if self._stale:
            removed.update(dict.fromkeys(self._stale.difference(self._entries(rows))))
        yield from (added, written, removed)
        self._stale.clear()
        self._standing.update(rows)

    def forget(self, before_us: int) -> Iterator[dict[Address, bytes | None]]:
        """Yield what is to be put so that rows deleted before a time are forgotten."""
        noted = (address for address, _ in self._store.scan([self._gone]))
        for some in slices(noted, _AT_ONCE):
            places: list[Address] = [(self._place + sort, b"") for _, sort in some]
            forgotten: dict[Address, bytes | None] = {}
            told: dict[Address, bytes | None] = {}
            for address, place, value in zip(
                some, places, self._store.get_many(places), strict=True
            ):
                stored = None if value is None else self._texts.stored(value)
                if stored and stored.row is None and stored.changed_us >= before_us:
                    continue
                told[address] = None
                if stored and stored.row is None:
                    forgotten[place] = None
            yield forgotten
            yield told

    def _under(self, columns: tuple[str, ...], values: Collection[JoinValue]) -> list[Row]:
        """Return the visible rows by primary key, whose columns stand in another order."""
        if columns != self._key:
            at = [columns.index(column) for column in self._key]
            values = [tuple(value[place] for place in at) for value in values]
        held = self._store.get_many(list({self._address(each): None for each in values}))
        rows = (self._texts.visible(value) for value in held if value is not None)
        return [row for row in rows if row is not None]

    def _entries(self, rows: Mapping[Key, StoredRow]) -> Iterator[Address]:
        """Yield where the auxiliary tables tell of some rows."""
        for key, stored in rows.items():
            row = visible_row(stored)
            for head, value_of in self._auxiliary.values():
                value = None if row is None else value_of(row)
                if value is not None:
                    yield head + key_bytes(value), key_bytes(key)

    def _address(self, key: Sequence[Any]) -> Address:
        return self._place + key_bytes(key), b""


def relations_of(products: Iterable[Product]) -> list[Relation]:
    """Return the relations whose rows are kept for some products, each once."""
    return list(dict.fromkeys(each for product in products for each in stored_relations(product)))


def keyed_rows(
    relations: Iterable[Relation],
    sides: Mapping[str, Collection[tuple[str, ...]]],
    store: KeyValueStore,
    head: bytes,
) -> dict[str, KeyedRows]:
    """Return the rows of some relations below `head`, by the relation's name."""
    return {each.name: KeyedRows(each, sides.get(each.name, ()), store, head) for each in relations}


def escaped(name: str) -> str:
    """Return a name without the characters that part the names of a partition."""
    return quote(name, safe="")
