"""Join state in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

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
from joinery.solutions.relational.sqlite_database import (
    columns_of_table,
    failure,
    open_database,
    open_to_read,
)
from joinery.solutions.relational.sqlite_documents import SqliteDocuments
from joinery.solutions.relational.sqlite_table import SqliteTable
from joinery.solutions.relational.state import RelationalReader, RelationalState
from joinery.solutions.stored.owner import NOBODY, Owner

_FENCE_COLUMNS = ("id", "owner", "epoch", "query_id", "number")
_PROJECT = "project"


class SqliteState(RelationalState[sqlite3.Connection]):
    """The rows and documents of the products of one query.

    Args:
        products: They share the tables of their relations.
        path: The file; created where it is missing.
        name: Leads the names of the tables, so that queries can share a file.
        owner: Who keeps join state here.
    """

    _BEGIN = "BEGIN IMMEDIATE"
    _LOCK = ""
    _PARAMETERS = ("?", "?")

    def __init__(
        self, products: Sequence[Product], path: Path, *, name: str = "", owner: Owner = NOBODY
    ) -> None:
        name = name or products[0].query
        self._path = path
        self._fence_table = fence_name(name)
        super().__init__(
            open_database(path),
            str(path),
            fence=quoted(self._fence_table),
            owner=owner,
            elsewhere='Name another "database" in the solution\'s options',
            tables=_row_tables(products, name),
            documents=_document_tables(products, name),
        )

    def _create_fence(self) -> None:
        standing = columns_of_table(self._link, self._fence_table)
        if standing and tuple(each for each in standing if each != _PROJECT) != _FENCE_COLUMNS:
            raise foreign_table(self._fence_table, f"Its columns are {', '.join(standing)}.")
        self._link.execute(
            f"CREATE TABLE IF NOT EXISTS {self._fence}"
            " (id INTEGER PRIMARY KEY, owner TEXT, epoch INTEGER, query_id TEXT, number INTEGER,"
            f" {_PROJECT} TEXT)"
        )
        if standing and _PROJECT not in standing:
            self._link.execute(f"ALTER TABLE {self._fence} ADD COLUMN {_PROJECT} TEXT")
        self._link.execute(f"INSERT OR IGNORE INTO {self._fence} (id) VALUES (0)")

    def _in_transaction(self) -> bool:
        return self._link.in_transaction

    def _told(self) -> AbstractContextManager[None]:
        return _told(self._path)


def sqlite_reader(
    products: Sequence[Product], path: Path, name: str
) -> RelationalReader[sqlite3.Connection]:
    """Open what a `SqliteState` of the same products and name keeps in a file, to be read."""
    return RelationalReader(
        open_to_read(path),
        partial(_told, path),
        tables=_row_tables(products, name),
        documents=_document_tables(products, name),
    )


def _row_tables(products: Sequence[Product], name: str) -> dict[str, SqliteTable]:
    tables = relation_tables(products).items()
    return {each: SqliteTable(table, rows_name(name, each)) for each, table in tables}


def _document_tables(products: Sequence[Product], name: str) -> dict[str, SqliteDocuments]:
    tables = {each.name: documents_name(name, each.name) for each in products}
    return {
        each.name: SqliteDocuments(each, tables[each.name], pending_name(name, each.name))
        for each in products
    }


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise failure(error, path) from error
