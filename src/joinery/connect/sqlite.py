"""The sqlite sink: the current documents of one product as a table that SQL can query.

The table has the root key's columns, `document` (JSON text) and `version`. A delete is
remembered in `<table>__deleted`, so that an older document cannot come back.

Invariant: documents, the memory of deletes and (query id, batch id, epoch) change in one
transaction, and a lower epoch is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from joinery.connect.guarantee import Guarantee
from joinery.connect.key import key_object
from joinery.connect.line import read_rows
from joinery.connect.option import check_names, path_option, text_option
from joinery.connect.protocol import (
    FencedError,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Written,
)
from joinery.model.type import Atomic, DataType, Struct

_AFFINITY = {
    **dict.fromkeys(("boolean", "byte", "short", "int", "long"), "INTEGER"),
    **dict.fromkeys(("float", "double"), "REAL"),
}
_FENCE = """CREATE TABLE IF NOT EXISTS joinery_batches (
    table_name TEXT, query_id TEXT, batch_id INTEGER NOT NULL, epoch INTEGER NOT NULL,
    PRIMARY KEY (table_name, query_id))"""
_WAIT_S = 30.0
_GUARANTEE = Guarantee(
    summary="The table holds the newest document of each key; a batch is one transaction.",
)


@dataclass(frozen=True, slots=True)
class _Statements:
    """The SQL of one table."""

    create: tuple[str, ...]
    upsert: str
    delete: str
    remember: str


class SqliteSink:
    """Keeps the newest document of each key."""

    guarantee = _GUARANTEE

    def __init__(self, path: Path, table: str) -> None:
        self.target = f"sqlite {path}, table {table}"
        self._path = path
        self._table = table
        self._database: sqlite3.Connection | None = None
        self._statements: _Statements | None = None

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
            self._prepared(self._database, batch.key)
            columns = ", ".join(_name(each.name) for each in batch.key.fields)
            for values in self._database.execute(f"SELECT {columns} FROM {_name(self._table)}"):
                yield key_object(batch.key, values)

    def close(self) -> None:
        """Close the database file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _apply(self, database: sqlite3.Connection, batch: StagedBatch) -> None:
        statements = self._prepared(database, batch.key)
        self._fence(database, batch)
        names = [each.name for each in batch.key.fields]
        gone: list[tuple[object, ...]] = []
        database.executemany(statements.upsert, _upserts(batch, names, gone))
        database.executemany(statements.delete, gone)
        database.executemany(statements.remember, gone)

    def _prepared(self, database: sqlite3.Connection, key: Struct) -> _Statements:
        if self._statements is None:
            statements = _statements(self._table, key)
            for statement in statements.create:
                database.execute(statement)
            self._check_columns(database, key)
            self._statements = statements
        return self._statements

    def _check_columns(self, database: sqlite3.Connection, key: Struct) -> None:
        standing = {row[1] for row in database.execute(f"PRAGMA table_info({_name(self._table)})")}
        wanted = {each.name for each in key.fields} | {"document", "version"}
        if standing != wanted:
            raise SinkError(
                f'table "{self._table}" has other columns than the product\'s key',
                detail=f"It has {_listed(standing)}; needed are {_listed(wanted)}.",
                hint="Drop the table, or name another one with the option `table`.",
            )

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
    """Make the sink `{sqlite: {path: …, table: …}}`; the table is the product's name."""
    check_names("sqlite", options, ("path", "table"))
    table = text_option("sqlite", options, "table", product)
    return SqliteSink(path_option("sqlite", options, folder), table)


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


def _statements(table: str, key: Struct) -> _Statements:
    place, side = _name(table), _name(f"{table}__deleted")
    names = [_name(each.name) for each in key.fields]
    columns = ", ".join(names)
    typed = ", ".join(f"{_name(each.name)} {_affinity(each.type)}" for each in key.fields)
    numbered = [f"?{at + 1}" for at in range(len(names))]
    same = " AND ".join(f"{name} = {at}" for name, at in zip(names, numbered, strict=True))
    document, version = f"?{len(names) + 1}", f"?{len(names) + 2}"
    tombstone = document
    kept = f"version INTEGER NOT NULL, PRIMARY KEY ({columns})"
    return _Statements(
        create=(
            f"CREATE TABLE IF NOT EXISTS {place} ({typed}, document TEXT NOT NULL, {kept})",
            f"CREATE TABLE IF NOT EXISTS {side} ({typed}, {kept}) WITHOUT ROWID",
        ),
        upsert=f"INSERT INTO {place} ({columns}, document, version)"
        f" SELECT {', '.join(numbered)}, {document}, {version}"
        f" WHERE NOT EXISTS (SELECT 1 FROM {side} WHERE {same} AND version >= {version})"
        f" ON CONFLICT ({columns}) DO UPDATE SET document = excluded.document,"
        f" version = excluded.version WHERE excluded.version > version",
        delete=f"DELETE FROM {place} WHERE {same} AND version < {tombstone}",
        remember=f"INSERT INTO {side} VALUES ({', '.join(numbered)}, {tombstone})"
        f" ON CONFLICT ({columns}) DO UPDATE SET version = excluded.version"
        f" WHERE excluded.version > version",
    )


def _affinity(type: DataType) -> str:
    return _AFFINITY.get(type.name, "TEXT") if isinstance(type, Atomic) else "TEXT"


def _passing(error: Exception) -> bool:
    """Return whether waiting may help: another writer holds the file, or the disk is full."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
