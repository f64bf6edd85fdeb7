"""The documents of one product as a table of PostgreSQL holds them.

They stand in one column, or their fields in a column each, of which the server makes the document
again: a number has the digits that its column keeps, a time the form that documents have.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from joinery.clients.postgres import connect, database_errors, failure, shown
from joinery.clients.sql import listed, quoted
from joinery.model.float_text import double_text, single_text
from joinery.model.type import BINARY, Atomic, Field, Struct
from joinery.sinks.key import key_json, key_of_stored, stored_key, stored_values
from joinery.sinks.postgres_digests import PostgresDigests
from joinery.sinks.postgres_table import column_type
from joinery.sinks.reader import Held

if TYPE_CHECKING:
    import psycopg

_CHUNK_ROWS = 10_000
_FLOATS = (Atomic("float"), Atomic("double"))
_DECODE = json.JSONDecoder(parse_int=Decimal, parse_float=Decimal).decode


class PostgresReader:
    """Reads a table.

    Args:
        url: The database.
        table: Its name.
        schema: Empty for the first of the search path.
        key: The root key's columns.
        fields: Those of documents, where each has a column; None where one column has documents.

    Attributes:
        from_key: The fields of documents that are columns of the key, and hold what that holds.
    """

    def __init__(
        self, url: str, table: str, schema: str, key: Struct, fields: Struct | None = None
    ) -> None:
        self.target = f"postgres table {table} at {shown(url)}"
        self._url, self._key = url, key
        names = {each.name for each in key.fields}
        listed = () if fields is None else fields.fields
        self.from_key = frozenset(each.name for each in listed if each.name in names)
        self._floats = [each for each in listed if each.type in _FLOATS]
        self._shown = "version, document::text" if fields is None else _row_shown(fields)
        self._place = f"{quoted(schema)}.{quoted(table)}" if schema else quoted(table)
        self._columned = fields is not None
        self._connection: psycopg.Connection[Any] | None = None

    @property
    def digests(self) -> PostgresDigests | None:
        """What makes digests of documents; None where they are columns, or of some keys."""
        if self._columned or not PostgresDigests.can_tell(self._key):
            return None
        return PostgresDigests(self._told, self._place, self._key)

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
                f"SELECT place, {self._shown} FROM unnest({typed}) WITH ORDINALITY"
                f" AS sought ({slots}, place) JOIN {self._place} AS kept ON {same}",
                arrays,
            )
            return {
                keys[place - 1]: Held(_with(text, self._floats, floats), version)
                for place, version, text, *floats in found
            }

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _told(self) -> Iterator[psycopg.Connection[Any]]:
        """Give the connection; tell what the driver raises as errors of a sink."""
        try:
            if self._connection is None or self._connection.closed:
                opened = connect(self._url)
                opened.read_only = True
                opened.execute("SET extra_float_digits = 3")  # else a server may round doubles
                opened.commit()
                self._connection = opened
            yield self._connection
        except database_errors() as error:
            raise failure(error, self._url, f"could not read {self._place} of") from error


def _row_shown(document: Struct) -> str:
    """Return what reads a version, a document from a column per field, and its floats beside."""
    plain = [each for each in document.fields if each.type not in _FLOATS]
    fields = ", ".join(f"{_shown(each)} AS {quoted(each.name)}" for each in plain)
    told = f"(SELECT row_to_json(told)::text FROM (SELECT {fields}) AS told)" if plain else "'{}'"
    floats = [_shown(each) for each in document.fields if each.type in _FLOATS]
    return ", ".join(("joinery_version", told, *floats))


def _with(text: str, fields: Sequence[Field], values: Sequence[float | None]) -> str:
    """Return a document with its floats: the server may write other digits of the same number."""
    if not fields:
        return text
    parts = [text[1:-1]] if text != "{}" else []
    parts += [
        f"{json.dumps(field.name, ensure_ascii=False)}:{_float_json(field, value)}"
        for field, value in zip(fields, values, strict=True)
    ]
    return f"{{{','.join(parts)}}}"


def _float_json(field: Field, value: float | None) -> str:
    if value is None:
        return "null"
    text = double_text(value) if field.type == Atomic("double") else single_text(value)
    return text if isfinite(value) else f'"{text}"'


def _shown(field: Field) -> str:
    """Return what reads one field as documents have it."""
    column = f"kept.{quoted(field.name)}"
    match field.type:
        case Atomic("timestamp"):
            utc = f"({column} AT TIME ZONE 'UTC')"
            return f"{_iso(utc)} || 'Z'"
        case Atomic("timestamp_ntz"):
            return _iso(column)
        case Atomic("binary"):
            return f"translate(encode({column}, 'base64'), E'\\n', '')"
        case _:
            return column


def _iso(time: str) -> str:
    """Return what writes a time with its microseconds, where there are some."""
    whole = f"""to_char({time}, 'YYYY-MM-DD"T"HH24:MI:SS')"""
    none = f"date_trunc('second', {time}) = {time}"
    return f"({whole} || CASE WHEN {none} THEN '' ELSE to_char({time}, '.US') END)"


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
