"""The sqlite sink: the current documents of one product as a table that SQL can query.

The table has the root key's columns, and either `document` (JSON text) and `version`, or a
column a field and `joinery_version`. A delete is remembered in `<table>__deleted`, so that an
older document cannot come back.

Invariant: documents, the memory of deletes and (query id, batch id, epoch) change in one
transaction, and a lower epoch is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from joinery.connect.guarantee import Guarantee
from joinery.connect.key import key_object
from joinery.connect.line import read_rows
from joinery.connect.option import SinkOptionError, check_names, path_option, text_option
from joinery.connect.protocol import (
    FencedError,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Written,
)
from joinery.connect.sqlite_table import Mode, SqliteTable, quoted_name

_FENCE = """CREATE TABLE IF NOT EXISTS joinery_batches (
    table_name TEXT, query_id TEXT, batch_id INTEGER NOT NULL, epoch INTEGER NOT NULL,
    PRIMARY KEY (table_name, query_id))"""
_MODES = ("document", "columns")
_WAIT_S = 30.0
_GUARANTEE = Guarantee(
    summary="The table holds the newest document of each key; a batch is one transaction.",
)


class SqliteSink:
    """Keeps the newest document of each key."""

    guarantee = _GUARANTEE

    def __init__(self, path: Path, table: str, mode: Mode = "document") -> None:
        self.target = f"sqlite {path}, table {table}"
        self._path = path
        self._table = table
        self._mode: Mode = mode
        self._database: sqlite3.Connection | None = None
        self._prepared_table: SqliteTable | None = None

    def open(self) -> None:
        """Open the database file, creating it where it is missing."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute(_FENCE)
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def write(self, batch: StagedBatch) -> Written:
        """Apply `batch` in one transaction."""
        if self._database is None:
            raise SinkError(f'sink "sqlite" for table "{self._table}" is not open')
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._apply(self._database, batch)
                batch.check()
                self._database.execute("COMMIT")
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return Written()

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys of all documents in the table."""
        if self._database is not None:
            self._prepared(self._database, batch)
            columns = ", ".join(quoted_name(each.name) for each in batch.key.fields)
            place = quoted_name(self._table)
            for values in self._database.execute(f"SELECT {columns} FROM {place}"):
                yield key_object(batch.key, values)

    def close(self) -> None:
        """Close the database file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _apply(self, database: sqlite3.Connection, batch: StagedBatch) -> None:
        table = self._prepared(database, batch)
        self._fence(database, batch)
        names = [each.name for each in batch.key.fields]
        gone: list[tuple[object, ...]] = []
        database.executemany(table.upsert, _upserts(batch, names, gone))
        database.executemany(table.delete, gone)
        database.executemany(table.remember, gone)

    def _prepared(self, database: sqlite3.Connection, batch: StagedBatch) -> SqliteTable:
        if self._prepared_table is None:
            table = SqliteTable(self._table, key=batch.key, value=batch.value, mode=self._mode)
            table.create(database)
            self._prepared_table = table
        return self._prepared_table

    def _fence(self, database: sqlite3.Connection, batch: StagedBatch) -> None:
        place = (self._table, batch.query_id)
        stood = database.execute(
            "SELECT epoch FROM joinery_batches WHERE table_name = ? AND query_id = ?", place
        ).fetchone()
        if stood and stood[0] > batch.epoch:
            raise FencedError(f'another run of "{batch.query}" writes table "{self._table}"')
        database.execute(
            "INSERT OR REPLACE INTO joinery_batches VALUES (?, ?, ?, ?)",
            (*place, batch.batch_id, batch.epoch),
        )

    def _failed(self, error: Exception) -> SinkError:
        kind = SinkUnavailableError if _passing(error) else SinkError
        return kind(
            f'could not write table "{self._table}" of {self._path}',
            detail=f"{error}.",
            hint="Free the database file or the disk, then start the run again.",
        )


def sqlite_sink(product: str, options: Mapping[str, object], folder: Path) -> SqliteSink:
    """Make the sink `{sqlite: {path: …, table: …, mode: …}}`; the table is the product's name.

    Raises:
        SinkOptionError: An option is missing, or is not what it should be.
    """
    check_names("sqlite", options, ("path", "table", "mode"))
    table = text_option("sqlite", options, "table", product)
    mode = text_option("sqlite", options, "mode", "document")
    if mode not in _MODES:
        raise SinkOptionError(f'option "mode" of sink "sqlite" is none of {", ".join(_MODES)}')
    return SqliteSink(path_option("sqlite", options, folder), table, cast(Mode, mode))


def _upserts(
    batch: StagedBatch, names: list[str], gone: list[tuple[object, ...]]
) -> Iterator[tuple[object, ...]]:
    """Yield the parameters of each upsert; put those of the tombstones into `gone`."""
    for row in read_rows(batch.files):
        key = row.key_values()
        values = tuple(_stored(key[name]) for name in names)
        if row.value is None:
            gone.append((*values, row.version))
        else:
            yield (*values, row.value, row.version)


def _stored(value: object) -> object:
    return value if isinstance(value, str | int | float) else str(value)


def _passing(error: Exception) -> bool:
    """Return whether waiting may help: another writer holds the file, or the disk is full."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)
