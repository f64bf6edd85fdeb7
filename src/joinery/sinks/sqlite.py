"""The sqlite sink: the current documents of one product as a table that SQL can query.

The table has the root key's columns, and either `document` (JSON text) and `version`, or a
column a field and `joinery_version`. A delete is remembered in `<table>__deleted`, so that an
older document cannot come back.

Invariant: documents, the memory of deletes and (query id, batch id, epoch) change in one
transaction, and a lower epoch is refused. All statements of a table take the key's values, then
the document or a delete's version, then the version.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal, get_args

from joinery.clients.sql import quoted
from joinery.clients.sqlite import passes
from joinery.model.type import Array, Atomic, DataType, Decimal, Field, Map, Struct
from joinery.project.option import Target, check_path, options, path_in, text, word
from joinery.sinks.key import free_name, stored_key, stored_values
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import (
    FencedError,
    Guarantee,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Written,
)
from joinery.sinks.sqlite_reader import SqliteReader, key_of_row, stored_value

Mode = Literal["document", "columns"]
_AFFINITY = {
    **dict.fromkeys(("boolean", "byte", "short", "int", "long"), "INTEGER"),
    **dict.fromkeys(("float", "double"), "REAL"),
    **dict.fromkeys(("string", "binary", "date", "timestamp", "timestamp_ntz", "void"), "TEXT"),
}


class SqliteTable:
    """A table in one of two forms.

    Args:
        name: The table's.
        key: The root key's columns.
        value: The document's type.
        mode: `document` for JSON text in one column, `columns` for a column per field.
    """

    def __init__(self, name: str, *, key: Struct, value: Struct, mode: Mode) -> None:
        self._name, self._key, self._mode = name, stored_key(key).fields, mode
        keys = {each.name for each in self._key}
        self._fields = tuple(each for each in value.fields if each.name not in keys)
        self._version = "version" if mode == "document" else "joinery_version"
        self._deleted_version = free_name("version", [each.lower() for each in keys])
        self._check_names()

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The table's columns and their affinities."""
        own = [("document", "TEXT")] if self._mode == "document" else _typed(self._fields)
        return (*_typed_key(self._key), *own, (self._version, "INTEGER"))

    def create(self, database: sqlite3.Connection) -> None:
        """Create the tables that are missing, and add the columns that are missing.

        Raises:
            SinkError: The table stands there with other columns.
        """
        keys = ", ".join(quoted(each.name) for each in self._key)
        defined = ", ".join(f"{quoted(name)} {kind}" for name, kind in self.columns)
        sides = ", ".join(f"{quoted(name)} {kind}" for name, kind in _typed_key(self._key))
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {self._place} ({defined}, PRIMARY KEY ({keys}))"
        )
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {self._side} ({sides},"
            f" {self._deleted_version} INTEGER NOT NULL,"
            f" PRIMARY KEY ({keys})) WITHOUT ROWID"
        )
        self._migrate(database)

    def upsert(self, *, zeros: bool) -> str:
        """Insert a document, or replace an older one; not below its delete.

        Args:
            zeros: Whether texts of the document have the character U+0000, at which the
                functions of SQLite end them.
        """
        shown = {"document": self._document}
        if self._mode == "columns":
            shown = {each.name: self._extracted(each, zeros) for each in self._fields}
        names = [each.name for each in self._key]
        columns = ", ".join(quoted(name) for name in (*names, *shown, self._version))
        values = ", ".join((*self._numbered, *shown.values(), self._last))
        changed = ", ".join(
            f"{quoted(name)} = excluded.{quoted(name)}" for name in (*shown, self._version)
        )
        version = quoted(self._version)
        return (
            f"INSERT INTO {self._place} ({columns}) SELECT {values} WHERE NOT EXISTS"
            f" (SELECT 1 FROM {self._side} WHERE {self._same}"
            f" AND {self._deleted_version} >= {self._last})"
            f" ON CONFLICT ({self._keys}) DO UPDATE SET {changed}"
            f" WHERE {_older(f'{self._place}.{version}', f'excluded.{version}')}"
        )

    @property
    def delete(self) -> str:
        """Delete a document that is older."""
        older = _older(quoted(self._version), self._document)
        return f"DELETE FROM {self._place} WHERE {self._same} AND {older}"

    @property
    def remember(self) -> str:
        """Remember a delete's version."""
        values = ", ".join((*self._numbered, self._document))
        version = self._deleted_version
        return (
            f"INSERT INTO {self._side} VALUES ({values}) ON CONFLICT ({self._keys})"
            f" DO UPDATE SET {version} = excluded.{version} WHERE excluded.{version} > {version}"
        )

    def _migrate(self, database: sqlite3.Connection) -> None:
        standing = {row[1] for row in database.execute(f"PRAGMA table_info({self._place})")}
        wanted = dict(self.columns)
        fields = {each.name for each in self._fields} if self._mode == "columns" else set()
        lost = standing - wanted.keys() if self._mode == "document" else set()
        if lost or not standing >= wanted.keys() - fields:
            raise SinkError(
                f'table "{self._name}" has other columns than the product needs',
                detail=f"It has {_listed(standing)}; it needs {_listed(set(wanted))}.",
                hint="Name another one with the option `table`; drop it only if a run of Joinery"
                " made it and nobody else uses it.",
            )
        for name in sorted(fields - standing):
            column = f"{quoted(name)} {wanted[name]}"
            database.execute(f"ALTER TABLE {self._place} ADD COLUMN {column}")

    def _check_names(self) -> None:
        known: dict[bytes, str] = {}
        for name, _ in self.columns:
            folded = name.encode(errors="surrogatepass").lower()  # ASCII alone, as SQLite does
            if folded in known:
                raise SinkError(
                    f'SQLite treats "{known[folded]}" and "{name}" as one column of table'
                    f' "{self._name}"',
                    detail=f"The sink adds {self._added} to the product's columns.",
                    hint="Give the field another name, or set another mode.",
                )
            known[folded] = name

    @property
    def _added(self) -> str:
        return "document and version" if self._mode == "document" else "joinery_version"

    def _extracted(self, field: Field, zeros: bool) -> str:
        """Return the value of a field of the document; what SQLite has no type for, as text."""
        as_text = isinstance(field.type, Array | Map | Struct | Decimal)
        if _no_path(field.name) or (zeros and not as_text):
            name = "'" + field.name.replace("'", "''") + "'"
            return f"joinery_field({self._document}, {name}, {as_text:d})"
        path = "'$." + quoted(field.name).replace("'", "''") + "'"
        if as_text:
            return f"nullif({self._document} -> {path}, 'null')"
        return f"{self._document} ->> {path}"

    @property
    def _place(self) -> str:
        return quoted(self._name)

    @property
    def _side(self) -> str:
        return quoted(f"{self._name}__deleted")

    @property
    def _keys(self) -> str:
        return ", ".join(quoted(each.name) for each in self._key)

    @property
    def _numbered(self) -> tuple[str, ...]:
        return tuple(f"?{at}" for at in range(1, len(self._key) + 1))

    @property
    def _document(self) -> str:
        return f"?{len(self._key) + 1}"

    @property
    def _last(self) -> str:
        return f"?{len(self._key) + 2}"

    @property
    def _same(self) -> str:
        pairs = zip(self._key, self._numbered, strict=True)
        return " AND ".join(f"{quoted(each.name)} = {at}" for each, at in pairs)


def _older(standing: str, given: str) -> str:
    """Return the condition that a version is below another, as is what somebody wrote there."""
    return f"({standing} < {given} OR typeof({standing}) <> 'integer')"


def _no_path(name: str) -> bool:
    """Return whether a field's name is one that no path of SQLite leads to."""
    return json.dumps(name, ensure_ascii=False)[1:-1] != name


def _field(document: str, name: str, as_text: int) -> str | int | float | None:
    """Return a field of a compact JSON object: its value, or its text as it stands."""
    at = 1
    while document[at] != "}":
        found, at = _JSON.raw_decode(document, at)
        value, end = _JSON.raw_decode(document, at + 1)
        if found == name:
            told: str | int | float | None = value
            return document[at + 1 : end] if as_text and value is not None else told
        at = end + (document[end] == ",")
    return None


def _typed_key(key: tuple[Field, ...]) -> list[tuple[str, str]]:
    """Return the columns of a key: a primary key of one INTEGER takes nothing but numbers."""
    return [(name, "INT" if kind == "INTEGER" else kind) for name, kind in _typed(key)]


def _typed(fields: tuple[Field, ...]) -> list[tuple[str, str]]:
    return [(each.name, _affinity(each.type)) for each in fields]


def _affinity(type: DataType) -> str:
    return _AFFINITY[type.name] if isinstance(type, Atomic) else "TEXT"


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


_FENCE = """CREATE TABLE IF NOT EXISTS joinery_batches (
    table_name TEXT, query_id TEXT, batch_id INTEGER NOT NULL, epoch INTEGER NOT NULL,
    PRIMARY KEY (table_name, query_id))"""
_WAIT_S = 30.0
_ZERO = "\\u0000"
_JSON = json.JSONDecoder()
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
            # What an erasure took out of a document must not be left in the file.
            self._database.execute("PRAGMA secure_delete = ON")
            self._database.create_function("joinery_field", 3, _field, deterministic=True)
            self._database.execute(_FENCE)
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def write(self, batch: StagedBatch) -> Written:
        """Apply `batch` in one transaction."""
        if self._database is None:
            raise SinkError(f'sink "sqlite" for table "{self._table}" is not open')
        with self._told(), self._transaction(self._database):
            self._apply(self._database, batch)
            batch.check()
        return Written()

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys of all documents in the table."""
        if self._database is not None:
            with self._told():
                self._prepared(self._database, batch)
                columns = ", ".join(quoted(each.name) for each in stored_key(batch.key).fields)
                place = quoted(self._table)
                for values in self._database.execute(f"SELECT {columns} FROM {place}"):
                    yield key_of_row(batch.key, values)

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the batch of the checkpoint that was written last."""
        if self._database is None:
            raise SinkError(f'sink "sqlite" for table "{self._table}" is not open')
        with self._told():
            found = self._database.execute(
                "SELECT max(batch_id) FROM joinery_batches WHERE table_name = ? AND query_id = ?",
                (self._table, batch.query_id),
            ).fetchone()
        return None if found[0] is None else int(found[0])

    def close(self) -> None:
        """Close the database file."""
        if self._database is not None:
            self._database.close()
            self._database = None
        self._prepared_table = None

    @contextmanager
    def _transaction(self, database: sqlite3.Connection) -> Iterator[None]:
        """Commit at the end, roll back after an error."""
        database.execute("BEGIN IMMEDIATE")
        try:
            yield
            database.execute("COMMIT")
        except BaseException:
            self._prepared_table = None  # a table that was made here is gone again
            # SQLite takes a transaction back by itself where the disk is full.
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise

    def _apply(self, database: sqlite3.Connection, batch: StagedBatch) -> None:
        table = self._prepared(database, batch)
        self._fence(database, batch)
        gone: list[tuple[object, ...]] = []
        kept: list[tuple[object, ...]] = []
        database.executemany(table.upsert(zeros=False), _upserts(batch, gone, kept))
        database.executemany(table.upsert(zeros=True), kept)
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
            raise FencedError(f'another run of "{batch.query}" is writing to table "{self._table}"')
        database.execute(
            "INSERT OR REPLACE INTO joinery_batches VALUES (?, ?, ?, ?)",
            (*place, batch.batch_id, batch.epoch),
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what the database raises as errors of a sink."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> SinkError:
        kind = SinkUnavailableError if passes(error) else SinkError
        return kind(
            f'could not write table "{self._table}" of {self._path}',
            detail=f"{error}.",
            hint="Unlock the database file or free disk space, then start the run again.",
        )


@options
class SqliteOptions:
    """`{sqlite: {path: documents.db}}`; the table is the product's name."""

    keeps_all: ClassVar[bool] = False
    path: str = text("The database file.", check=check_path)
    table: str = text("The table; by default the product's name.", default="")
    mode: Mode = word(
        "One column of JSON text for the document, or one column per field.",
        get_args(Mode),
        default="document",
    )

    def make(self, product: str, folder: Path) -> SqliteSink:
        """Return the sink of a product."""
        return SqliteSink(path_in(folder, self.path), self.table or product, self.mode)

    def target(self, product: str, folder: Path) -> Target:
        """Return the table."""
        return Target("sqlite", str(path_in(folder, self.path)), self.table or product, "table")

    def emptied(self, product: str, folder: Path) -> Path | None:
        """Return the database file, if it is not there."""
        place = path_in(folder, self.path)
        return None if place.exists() else place

    def reader(self, product: str, folder: Path, key: Struct, value: Struct) -> SqliteReader:
        """Return what reads the documents of a product."""
        if self.mode != "document":
            raise SinkError(f'documents of mode "{self.mode}" cannot be read back yet')
        return SqliteReader(path_in(folder, self.path), self.table or product, key)


def _upserts(
    batch: StagedBatch, gone: list[tuple[object, ...]], zeros: list[tuple[object, ...]]
) -> Iterator[tuple[object, ...]]:
    """Yield the parameters of each upsert.

    Those of the tombstones are put into `gone`, those of documents with a U+0000 into `zeros`.
    """
    for row in read_rows(batch.files):
        values = map(stored_value, stored_values(batch.key, row.key_values()))
        if row.value is None:
            gone.append((*values, row.version))
        elif _ZERO in row.value:
            zeros.append((*values, row.value, row.version))
        else:
            yield (*values, row.value, row.version)
