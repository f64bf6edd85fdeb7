"""Join state in one DynamoDB table: rows as items with slots, and the log of batches of `kv`.

Rows are guarded by reading, comparing and writing under one fenced writer: the fence is
claimed by a condition; batches of writes carry none, so it is read again before each step, and
between the requests of one that takes many.

A try that follows a crash first waits until the indexes must show what was written before.

Limits: an index more than `lag_s` behind its table would show too little. A takeover by
another checkpoint leaves the items of the former one, under names that nobody reads.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TypeVar

from joinery.model.change import Change, Key
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.slices import slices
from joinery.solutions.key_value.batch_log import BatchLog
from joinery.solutions.key_value.dynamodb import DynamoStore
from joinery.solutions.key_value.dynamodb_table import DynamoTable
from joinery.solutions.key_value.state import LoggedState, join_sides
from joinery.solutions.key_value.store import Address
from joinery.solutions.key_value.tables import escaped
from joinery.solutions.price import Prices
from joinery.solutions.single_table.items import ItemLayout, ItemTable, sort_key
from joinery.solutions.single_table.recent import Recent
from joinery.solutions.single_table.slot import Need
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    StoredRow,
    StoreError,
    StoreSolution,
    WrappingSolution,
)

_T = TypeVar("_T")
LAG_S = 5.0
_HOT_UNITS_A_SECOND = 900
_AT_ONCE = 10_000
_log = logging.getLogger(__name__)


class SingleTableState(LoggedState):
    """Keeps the rows that some products read, and their documents, in a table.

    Args:
        products: They share a query.
        table: Made, with the indexes of all slots.
        slots: Of all `needs_of` the products.
        query: The query's name.
        shards: Over how many partition keys each relation is spread.
        lag_s: How far behind an index may be.
        owner: Who keeps join state in the table.
        pause: Waits for a number of seconds.
    """

    def __init__(
        self,
        products: Sequence[Product],
        table: DynamoTable,
        slots: Mapping[Need, int],
        *,
        query: str,
        shards: int = 1,
        lag_s: float = LAG_S,
        owner: Owner = NOBODY,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._table = table
        self._slots = slots
        self._query = escaped(query)
        self._shards = shards
        self._lag_s = lag_s
        self._pause = pause
        store = DynamoStore(table, f"{self._query}/")
        super().__init__(store, BatchLog(products, store, owner))
        self._sides = join_sides(products)
        relations = dict.fromkeys(r for product in products for r in product.relations)
        self._relations = list(relations)
        self._recent = {each.name: Recent(lag_s) for each in relations}
        self._tables: dict[str, ItemTable] = {}
        self._began = False

    def begin(self, batch: Batch) -> bool:
        """Start a batch, and return whether it was acknowledged before."""
        acknowledged = self._log.begin(batch)
        self._check_shards()
        if self._log.tries > 0 or (not self._began and batch.number > 0):
            self._pause(self._lag_s)
            for recent in self._recent.values():
                recent.clear()
        self._began = True
        scope = f"{self._query}.{self._log.head.decode().rstrip('/')}"
        self._tables = {each.name: self._opened(each, scope) for each in self._relations}
        return acknowledged

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows, deleted ones noted first."""
        self._log.check()
        gone = [sort_key(key) for key, stored in rows.items() if stored.row is None]
        if gone:
            self._store.put_many({self._gone(relation, sort): b"-" for sort in gone})
        began = time.monotonic()
        self._tables[relation].write(rows)
        self._warn(relation, len(rows), time.monotonic() - began)

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and documents that went, before a time."""
        for name, table in self._tables.items():
            entries = self._store.scan([self._gone(name, "")[0]])
            for sorts in slices((sort.decode() for (_, sort), _ in entries), _AT_ONCE):
                deleted = {s: r for s, r in table.stored(sorts).items() if r.row is None}
                kept = {s for s, each in deleted.items() if each.changed_us >= before_us}
                self._log.check()
                table.remove(deleted.keys() - kept)
                self._store.put_many({self._gone(name, s): None for s in sorts if s not in kept})
        self._log.forget(before_us)

    def _opened(self, relation: Relation, scope: str) -> ItemTable:
        sides = {
            columns: self._slots[relation.name, columns]
            for columns in self._sides.get(relation.name, ())
        }
        recent = self._recent[relation.name]
        recent.expire()
        return ItemTable(relation, sides, self._table, ItemLayout(scope, self._shards), recent)

    def _gone(self, relation: str, sort: str) -> Address:
        return self._log.head + f"gone/{escaped(relation)}".encode(), sort.encode()

    def _check_shards(self) -> None:
        """Refuse another number of shards than the rows were written with."""
        place: Address = (self._log.head + b"shards", b"")
        stood = self._store.get_many([place])[0]
        if stood is None:
            self._store.put_many({place: b"%d" % self._shards})
        elif int(stood) != self._shards:
            raise StoreError(
                f"the table's rows are spread over {stood.decode()} shards, not {self._shards}",
                hint=f"Set `shards: {stood.decode()}`, or run with --rebuild.",
            )

    def _warn(self, relation: str, rows: int, seconds: float) -> None:
        """Warn of a partition key that takes about as much as one can."""
        rate = rows / max(seconds, 0.001)
        if self._shards == 1 and rows > _HOT_UNITS_A_SECOND and rate > _HOT_UNITS_A_SECOND:
            facts = {"relation": relation, "items_a_second": round(rate)}
            _log.warning("hot partition: spread the relation by the option `shards`", extra=facts)


class DynamoSolution(WrappingSolution):
    """A driver whose batches also tell the requests they made, and what those cost."""

    def __init__(self, driver: StoreDriver, table: DynamoTable, product: str) -> None:
        self._driver = driver
        self._table = table
        self._product = product

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        """Apply a batch, or tell again what it sent if it was acknowledged before."""
        before = self._table.usage.snapshot()
        outcome = super().apply(changes, batch)
        used = self._table.usage.since(before)
        counted = {name: ceil(each) for name, each in used.items() if each}
        counters = dict(outcome.counters)
        counters[self._product] = {**counters.get(self._product, {}), **counted}
        return replace(outcome, counters=counters)

    def _reach(self, act: Callable[[StoreSolution], _T]) -> _T:
        return act(self._driver)

    def close(self) -> None:
        """Close the table, and log what was used."""
        usage = self._table.usage
        facts = {**usage.snapshot(), "dollars": round(usage.dollars(Prices()), 6)}
        _log.info("capacity of dynamodb used", extra=facts)
        super().close()


def check_owner(products: Sequence[Product], table: DynamoTable, query: str, owner: Owner) -> None:
    """Refuse a table whose query of this name is another project's; the table is there.

    Raises:
        OwnedError: It is.
    """
    BatchLog(products, DynamoStore(table, f"{escaped(query)}/"), owner)


def needs_of(products: Sequence[Product]) -> list[Need]:
    """Return the slots that products need, in a fixed order."""
    sides = join_sides(products)
    return sorted((name, columns) for name, each in sides.items() for columns in each)
