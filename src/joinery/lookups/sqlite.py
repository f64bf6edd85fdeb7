"""The lookup store sqlite: rows of a table, or of the documents that the sink sqlite keeps.

Limits: a key of type binary cannot be asked.

Invariant: the file is opened for reading only.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from joinery.clients.sql import quoted
from joinery.clients.sqlite import result_code
from joinery.errors import LookupOptionError
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    LookupUnavailableError,
)
from joinery.lookups.sql import Pool, TableColumns
from joinery.lookups.value import json_value
from joinery.model.type import BINARY
from joinery.project.option import Target, options, path_in, text

_WAIT_S = 10.0
_NOT_PLAIN = """
SELECT 1 FROM sqlite_master
WHERE name = ? COLLATE NOCASE AND (type <> 'table' OR sql LIKE '%COLLATE%')
"""
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN)


class SqliteStore:
    """Reads rows from a database file."""

    most_keys: int | None = None

    def __init__(self, table: LookupTable, path: Path, name: str) -> None:
        self._table = table
        self._path = path
        self._name = name
        self._pool = Pool(self._connect)
        self._columns: TableColumns | None = None
        self.target = f'sqlite {path.name}, table "{name}"'

    def open(self) -> None:
        """See that the table is there and has the columns."""
        if not self._path.exists():
            raise self._not_there(f"There is no file {self._path}.")
        try:
            with self._pool.lend() as link:
                found = link.execute(f"PRAGMA table_info({quoted(self._name)})").fetchall()
        except sqlite3.Error as error:
            raise self._told(error) from error
        if not found:
            raise self._not_there("The file has no such table.")
        self._columns = TableColumns(self._table, [row[1] for row in found], self.target)

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        """Return what stands under `keys`, found by the table's index on its key."""
        columns = self._standing()
        asked = json.dumps(
            [[json_value(value) for value in key] for key in keys], ensure_ascii=False
        )
        try:
            with self._pool.lend() as link:
                found = link.execute(self._statement(columns), (asked,)).fetchall()
        except sqlite3.Error as error:
            raise self._told(error) from error
        return {keys[place]: columns.row(values) for place, *values in found}

    def fetch_whole(self, most: int) -> Mapping[Key, Answer] | None:
        """Return all rows; None for a view, and where a column has a collation to compare by."""
        columns = self._standing()
        found = self._all(columns.read, most)
        return None if found is None else columns.rows(found)

    def fetch_keys(self, most: int) -> Collection[Key] | None:
        """Return all keys; None as for the whole table."""
        found = self._all((), most)
        return None if found is None else self._standing().keys(found)

    def _all(self, columns: Sequence[str], most: int) -> Sequence[Sequence[Any]] | None:
        """Return the key's columns and others of all rows."""
        names = [*(each.name for each in self._table.key), *columns]
        rows = f"SELECT {', '.join(map(quoted, names))} FROM {quoted(self._name)} LIMIT ?"
        try:
            with self._pool.lend() as link:
                if link.execute(_NOT_PLAIN, (self._name,)).fetchone():
                    return None
                found = link.execute(rows, (most + 1,)).fetchall()
        except sqlite3.Error as error:
            raise self._told(error) from error
        return None if len(found) > most else found

    def _standing(self) -> TableColumns:
        if self._columns is None:
            raise LookupStoreError(f"{self.target} is not open")
        return self._columns

    def close(self) -> None:
        """Close the file."""
        self._pool.close()

    def _connect(self) -> sqlite3.Connection:
        place = f"{self._path.as_uri()}?mode=ro"
        return sqlite3.connect(place, uri=True, timeout=_WAIT_S, check_same_thread=False)

    def _statement(self, columns: TableColumns) -> str:
        read = ", ".join(["k.key", *(f"t.{quoted(name)}" for name in columns.read)])
        same = " AND ".join(
            f"t.{quoted(each.name)} = json_extract(k.value, '$[{place}]')"
            for place, each in enumerate(self._table.key)
        )
        # CROSS JOIN keeps SQLite from reading the table first.
        return f"SELECT {read} FROM json_each(?) k CROSS JOIN {quoted(self._name)} t ON {same}"

    def _not_there(self, why: str) -> LookupUnavailableError:
        return LookupUnavailableError(
            f"{self.target} does not exist yet",
            detail=why,
            hint="Start what fills the table, or name another path or table.",
        )

    def _told(self, error: sqlite3.Error) -> LookupStoreError:
        passes = result_code(error) & 0xFF in _PASSING
        kind = LookupUnavailableError if passes else LookupStoreError
        return kind(f"could not read {self.target}", detail=f"{error}.")


@options
class SqliteOptions:
    """`{sqlite: {path: shop.db}}`; the table is the relation's name."""

    path: str = text("The database file.")
    table: str = text("The table; by default the relation's name.", default="")

    def make(self, table: LookupTable, folder: Path) -> SqliteStore:
        """Return the store of a table."""
        for each in table.key:
            if each.type == BINARY:
                raise LookupOptionError(
                    f'lookup store "sqlite" cannot look up key "{each.name}"',
                    detail="Its type is binary.",
                    hint="Use another store, or read: state.",
                )
        return SqliteStore(table, path_in(folder, self.path), self.table or table.name)

    def target(self, relation: str, folder: Path) -> Target:
        """Return the table."""
        return Target("sqlite", str(path_in(folder, self.path)), self.table or relation)
