"""The documents of one product as a table of PostgreSQL holds them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from joinery.clients.postgres import connect, database_errors, failure, shown
from joinery.clients.sql import listed, quoted
from joinery.model.type import BINARY, Field, Struct
from joinery.sinks.key import key_json, key_of_stored, stored_key, stored_values
from joinery.sinks.postgres_table import column_type
from joinery.sinks.reader import Held

if TYPE_CHECKING:
    import psycopg

_CHUNK_ROWS = 10_000
_DECODE = json.JSONDecoder(parse_int=Decimal, parse_float=Decimal).decode


class PostgresReader:
    """Reads a table whose documents stand in one column.

    Args:
        url: The database.
        table: Its name.
        schema: Empty for the first of the search path.
        key: The root key's columns.
    """

    def __init__(self, url: str, table: str, schema: str, key: Struct) -> None:
        self.target = f"postgres table {table} at {shown(url)}"
        self._url, self._key = url, key
        self._place = f"{quoted(schema)}.{quoted(table)}" if schema else quoted(table)
        self._connection: psycopg.Connection[Any] | None = None

    def keys(self) -> Iterator[str]:
        """Yield the root keys of all documents."""
        names = listed(each.name for each in stored_key(self._key).fields)
        with self._told() as connection, connection.transaction():
            cursor = connection.cursor(name="joinery_keys")
            cursor.itersize = _CHUNK_ROWS
            for values in cursor.execute(f"SELECT {names} FROM {self._place}"):
                yield key_of_stored(self._key, values)

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        """Return the documents of some root keys."""
        columns = [each.name for each in stored_key(self._key).fields]
        alike: dict[frozenset[str], dict[str, list[Any]]] = {}
        for key in keys:
            values = stored_values(self._key, _DECODE(key))
            nulls = frozenset(
                name for name, each in zip(columns, values, strict=True) if each is None
            )
            alike.setdefault(nulls, {})[key] = values
        found: dict[str, Held] = {}
        for nulls, told in alike.items():
            found |= self._read(told, nulls)
        return found

    def _read(self, told: Mapping[str, list[Any]], nulls: frozenset[str]) -> Mapping[str, Held]:
        """Return the documents of root keys that are null in the same columns."""
        from psycopg import RawCursor

        columns, keys = stored_key(self._key).fields, list(told)
        arrays = [
            [_cell(each, value) for value in values]
            for each, values in zip(columns, zip(*told.values(), strict=True), strict=True)
        ]
        typed = ", ".join(
            f"${at}::text[]::{column_type(each.type)}[]" for at, each in enumerate(columns, 1)
        )
        slots = ", ".join(f"v{at}" for at in range(len(columns)))
        same = " AND ".join(
            f"kept.{quoted(each.name)} " + ("IS NULL" if each.name in nulls else f"= sought.v{at}")
            for at, each in enumerate(columns)
        )
        with self._told() as connection, connection.transaction():
            found = RawCursor(connection).execute(
                f"SELECT place, document::text, version FROM unnest({typed}) WITH ORDINALITY"
                f" AS sought ({slots}, place) JOIN {self._place} AS kept ON {same}",
                arrays,
            )
            return {keys[place - 1]: Held(text, version) for place, text, version in found}

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _told(self) -> Iterator[psycopg.Connection[Any]]:
        """Give the connection; tell what the driver raises as errors of a sink."""
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._url)
            self._connection.read_only = True
        try:
            yield self._connection
        except database_errors() as error:
            raise failure(error, self._url, f"could not read {self._place} of") from error


def _cell(field: Field, value: Any) -> str | None:
    """Return one value of a key as text that PostgreSQL casts to the column's type."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, dict):
        return key_json(value)
    if field.type == BINARY:
        return f"\\x{base64.b64decode(value).hex()}"
    return str(value)
