"""Join state in PostgreSQL, whose texts hold no NUL: those that would are escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from joinery.clients.postgres import database_errors, shown
from joinery.clients.sql import quoted
from joinery.plan.nodes import Product
from joinery.solutions.relational.fence import foreign_table
from joinery.solutions.relational.layout import (
    documents_name,
    fence_name,
    pending_name,
    relation_tables,
    rows_name,
)
from joinery.solutions.relational.postgres_database import (
    check_names,
    columns_of_table,
    failure,
    open_database,
)
from joinery.solutions.relational.postgres_documents import PostgresDocuments
from joinery.solutions.relational.postgres_table import PostgresTable
from joinery.solutions.relational.state import RelationalReader, RelationalState
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import Batch

_FENCE = {
    "id": "integer",
    "owner": "text",
    "epoch": "bigint",
    "query_id": "text",
    "number": "bigint",
    "escaped": "boolean",
}
_PROJECT = "project"


class PostgresState(RelationalState[Any]):
    """The rows and documents of the products of one query.

    Args:
        products: They share the tables of their relations.
        url: `postgresql://…`, or what else libpq takes.
        schema: Of the tables; created where it is missing.
        name: Leads the names of the tables, so that queries can share a schema.
        owner: Who keeps join state here.
    """

    _BEGIN = "BEGIN"
    _LOCK = " FOR UPDATE"
    _PARAMETERS = ("$1", "$2")
    _escaped = False

    def __init__(
        self,
        products: Sequence[Product],
        url: str,
        *,
        schema: str = "joinery",
        name: str = "",
        owner: Owner = NOBODY,
    ) -> None:
        name = name or products[0].query
        self._url = url
        self._fence_table = fence_name(name)
        self._row_tables = _row_tables(products, name)
        self._document_tables = _document_tables(products, name)
        check_names([schema, self._fence_table])
        super().__init__(
            open_database(url, schema),
            shown(url),
            fence=quoted(self._fence_table),
            owner=owner,
            elsewhere='Name another "schema" in the solution\'s options',
            tables=self._row_tables,
            documents=self._document_tables,
        )

    def _create_fence(self) -> None:
        # One at a time, since two that create a table at once make one of them fail.
        self._link.execute("SELECT pg_advisory_xact_lock(hashtext('joinery'), 0)")
        standing = columns_of_table(self._link, self._fence_table)
        if standing and {**standing, _PROJECT: "text"} != {**_FENCE, _PROJECT: "text"}:
            raise foreign_table(self._fence_table, f"Its columns are {', '.join(standing)}.")
        typed = ", ".join(f"{name} {type}" for name, type in _FENCE.items())
        self._link.execute(f"CREATE TABLE IF NOT EXISTS {self._fence} ({typed}, PRIMARY KEY (id))")
        if _PROJECT not in standing:
            self._link.execute(f"ALTER TABLE {self._fence} ADD COLUMN {_PROJECT} text")
        self._link.execute(
            f"INSERT INTO {self._fence} (id, escaped) VALUES (0, FALSE) ON CONFLICT DO NOTHING"
        )

    def _acknowledged(self, batch: Batch) -> bool:
        self._learn()
        return super()._acknowledged(batch)

    def _learn(self) -> None:
        """Learn how texts are to be read, at the start of a batch."""
        (escaped,) = self._one("escaped")
        self._read_escaped(escaped)
        for documents in self._document_tables.values():
            documents.begin()

    def _note(self, written: object) -> None:
        """Let texts be read back as they were from now on, if some were escaped just now."""
        if written:
            self._read_escaped(True)
            self._link.execute(f"UPDATE {self._fence} SET escaped = TRUE")

    def _read_escaped(self, escaped: bool) -> None:
        self._escaped = escaped
        _read_escaped(escaped, self._row_tables, self._document_tables)

    def _shared(self) -> object:
        """Return which batch it is, and how texts are to be read."""
        return super()._shared(), self._escaped

    def _in_transaction(self) -> bool:
        from psycopg.pq import TransactionStatus

        if self._link.closed:
            return False
        return bool(self._link.info.transaction_status != TransactionStatus.IDLE)

    def _told(self) -> AbstractContextManager[None]:
        return _told(self._url)


def postgres_reader(
    products: Sequence[Product], url: str, *, schema: str, name: str
) -> RelationalReader[Any]:
    """Open what a `PostgresState` of the same products and name keeps, to be read."""
    rows, documents = _row_tables(products, name), _document_tables(products, name)

    def learn(shared: tuple[int, bool]) -> None:
        _read_escaped(shared[1], rows, documents)
        for each in documents.values():
            each.begin()

    link = open_database(url, schema)
    told = partial(_told, url)
    return RelationalReader(link, told, tables=rows, documents=documents, learn=learn)


def _row_tables(products: Sequence[Product], name: str) -> dict[str, PostgresTable]:
    tables = relation_tables(products).items()
    return {each: PostgresTable(table, rows_name(name, each)) for each, table in tables}


def _document_tables(products: Sequence[Product], name: str) -> dict[str, PostgresDocuments]:
    tables = {each.name: documents_name(name, each.name) for each in products}
    return {
        each.name: PostgresDocuments(each, tables[each.name], pending_name(name, each.name))
        for each in products
    }


def _read_escaped(
    escaped: bool, rows: Mapping[str, PostgresTable], documents: Mapping[str, PostgresDocuments]
) -> None:
    for table in rows.values():
        table.escaped = escaped
    for each in documents.values():
        each.escaped = escaped


@contextmanager
def _told(url: str) -> Iterator[None]:
    try:
        yield
    except database_errors() as error:
        raise failure(error, url) from error
