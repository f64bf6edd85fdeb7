"""Join state in a SQLite file: a table a relation, a table a product's documents.

A batch is one transaction, from `begin` to `acknowledge`, so that one which ended before has
left nothing, and needs no marks.

Invariant: rows, documents and (query id, number) change together or not at all; a lower epoch
is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from joinery.model.change import Row
from joinery.plan.nodes import Product
from joinery.solutions.relational.fence import check_claim, foreign_table, is_last
from joinery.solutions.relational.layout import (
    documents_name,
    fence_name,
    relation_tables,
    rows_name,
)
from joinery.solutions.relational.sqlite_database import (
    columns_of_table,
    failure,
    open_database,
    quoted,
)
from joinery.solutions.relational.sqlite_documents import SqliteDocuments
from joinery.solutions.relational.sqlite_table import SqliteTable
from joinery.solutions.store import (
    Batch,
    Emitted,
    JoinValue,
    Key,
    SentDocument,
    StoredRow,
)

_FENCE_COLUMNS = ("id", "owner", "epoch", "query_id", "number")


class SqliteState:
    """The rows and documents of the products of one query.

    Args:
        products: They share the tables of their relations.
        path: The file; created where it is missing.
        name: Leads the names of the tables, so that queries can share a file.
    """

    def __init__(self, products: Sequence[Product], path: Path, *, name: str = "") -> None:
        name = name or products[0].query
        self._path = path
        self._fence = fence_name(name)
        self._tables = {
            relation: SqliteTable(table, rows_name(name, relation))
            for relation, table in relation_tables(products).items()
        }
        self._documents = {
            each.name: SqliteDocuments(each, documents_name(name, each.name)) for each in products
        }
        self._database = open_database(path)
        with self._told(), self._transaction():
            self._create()

    def begin(self, batch: Batch) -> bool:
        """Start a batch, or start it again; return whether it was acknowledged before."""
        with self._told():
            self._roll_back()
            self._claim(batch)
            self._database.execute("BEGIN IMMEDIATE")
            if self._acknowledged(batch):
                self._roll_back()
                return True
            return False

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`."""
        with self._told():
            return self._tables[relation].rows(self._database, keys)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        with self._told():
            return self._tables[relation].matching(self._database, columns, values)

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Leave it to the transaction: a batch that ends early writes nothing."""

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return nothing, since an earlier try left nothing."""
        return {}

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys."""
        with self._told():
            self._tables[relation].write(self._database, rows)

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sinks hold of `roots`."""
        with self._told():
            return self._documents[product].sent(self._database, roots)

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch: all of it is there from now on."""
        with self._told():
            for product, each in emitted.items():
                self._documents[product].acknowledge(self._database, batch.number, each)
            self._database.execute(
                f"UPDATE {quoted(self._fence)} SET query_id = ?, number = ?",
                (batch.query_id, batch.number),
            )
            self._database.execute("COMMIT")

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""
        with self._told():
            return {
                product: documents.emitted(self._database, batch.number)
                for product, documents in self._documents.items()
            }

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and roots that went, before a time."""
        with self._told(), self._transaction():
            for table in self._tables.values():
                table.forget(self._database, before_us)
            for documents in self._documents.values():
                documents.forget(self._database, before_us)

    def close(self) -> None:
        """Close the file; a batch that was begun is as if it had not been."""
        self._database.close()

    def _create(self) -> None:
        standing = columns_of_table(self._database, self._fence)
        if standing and tuple(standing) != _FENCE_COLUMNS:
            raise foreign_table(self._fence, f"Its columns are {', '.join(standing)}.")
        self._database.execute(
            f"CREATE TABLE IF NOT EXISTS {quoted(self._fence)}"
            " (id INTEGER PRIMARY KEY, owner TEXT, epoch INTEGER, query_id TEXT, number INTEGER)"
        )
        self._database.execute(f"INSERT OR IGNORE INTO {quoted(self._fence)} (id) VALUES (0)")
        for table in self._tables.values():
            table.create(self._database)
        for documents in self._documents.values():
            documents.create(self._database)

    def _claim(self, batch: Batch) -> None:
        """Note who writes, in a transaction of its own: it stands even if the batch does not."""
        with self._transaction():
            fence = quoted(self._fence)
            owner, epoch = self._database.execute(f"SELECT owner, epoch FROM {fence}").fetchone()
            check_claim(batch, owner, epoch, str(self._path))
            if (owner, epoch) != (batch.query_id, batch.epoch):
                self._database.execute(
                    f"UPDATE {fence} SET owner = ?, epoch = ?", (batch.query_id, batch.epoch)
                )

    def _acknowledged(self, batch: Batch) -> bool:
        """Return whether a batch is the last one; empty the tables for a new checkpoint."""
        query_id, number = self._database.execute(
            f"SELECT query_id, number FROM {quoted(self._fence)}"
        ).fetchone()
        if query_id == batch.query_id:
            return is_last(batch, number, str(self._path))
        for table in self._tables.values():
            table.clear(self._database)
        for documents in self._documents.values():
            documents.unsend(self._database)
        return False

    def _roll_back(self) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise failure(error, self._path) from error
