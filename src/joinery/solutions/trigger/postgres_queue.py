"""The queue of changed rows in PostgreSQL, taken a batch at a time by one listener.

Invariant: images leave the queue in the transaction that remembers what was sent because of
them; a listener that was replaced takes none.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from joinery.model.change import Key
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import (
    Batch,
    Emitted,
    StoreFencedError,
)
from joinery.solutions.trigger.postgres import PostgresTriggerState, connected
from joinery.solutions.trigger.statement.layout import QueryLayout
from joinery.solutions.trigger.statement.product import ProductStatements
from joinery.solutions.trigger.statement.queue import CHANNEL, Queue

QUERY_ID = "queue"
_MOST = 100_000


def queue_of(products: Sequence[Product], query: str, schema: str) -> Queue:
    """Return the queue of a query."""
    relations = dict.fromkeys(each for product in products for each in product.relations)
    return Queue(QueryLayout(query, schema), tuple(relations))


class PostgresIngestState(PostgresTriggerState):
    """The tables of a query whose documents a listener publishes: rows in, nothing sent."""

    def __init__(
        self,
        products: Sequence[Product],
        url: str,
        *,
        schema: str = "joinery",
        name: str = "",
        owner: Owner = NOBODY,
    ) -> None:
        super().__init__(products, url, schema=schema, name=name, owner=owner)
        for part in queue_of(products, name or products[0].query, schema).parts():
            self.define(part)

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return nothing: no batch sends."""
        return {}


class PostgresQueueState(PostgresTriggerState):
    """What a listener takes out of the queue, over the same tables.

    Args:
        products: Of the query.
        url: Of the database.
        statements: By product, how changed rows lead to roots.
        schema: Of the tables.
        name: Of the query.
        owner: Who keeps join state in the tables.
    """

    def __init__(
        self,
        products: Sequence[Product],
        url: str,
        statements: Mapping[str, ProductStatements],
        *,
        schema: str = "joinery",
        name: str = "",
        owner: Owner = NOBODY,
    ) -> None:
        super().__init__(products, url, schema=schema, name=name, owner=owner)
        self._queue = queue_of(products, name or products[0].query, schema)
        self._statements = statements
        self._roots: Mapping[str, Relation] = {e.name: e.root.relation for e in products}
        self._waiting = connected(url)
        self._waiting.autocommit = True
        for part in self._queue.parts():
            self.define(part)
        with self._told():
            taken = self._link.execute(
                f"UPDATE {self._queue.counter} SET epoch = epoch + 1 RETURNING epoch".encode()
            ).fetchone()
            self._epoch = int(taken[0]) if taken else 0
            self._waiting.execute(f"LISTEN {CHANNEL}".encode())

    def last(self) -> Batch | None:
        """Return the batch that was acknowledged last, None where there was none."""
        with self._told():
            number = self._number()[0]
        return Batch(QUERY_ID, number, self._epoch, 0) if number else None

    def next(self) -> Batch | None:
        """Return the batch to do now, None while the queue is empty."""
        with self._told():
            found = f"SELECT EXISTS (SELECT 1 FROM {self._queue.table})"
            row = self._link.execute(found.encode()).fetchone()
            if not (row and row[0]):
                return None
            number = self._number()[0]
        return Batch(QUERY_ID, number + 1, self._epoch, time.time_ns() // 1000)

    def wait(self, seconds: float) -> None:
        """Return when something is put into the queue, or after a time."""
        with self._told():
            for _ in self._waiting.notifies(timeout=seconds, stop_after=1):
                return

    def begin(self, batch: Batch) -> bool:
        """Take the oldest images out of the queue, unless the batch was acknowledged before."""
        with self._told():
            self._roll_back()
            self._link.execute("BEGIN")
            number, epoch = self._number(" FOR UPDATE")
            if epoch > batch.epoch:
                raise StoreFencedError(
                    "another listener publishes from this queue",
                    detail=f"Its number is {epoch}; the number of this one is {batch.epoch}.",
                )
            self._learn()
            if batch.number <= number:
                self._roll_back()
                return True
            for statement in self._queue.take(_MOST):
                self._link.execute(statement.encode())
        return False

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return the roots that the taken images affect."""
        with self._told():
            return {
                product: {
                    key
                    for each in self._statements[product].affected
                    for key, *_ in self._keyed(self._queue.roots(each), relation)
                }
                for product, relation in self._roots.items()
            }

    def _end(self, batch: Batch) -> None:
        """Note which batch was the last; the images it took are gone with it."""
        self._link.execute(f"UPDATE {self._queue.counter} SET number = {batch.number}".encode())

    def close(self) -> None:
        """Close both connections; a batch that was begun is as if it had not been."""
        super().close()
        self._waiting.close()

    def _number(self, rest: str = "") -> tuple[int, int]:
        asked = f"SELECT number, epoch FROM {self._queue.counter}{rest}"
        row: Any = self._link.execute(asked.encode()).fetchone()
        return int(row[0]), int(row[1])
