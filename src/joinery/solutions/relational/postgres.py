"""Join state in PostgreSQL, whose texts hold no NUL: those that would are escaped.

The documents of one product in PostgreSQL: what its sinks hold, and what each batch sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from joinery.clients.postgres import database_errors, shown
from joinery.clients.sql import listed, quoted
from joinery.model.change import Key
from joinery.model.type import BOOLEAN, LONG, STRING, Field
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
from joinery.solutions.relational.postgres_database import (
    check_names,
    column_type,
    columns_of_table,
    copy_rows,
    escaped_cells,
    failure,
    found,
    from_cell,
    needs_escape,
    open_database,
    to_cell,
    unescaped_cells,
    upsert_rows,
)
from joinery.solutions.relational.postgres_table import PostgresTable
from joinery.solutions.relational.state import RelationalReader, RelationalState
from joinery.solutions.relational.value import Cells, probe_cells, rows_from
from joinery.solutions.stored.groups import stored_root
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import Batch, Emitted

if TYPE_CHECKING:
    from joinery.solutions.relational.postgres_database import Connection

_OWN = {
    "document": STRING,
    "version": LONG,
    "failing": BOOLEAN,
    "batch": LONG,
    "place": LONG,
    "reason": STRING,
    "detail": STRING,
}


class PostgresDocuments:
    """The table of one product: a row per root that was ever sent, by the root's key.

    `batch` and `place` tell which batch sent it last, and when in it; `reason` and `detail`
    stand where that batch made a dead letter of it instead. The roots that are work to do
    stand in a table of their own, `pending`.
    """

    def __init__(self, product: Product, name: str, pending: str) -> None:
        self.name, self._pending = name, pending
        self.escaped = False
        relation = stored_root(product).relation
        self._key = relation.key
        self._fields = [Field(each, relation.type_of(each)) for each in relation.key]
        self._own = [
            Field(f"joinery_{name}" if name in self._key else name, kind)
            for name, kind in _OWN.items()
        ]
        self._key_of = key_reader(relation)
        self._key_cells = probe_cells(self._fields, to_cell)
        self._keys = rows_from(self._fields, from_cell)
        self._known: tuple[set[Key], set[Key]] = (set(), set())
        check_names([name, pending, *self._key])

    def create(self, connection: Connection) -> None:
        """Create the table where it is missing.

        Raises:
            StoreError: A table of this name stands there with other columns.
        """
        standing = columns_of_table(connection, self.name)
        if standing and standing != {e.name: column_type(e.type) for e in self._all}:
            told = ", ".join(f"{name} {type}" for name, type in standing.items())
            raise foreign_table(self.name, f"Its columns are {told}.")
        typed = ", ".join(f"{quoted(e.name)} {column_type(e.type)}" for e in self._all)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {quoted(self.name)} ({typed},"
            f" PRIMARY KEY ({listed(self._key)})) WITH (fillfactor = 60)"
        )
        standing = columns_of_table(connection, self._pending)
        if standing and standing != {e.name: column_type(e.type) for e in self._fields}:
            raise foreign_table(self._pending, f"Its columns are {', '.join(standing)}.")
        typed = ", ".join(f"{quoted(e.name)} {column_type(e.type)}" for e in self._fields)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {quoted(self._pending)} ({typed})")

    def begin(self) -> None:
        """Forget which roots are known to be new."""
        self._known = (set(), set())

    def mark(self, connection: Connection, roots: Collection[Key]) -> None:
        """Remember roots, whose texts were escaped with their rows, as work to do."""
        self._clear_pending(connection)
        cells = self._key_cells(roots)
        if needs_escape(cells, self._fields):
            cells = [*map(escaped_cells, cells)]
        copy_rows(connection, quoted(self._pending), self._fields, cells)

    def pending(self, connection: Connection) -> set[Key]:
        """Return the roots that are work to do."""
        return self._keys_in(connection, self._pending)

    def keys(self, connection: Connection) -> set[Key]:
        """Return the keys of all roots that were ever sent."""
        return self._keys_in(connection, self.name)

    def _keys_in(self, connection: Connection, table: str) -> set[Key]:
        statement = f"SELECT {listed(self._key)} FROM {quoted(table)}"
        cells = connection.execute(statement, binary=True).fetchall()
        if self.escaped:
            cells = [*map(unescaped_cells, cells)]
        return set(map(self._key_of, self._keys(cells)))

    def sent(self, connection: Connection, roots: Collection[Key]) -> dict[Key, SentDocument]:
        """Return what the sinks hold of `roots`."""
        names = [*self._key, *(each.name for each in self._own[:3])]
        cells = found(connection, self.name, self._fields, self._key_cells(roots), names)
        if self.escaped:
            cells = [*map(unescaped_cells, cells)]
        held = {
            self._key_of(key): SentDocument(text, version, failing)
            for key, (*_, text, version, failing) in zip(self._keys(cells), cells, strict=True)
        }
        self._known[0].update(roots)
        self._known[1].update(held)
        return held

    def acknowledge(self, connection: Connection, number: int, emitted: Emitted) -> bool:
        """Store what a batch did; return whether texts were escaped."""
        asked, standing = self._known
        new: list[Cells] = []
        rest: list[Cells] = []
        for sent, batch in ((emitted.documents, number), (emitted.silent, None)):
            cells = zip(sent.items(), self._key_cells(sent), strict=True)
            for place, ((key, each), cell) in enumerate(cells):
                reason, detail = emitted.dead.get(key, (None, None))
                noted = number if reason else batch
                own = (each.text, each.version, each.failing, noted, place, reason, detail)
                (new if key in asked and key not in standing else rest).append((*cell, *own))
        escape = needs_escape([*new, *rest], self._all)
        if escape:
            new, rest = [*map(escaped_cells, new)], [*map(escaped_cells, rest)]
        copy_rows(connection, quoted(self.name), self._all, new)
        upsert_rows(connection, quoted(self.name), self._all, self._key, rest)
        self._clear_pending(connection)
        return escape

    def emitted(self, connection: Connection, number: int) -> Emitted:
        """Return what a batch did, if it was the last one."""
        batch, place = quoted(self._own[3].name), quoted(self._own[4].name)
        cells: list[Cells] = connection.execute(
            f"SELECT {listed(each.name for each in self._all)} FROM {quoted(self.name)}"
            f" WHERE {batch} = $1 ORDER BY {place}",
            [number],
            binary=True,
        ).fetchall()
        if self.escaped:
            cells = [*map(unescaped_cells, cells)]
        documents: dict[Key, SentDocument] = {}
        dead: dict[Key, tuple[str, str]] = {}
        for row, cell in zip(self._keys(cells), cells, strict=True):
            text, version, failing, _, _, reason, detail = cell[len(self._key) :]
            if reason is None:
                documents[self._key_of(row)] = SentDocument(text, version, failing)
            else:
                dead[self._key_of(row)] = (reason, detail)
        return Emitted(documents, dead)

    def forget(self, connection: Connection, before_us: int) -> None:
        """Forget roots that went before a time; a later version stands above theirs anyway."""
        document, version, failing = (quoted(each.name) for each in self._own[:3])
        connection.execute(
            f"DELETE FROM {quoted(self.name)}"
            f" WHERE {document} IS NULL AND {version} < $1 AND NOT {failing}",
            [before_us],
        )

    def unsend(self, connection: Connection) -> None:
        """Forget all documents, and keep their versions."""
        own = [quoted(each.name) for each in self._own]
        blank = ", ".join(f"{each} = NULL" for each in (own[0], *own[3:]))
        connection.execute(f"UPDATE {quoted(self.name)} SET {own[2]} = FALSE, {blank}")
        self._clear_pending(connection)

    def _clear_pending(self, connection: Connection) -> None:
        connection.execute(f"DELETE FROM {quoted(self._pending)}")

    @property
    def _all(self) -> list[Field]:
        return [*self._fields, *self._own]


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
        self._row_tables, self._document_tables = named_tables(products, schema, name)
        super().__init__(
            open_database(url, schema),
            shown(url),
            fence=quoted(self._fence_table),
            owner=owner,
            elsewhere='Name another "schema" in the solution\'s options',
            tables=self._row_tables,
            documents=self._document_tables,
        )

    def last_number(self, query_id: str) -> int | None:
        """Return the batch of a checkpoint that was acknowledged last; None where none was."""
        with self._told():
            self._learn()
        return super().last_number(query_id)

    def _define_alone(self) -> None:
        """Wait, within a transaction, for others that create tables or triggers.

        Two that create one at once make one of them fail.
        """
        self._link.execute("SELECT pg_advisory_xact_lock(hashtext('joinery'), 0)")

    def _create_fence(self) -> None:
        self._define_alone()
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
        """Learn how texts are to be read, before anything is."""
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


def named_tables(
    products: Sequence[Product], schema: str, name: str
) -> tuple[dict[str, PostgresTable], dict[str, PostgresDocuments]]:
    """Return the tables of rows and of documents of a query.

    Raises:
        StoreError: PostgreSQL cannot name one of them, or a column.
    """
    check_names([schema, fence_name(name)])
    return _row_tables(products, name), _document_tables(products, name)


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
