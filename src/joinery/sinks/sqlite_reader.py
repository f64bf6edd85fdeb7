"""The documents of one product as a table of SQLite holds them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path

from joinery.clients.sql import listed, quoted
from joinery.errors import SinkError
from joinery.model.type import Struct
from joinery.sinks.key import key_json, key_of_stored, stored_key, stored_values
from joinery.sinks.reader import Held

_WAIT_S = 30.0
_DECODE = json.JSONDecoder(parse_float=Decimal).decode


class SqliteReader:
    """Reads a table whose documents stand in one column.

    Args:
        path: The database file.
        table: Its name.
        key: The root key's columns.
    """

    def __init__(self, path: Path, table: str, key: Struct) -> None:
        self.target = f"sqlite {path}, table {table}"
        self._path, self._table, self._key = path, table, key
        self._names = [each.name for each in stored_key(key).fields]
        self._database: sqlite3.Connection | None = None

    def keys(self) -> Iterator[str]:
        """Yield the root keys of all documents.

        What is not a key of the product, since SQLite takes any value in any column, is yielded as
        a JSON list.
        """
        with self._told() as database:
            statement = f"SELECT {listed(self._names)} FROM {quoted(self._table)}"
            for values in database.execute(statement):
                yield _key_or_list(self._key, values)

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        """Return the documents of some root keys."""
        same = " AND ".join(f"{quoted(each)} = ?" for each in self._names)
        statement = f"SELECT document, version FROM {quoted(self._table)} WHERE {same}"
        found: dict[str, Held] = {}
        with self._told() as database:
            for key in keys:
                values = [*map(stored_value, stored_values(self._key, _DECODE(key)))]
                row = database.execute(statement, values).fetchone()
                if row is not None:
                    found[key] = _held(*row)
        return found

    def close(self) -> None:
        """Close the database file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    @contextmanager
    def _told(self) -> Iterator[sqlite3.Connection]:
        """Give the database; tell what it raises as errors of a sink."""
        try:
            if self._database is None:
                uri = f"{self._path.absolute().as_uri()}?mode=ro"
                self._database = sqlite3.connect(uri, uri=True, timeout=_WAIT_S)
            yield self._database
        except sqlite3.Error as error:
            missing = not self._path.exists()
            raise SinkError(
                f'could not read table "{self._table}" of {self._path}',
                detail="The file does not exist." if missing else f"{error}.",
                hint="A run creates it: joinery run --once." if missing else "",
            ) from error


NULL = b""
"""What a column of a key holds for null, which is distinct from all else: a key has no blobs."""


def _key_or_list(key: Struct, values: Sequence[object]) -> str:
    with suppress(ValueError, KeyError):
        text = key_of_row(key, values)
        json.loads(text)
        return text
    return json.dumps(values, default=str)


def _held(document: object, version: object) -> Held:
    """Return a document as it stands, also where somebody wrote no text, or no version."""
    return Held(str(document), version if isinstance(version, int) else 0)


def stored_value(value: object) -> object:
    """Return one value of a key as the table holds it."""
    if value is None:
        return NULL
    if isinstance(value, Mapping):
        return key_json(value)
    return value if isinstance(value, str | int | float) else str(value)


def key_of_row(key: Struct, values: Sequence[object]) -> str:
    """Return the JSON object of a root key from the columns that the table has of it."""
    return key_of_stored(key, [None if each == NULL else each for each in values])
