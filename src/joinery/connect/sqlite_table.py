"""The table of one product in SQLite, and the statements that keep it.

Invariant: all statements take the key's values, then the document or a delete's version,
then the version.
"""

from __future__ import annotations

import sqlite3
from typing import Literal

from joinery.connect.protocol import SinkError
from joinery.model.type import Array, Atomic, DataType, Decimal, Field, Map, Struct

Mode = Literal["document", "columns"]
_AFFINITY = {
    **dict.fromkeys(("boolean", "byte", "short", "int", "long"), "INTEGER"),
    **dict.fromkeys(("float", "double"), "REAL"),
}


class SqliteTable:
    """A table in one of two forms.

    Args:
        name: The table's.
        key: The root key's columns.
        value: The document's type.
        mode: `document` for JSON text in one column, `columns` for a column a field.
    """

    def __init__(self, name: str, *, key: Struct, value: Struct, mode: Mode) -> None:
        self._name, self._key, self._mode = name, key.fields, mode
        keys = {each.name for each in key.fields}
        self._fields = tuple(each for each in value.fields if each.name not in keys)
        self._version = "version" if mode == "document" else "joinery_version"

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The table's columns and their affinities."""
        own = [("document", "TEXT")] if self._mode == "document" else _typed(self._fields)
        return (*_typed(self._key), *own, (self._version, "INTEGER"))

    def create(self, database: sqlite3.Connection) -> None:
        """Create the tables that are missing, and add the columns that are missing.

        Raises:
            SinkError: The table stands there with other columns.
        """
        keys = ", ".join(quoted_name(each.name) for each in self._key)
        defined = ", ".join(f"{quoted_name(name)} {kind}" for name, kind in self.columns)
        sides = ", ".join(f"{quoted_name(name)} {kind}" for name, kind in _typed(self._key))
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {self._place} ({defined}, PRIMARY KEY ({keys}))"
        )
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {self._side} ({sides}, version INTEGER NOT NULL,"
            f" PRIMARY KEY ({keys})) WITHOUT ROWID"
        )
        self._migrate(database)

    @property
    def upsert(self) -> str:
        """Insert a document, or replace an older one; not below its delete."""
        shown = {"document": self._document}
        if self._mode == "columns":
            shown = {each.name: self._extracted(each) for each in self._fields}
        names = [each.name for each in self._key]
        columns = ", ".join(quoted_name(name) for name in (*names, *shown, self._version))
        values = ", ".join((*self._numbered, *shown.values(), self._last))
        changed = ", ".join(
            f"{quoted_name(name)} = excluded.{quoted_name(name)}"
            for name in (*shown, self._version)
        )
        version = quoted_name(self._version)
        return (
            f"INSERT INTO {self._place} ({columns}) SELECT {values} WHERE NOT EXISTS"
            f" (SELECT 1 FROM {self._side} WHERE {self._same} AND version >= {self._last})"
            f" ON CONFLICT ({self._keys}) DO UPDATE SET {changed}"
            f" WHERE excluded.{version} > {self._place}.{version}"
        )

    @property
    def delete(self) -> str:
        """Delete a document that is older."""
        version = quoted_name(self._version)
        return f"DELETE FROM {self._place} WHERE {self._same} AND {version} < {self._document}"

    @property
    def remember(self) -> str:
        """Remember a delete's version."""
        values = ", ".join((*self._numbered, self._document))
        return (
            f"INSERT INTO {self._side} VALUES ({values}) ON CONFLICT ({self._keys})"
            " DO UPDATE SET version = excluded.version WHERE excluded.version > version"
        )

    def _migrate(self, database: sqlite3.Connection) -> None:
        standing = {row[1] for row in database.execute(f"PRAGMA table_info({self._place})")}
        wanted = dict(self.columns)
        fields = {each.name for each in self._fields} if self._mode == "columns" else set()
        lost = standing - wanted.keys() if self._mode == "document" else set()
        if lost or not standing >= wanted.keys() - fields:
            raise SinkError(
                f'table "{self._name}" has other columns than the product\'s key',
                detail=f"It has {_listed(standing)}; needed are {_listed(set(wanted))}.",
                hint="Name another one with the option `table`; drop it only if a run of Joinery"
                " made it and nobody else uses it.",
            )
        for name in sorted(fields - standing):
            column = f"{quoted_name(name)} {wanted[name]}"
            database.execute(f"ALTER TABLE {self._place} ADD COLUMN {column}")

    def _extracted(self, field: Field) -> str:
        """Return the value of a field of the document; what SQLite has no type for, as text."""
        path = "'$." + quoted_name(field.name).replace("'", "''") + "'"
        if isinstance(field.type, Array | Map | Struct | Decimal):
            return f"nullif({self._document} -> {path}, 'null')"
        return f"{self._document} ->> {path}"

    @property
    def _place(self) -> str:
        return quoted_name(self._name)

    @property
    def _side(self) -> str:
        return quoted_name(f"{self._name}__deleted")

    @property
    def _keys(self) -> str:
        return ", ".join(quoted_name(each.name) for each in self._key)

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
        return " AND ".join(f"{quoted_name(each.name)} = {at}" for each, at in pairs)


def quoted_name(name: str) -> str:
    """Return a name as SQLite quotes it."""
    return '"' + name.replace('"', '""') + '"'


def _typed(fields: tuple[Field, ...]) -> list[tuple[str, str]]:
    return [(each.name, _affinity(each.type)) for each in fields]


def _affinity(type: DataType) -> str:
    return _AFFINITY.get(type.name, "TEXT") if isinstance(type, Atomic) else "TEXT"


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
