"""The lookup store postgres: rows of a table, or of the documents that the sink postgres keeps.

Keys go as one array a key column, cast to the column's own type, so that the table's index
finds them. It is named without its length, as `bpchar`: `character` alone is one of length 1.

Invariant: names stand in statements as quoted identifiers, values as parameters only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.clients.postgres import connect, database_errors, failure, refuses_document, shown
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    LookupUnavailableError,
    as_lookup,
)
from joinery.lookups.sql import Pool, TableColumns
from joinery.lookups.value import RowReader
from joinery.project.option import Target, options, text
from joinery.sinks.protocol import SinkError

if TYPE_CHECKING:
    import psycopg

_TIMEOUT_S = 30
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, -1)
FROM pg_attribute a
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
"""
_PLAIN = "SELECT 1 FROM pg_class WHERE oid = to_regclass(%s) AND relkind IN ('r', 'p', 'm')"


class PostgresStore:
    """Reads rows from a table or a view."""

    most_keys: int | None = None

    def __init__(self, table: LookupTable, url: str, schema: str, name: str) -> None:
        self._table = table
        self._url = url
        self._name = ".".join(_quoted(part) for part in (schema, name) if part)
        self._pool = Pool(self._connect)
        self._key = RowReader(table.key)
        self._columns: TableColumns | None = None
        self._statement = ""
        self.target = f'postgres {shown(url)}, table "{name}"'

    def open(self) -> None:
        """Connect, and see that the table is there and has the columns."""
        with self._pool.lend() as link:
            types = {
                str(name): str(type) for name, type in self._ask(link, _COLUMNS, (self._name,))
            }
        if not types:
            raise LookupUnavailableError(
                f"{self.target} does not exist yet",
                detail="The database has no such table in its search path.",
                hint="Start what fills the table, or name another schema or table.",
            )
        self._columns = TableColumns(self._table, types, self.target)
        self._statement = self._written(self._columns, types)

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        """Return what stands under `keys`; one that its column cannot hold has no row."""
        with self._pool.lend() as link:
            return self._fetch(link, keys)

    def fetch_whole(self, most: int) -> Mapping[Key, Answer] | None:
        """Return all rows, by a statement that stops at one too many; None for a view.

        A view that answers keys from an index may have to be computed whole.
        """
        columns = self._standing()
        found = self._all(columns.read, most)
        return None if found is None else columns.rows(found)

    def fetch_keys(self, most: int) -> Collection[Key] | None:
        """Return all keys; None as for the whole table."""
        found = self._all((), most)
        return None if found is None else self._standing().keys(found)

    def _all(self, columns: Sequence[str], most: int) -> list[tuple[Any, ...]] | None:
        """Return the key's columns and others of all rows."""
        names = [*(each.name for each in self._table.key), *columns]
        rows = f"SELECT {', '.join(map(_quoted, names))} FROM {self._name} LIMIT %s"
        with self._pool.lend() as link:
            if not self._ask(link, _PLAIN, (self._name,)):
                return None
            found = self._ask(link, rows, (most + 1,))
        return None if len(found) > most else found

    def _standing(self) -> TableColumns:
        if self._columns is None:
            raise LookupStoreError(f"{self.target} is not open")
        return self._columns

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _fetch(
        self, link: psycopg.Connection[tuple[Any, ...]], keys: Sequence[Key]
    ) -> dict[Key, Answer]:
        columns = self._standing()
        parameters = tuple([key[place] for key in keys] for place in range(len(self._table.key)))
        try:
            found = link.execute(self._statement, parameters).fetchall()
        except database_errors() as error:
            if not refuses_document(error):
                raise self._told(error) from error
            if len(keys) == 1:
                return {}
            middle = len(keys) // 2
            return self._fetch(link, keys[:middle]) | self._fetch(link, keys[middle:])
        width = len(self._table.key)
        answers: dict[Key, Answer] = {}
        for values in found:
            key = self._key.ordered(values[:width])
            if isinstance(key, tuple):
                answers[key] = columns.row(values[width:])
        return answers

    def _written(self, columns: TableColumns, types: Mapping[str, str]) -> str:
        key = [each.name for each in self._table.key]
        read = ", ".join(f"t.{_quoted(name)}" for name in [*key, *columns.read])
        arrays = [f"%s::{types[name]}[]" for name in key]
        if len(key) == 1:
            return f"SELECT {read} FROM {self._name} t WHERE t.{_quoted(key[0])} = ANY({arrays[0]})"
        same = " AND ".join(f"t.{_quoted(name)} = k.key{place}" for place, name in enumerate(key))
        names = ", ".join(f"key{place}" for place in range(len(key)))
        asked = f"unnest({', '.join(arrays)}) AS k({names})"
        return f"SELECT {read} FROM {asked} JOIN {self._name} t ON {same}"

    def _ask(
        self,
        link: psycopg.Connection[tuple[Any, ...]],
        statement: str,
        values: Sequence[Any] | None,
    ) -> list[tuple[Any, ...]]:
        try:
            done = link.execute(statement, values)
            return done.fetchall() if done.description else []
        except database_errors() as error:
            raise self._told(error) from error

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            link = connect(self._url)
        except SinkError as error:
            raise as_lookup(error) from error
        link.autocommit = True
        self._ask(link, f"SET statement_timeout = '{_TIMEOUT_S}s'", None)
        self._ask(link, "SET extra_float_digits = 3", None)  # else a server may round doubles
        return link

    def _told(self, error: Exception) -> LookupStoreError:
        return as_lookup(failure(error, self._url, "could not read from"))


@options
class PostgresOptions:
    """`{postgres: {url: postgresql://…}}`; the table is the relation's name."""

    url: str = text(
        "The database.", examples=["postgresql://user:password@host:5432/name"], secret=True
    )
    table: str = text("The table or view; by default the relation's name.", default="")
    schema: str = text("The table's schema; by default the first of the search path.", default="")

    def make(self, table: LookupTable, folder: Path) -> PostgresStore:
        """Return the store of a table."""
        return PostgresStore(table, self.url, self.schema, self.table or table.name)

    def target(self, relation: str, folder: Path) -> Target:
        """Return the table."""
        return Target("postgres", (self.url, self.schema), self.table or relation)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'
