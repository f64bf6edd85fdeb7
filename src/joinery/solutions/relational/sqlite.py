"""Join state in a SQLite file.

The documents of one product in SQLite: what its sinks hold, and what each batch sent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from joinery.clients.sql import listed, quoted
from joinery.model.change import Key
from joinery.plan.product import Product
from joinery.semantics.document import SentDocument
from joinery.semantics.row_key import key_reader
from joinery.solutions.relational.fence import foreign_table
from joinery.solutions.relational.layout import (
    documents_name,
    fence_name,
    pending_name,
    relation_tables,
    rows_name,
)
from joinery.solutions.relational.sqlite_database import (
    check_names,
    columns_of_table,
    declared_type,
    failure,
    found,
    from_cell,
    insert_rows,
    open_database,
    open_to_read,
    to_cell,
)
from joinery.solutions.relational.sqlite_table import SqliteTable
from joinery.solutions.relational.state import RelationalReader, RelationalState
from joinery.solutions.relational.value import Cells, probe_cells, rows_from
from joinery.solutions.stored.groups import stored_root
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import Emitted

_OWN = ("document", "version", "failing", "batch", "place", "reason", "detail")
_TYPES = ("TEXT", "INTEGER NOT NULL", "BOOLEAN NOT NULL", "INTEGER", "INTEGER", "TEXT", "TEXT")


class SqliteDocuments:
    """The table of one product: a row per root that was ever sent, by the root's key.

    `batch` and `place` tell which batch sent it last, and when in it; `reason` and `detail`
    stand where that batch made a dead letter of it instead. The roots that are work to do
    stand in a table of their own, `pending`.
    """

    def __init__(self, product: Product, name: str, pending: str) -> None:
        self.name, self._pending = name, pending
        relation = stored_root(product).relation
        self._key = relation.key
        self._fields = [each for each in relation.columns if each.name in relation.key]
        self._fields.sort(key=lambda each: relation.key.index(each.name))
        self._own = [each if each not in relation.key else f"joinery_{each}" for each in _OWN]
        self._key_of = key_reader(relation)
        self._key_cells = probe_cells(self._fields, to_cell)
        self._keys = rows_from(self._fields, from_cell)

    def create(self, database: sqlite3.Connection) -> None:
        """Create the table where it is missing.

        Raises:
            StoreError: A table of this name stands there with other columns.
        """
        key = [f"{quoted(each.name)} {declared_type(each.type)}".rstrip() for each in self._fields]
        typed = [*key, *(f"{quoted(n)} {type}" for n, type in zip(self._own, _TYPES, strict=True))]
        standing = columns_of_table(database, self.name)
        if standing and set(standing) != {*self._key, *self._own}:
            raise foreign_table(self.name, f"Its columns are {', '.join(standing)}.")
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {quoted(self.name)} ({', '.join(typed)},"
            f" PRIMARY KEY ({listed(self._key)})) WITHOUT ROWID"
        )
        standing = columns_of_table(database, self._pending)
        if standing and set(standing) != set(self._key):
            raise foreign_table(self._pending, f"Its columns are {', '.join(standing)}.")
        database.execute(f"CREATE TABLE IF NOT EXISTS {quoted(self._pending)} ({', '.join(key)})")

    def mark(self, database: sqlite3.Connection, roots: Collection[Key]) -> None:
        """Remember roots as work to do."""
        self._clear_pending(database)
        insert = f"INSERT INTO {quoted(self._pending)} ({listed(self._key)})"
        insert_rows(database, insert, self._key_cells(roots))

    def pending(self, database: sqlite3.Connection) -> set[Key]:
        """Return the roots that are work to do."""
        cells = database.execute(f"SELECT {listed(self._key)} FROM {quoted(self._pending)}")
        return set(map(self._key_of, self._keys(cells.fetchall())))

    def keys(self, database: sqlite3.Connection) -> set[Key]:
        """Return the keys of all roots that were ever sent."""
        cells = database.execute(f"SELECT {listed(self._key)} FROM {quoted(self.name)}")
        return set(map(self._key_of, self._keys(cells.fetchall())))

    def sent(self, database: sqlite3.Connection, roots: Collection[Key]) -> dict[Key, SentDocument]:
        """Return what the sinks hold of `roots`."""
        names = [*self._key, *self._own[:3]]
        cells = found(database, self.name, self._key, self._key_cells(roots), names)
        return {
            self._key_of(key): SentDocument(text, version, bool(failing))
            for key, (*_, text, version, failing) in zip(self._keys(cells), cells, strict=True)
        }

    def acknowledge(self, database: sqlite3.Connection, number: int, emitted: Emitted) -> None:
        """Store what a batch did."""
        names = [*self._key, *self._own]
        changed = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in self._own)
        insert_rows(
            database,
            f"INSERT INTO {quoted(self.name)} ({listed(names)})",
            list(self._written(number, emitted)),
            f" ON CONFLICT ({listed(self._key)}) DO UPDATE SET {changed}",
        )
        self._clear_pending(database)

    def emitted(self, database: sqlite3.Connection, number: int) -> Emitted:
        """Return what a batch did, if it was the last one."""
        own = [quoted(each) for each in self._own]
        cells = database.execute(
            f"SELECT {listed(self._key)}, {', '.join(own)} FROM {quoted(self.name)}"
            f" WHERE {own[3]} = ? ORDER BY {own[4]}",
            (number,),
        ).fetchall()
        documents: dict[Key, SentDocument] = {}
        dead: dict[Key, tuple[str, str]] = {}
        for row, cell in zip(self._keys(cells), cells, strict=True):
            text, version, failing, _, _, reason, detail = cell[len(self._key) :]
            if reason is None:
                documents[self._key_of(row)] = SentDocument(text, version, bool(failing))
            else:
                dead[self._key_of(row)] = (reason, detail)
        return Emitted(documents, dead)

    def forget(self, database: sqlite3.Connection, before_us: int) -> None:
        """Forget roots that went before a time; a later version stands above theirs anyway."""
        document, version, failing = map(quoted, self._own[:3])
        database.execute(
            f"DELETE FROM {quoted(self.name)}"
            f" WHERE {document} IS NULL AND {version} < ? AND NOT {failing}",
            (before_us,),
        )

    def unsend(self, database: sqlite3.Connection) -> None:
        """Forget all documents, and keep their versions."""
        own = [quoted(each) for each in self._own]
        blank = ", ".join(f"{each} = NULL" for each in (own[0], *own[3:]))
        database.execute(f"UPDATE {quoted(self.name)} SET {own[2]} = FALSE, {blank}")
        self._clear_pending(database)

    def _clear_pending(self, database: sqlite3.Connection) -> None:
        database.execute(f"DELETE FROM {quoted(self._pending)}")

    def _written(self, number: int, emitted: Emitted) -> Iterator[Cells]:
        for sent, batch in ((emitted.documents, number), (emitted.silent, None)):
            cells = zip(sent.items(), self._key_cells(sent), strict=True)
            for place, ((key, each), cell) in enumerate(cells):
                reason, detail = emitted.dead.get(key, (None, None))
                noted = number if reason else batch
                yield (*cell, each.text, each.version, each.failing, noted, place, reason, detail)


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
        tables, documents = named_tables(products, name)
        super().__init__(
            open_database(path),
            str(path),
            fence=quoted(self._fence_table),
            owner=owner,
            elsewhere='Name another "database" in the solution\'s options',
            tables=tables,
            documents=documents,
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


def named_tables(
    products: Sequence[Product], name: str
) -> tuple[dict[str, SqliteTable], dict[str, SqliteDocuments]]:
    """Return the tables of rows and of documents of a query.

    Raises:
        StoreError: SQLite cannot tell two of them, or of their columns, apart.
    """
    tables, documents = _row_tables(products, name), _document_tables(products, name)
    rows = [each.name for each in tables.values()]
    check_names([fence_name(name), *rows, *(each.name for each in documents.values())])
    return tables, documents


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
