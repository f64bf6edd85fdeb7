"""Join state in PostgreSQL: a table a relation, a table a product's documents.

A batch is one transaction, from `begin` to `acknowledge`, so that one which ended before has
left nothing, and needs no marks.

Invariant: rows, documents and (query id, number) change together or not at all; a lower epoch
is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from joinery.connect.postgres_link import shown
from joinery.connect.postgres_server import database_errors
from joinery.model.change import Row
from joinery.plan.nodes import Product
from joinery.solutions.relational.fence import check_claim, foreign_table, is_last
from joinery.solutions.relational.layout import (
    documents_name,
    fence_name,
    relation_tables,
    rows_name,
)
from joinery.solutions.relational.postgres_database import (
    check_names,
    columns_of_table,
    failure,
    open_database,
    quoted,
)
from joinery.solutions.relational.postgres_documents import PostgresDocuments
from joinery.solutions.relational.postgres_table import PostgresTable
from joinery.solutions.store import Batch, Emitted, JoinValue, Key, SentDocument, StoredRow

_FENCE = {
    "id": "integer",
    "owner": "text",
    "epoch": "bigint",
    "query_id": "text",
    "number": "bigint",
    "escaped": "boolean",
}


class PostgresState:
    """The rows and documents of the products of one query.

    Args:
        products: They share the tables of their relations.
        url: `postgresql://…`, or what else libpq takes.
        schema: Of the tables; created where it is missing.
        name: Leads the names of the tables, so that queries can share a schema.
    """

    def __init__(
        self, products: Sequence[Product], url: str, *, schema: str = "joinery", name: str = ""
    ) -> None:
        name = name or products[0].query
        self._url, self._place = url, shown(url)
        self._fence = fence_name(name)
        self._tables = {
            relation: PostgresTable(table, rows_name(name, relation))
            for relation, table in relation_tables(products).items()
        }
        self._documents = {
            each.name: PostgresDocuments(each, documents_name(name, each.name)) for each in products
        }
        check_names([schema, self._fence])
        self._connection = open_database(url, schema)
        try:
            with self._told(), self._transaction():
                self._create()
        except BaseException:
            self.close()
            raise

    def begin(self, batch: Batch) -> bool:
        """Start a batch, or start it again; return whether it was acknowledged before."""
        with self._told():
            self._roll_back()
            self._claim(batch)
            self._connection.execute("BEGIN")
            if self._acknowledged(batch):
                self._roll_back()
                return True
            return False

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`."""
        with self._told():
            return self._tables[relation].rows(self._connection, keys)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        with self._told():
            return self._tables[relation].matching(self._connection, columns, values)

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Leave it to the transaction: a batch that ends early writes nothing."""

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return nothing, since an earlier try left nothing."""
        return {}

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys."""
        with self._told():
            if self._tables[relation].write(self._connection, rows):
                self._note_escaped()

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sinks hold of `roots`."""
        with self._told():
            return self._documents[product].sent(self._connection, roots)

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch: all of it is there from now on."""
        with self._told():
            for product, each in emitted.items():
                if self._documents[product].acknowledge(self._connection, batch.number, each):
                    self._note_escaped()
            self._connection.execute(
                f"UPDATE {quoted(self._fence)} SET query_id = $1, number = $2",
                [batch.query_id, batch.number],
            )
            self._connection.execute("COMMIT")

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""
        with self._told():
            return {
                product: documents.emitted(self._connection, batch.number)
                for product, documents in self._documents.items()
            }

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and roots that went, before a time."""
        with self._told(), self._transaction():
            for table in self._tables.values():
                table.forget(self._connection, before_us)
            for documents in self._documents.values():
                documents.forget(self._connection, before_us)

    def close(self) -> None:
        """Close the connection; a batch that was begun is as if it had not been."""
        self._connection.close()

    def _create(self) -> None:
        # One at a time, since two that create a table at once make one of them fail.
        self._connection.execute("SELECT pg_advisory_xact_lock(hashtext('joinery'), 0)")
        standing = columns_of_table(self._connection, self._fence)
        if standing and standing != _FENCE:
            raise foreign_table(self._fence, f"Its columns are {', '.join(standing)}.")
        typed = ", ".join(f"{name} {type}" for name, type in _FENCE.items())
        fence = quoted(self._fence)
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS {fence} ({typed}, PRIMARY KEY (id))")
        self._connection.execute(
            f"INSERT INTO {fence} (id, escaped) VALUES (0, FALSE) ON CONFLICT DO NOTHING"
        )
        for table in self._tables.values():
            table.create(self._connection)
        for documents in self._documents.values():
            documents.create(self._connection)

    def _claim(self, batch: Batch) -> None:
        """Note who writes, in a transaction of its own: it stands even if the batch does not."""
        with self._transaction():
            owner, epoch = self._one("owner, epoch")
            check_claim(batch, owner, epoch, self._place)
            if (owner, epoch) != (batch.query_id, batch.epoch):
                self._connection.execute(
                    f"UPDATE {quoted(self._fence)} SET owner = $1, epoch = $2",
                    [batch.query_id, batch.epoch],
                )

    def _acknowledged(self, batch: Batch) -> bool:
        """Return whether a batch is the last one; empty the tables for a new checkpoint."""
        owner, epoch, query_id, number, escaped = self._one(
            "owner, epoch, query_id, number, escaped"
        )
        check_claim(batch, owner, epoch, self._place)
        self._read_escaped(escaped)
        for documents in self._documents.values():
            documents.begin()
        if query_id == batch.query_id:
            return is_last(batch, number, self._place)
        for table in self._tables.values():
            table.clear(self._connection)
        for documents in self._documents.values():
            documents.unsend(self._connection)
        return False

    def _note_escaped(self) -> None:
        """Let texts be read back as they were, from now on."""
        self._read_escaped(True)
        self._connection.execute(f"UPDATE {quoted(self._fence)} SET escaped = TRUE")

    def _read_escaped(self, escaped: bool) -> None:
        for table in self._tables.values():
            table.escaped = escaped
        for documents in self._documents.values():
            documents.escaped = escaped

    def _one(self, columns: str) -> Any:
        """Return what the fence says, and keep others from changing it in this transaction."""
        asked = f"SELECT {columns} FROM {quoted(self._fence)} FOR UPDATE"
        return self._connection.execute(asked).fetchone()

    def _roll_back(self) -> None:
        from psycopg.pq import TransactionStatus

        if self._connection.info.transaction_status != TransactionStatus.IDLE:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if not self._connection.closed:
                self._roll_back()
            raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except database_errors() as error:
            raise failure(error, self._url) from error
