"""A PostgreSQL database: connected for one writer, asked for sets, its failures told.

Statements stand in transactions that are begun and ended by hand. Parameters are numbered, so
that a name may hold any character; names are quoted.

What PostgreSQL holds for a value of each type, and how texts with a NUL are held.

A float is a `double precision`, so that nothing is rounded on the way. PostgreSQL's texts hold
no NUL; where one occurs, it is written as two characters, the first of which is escaped too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

from joinery.clients.postgres import connect, database_errors, passes, reason, shown
from joinery.clients.sql import listed, quoted
from joinery.model.type import STRING, Array, Atomic, DataType, Decimal, Field, Map, Struct
from joinery.sinks.protocol import SinkError, SinkUnavailableError
from joinery.solutions.relational.value import Cells, Convert, from_json_text, json_text
from joinery.solutions.stored.state import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

_TYPES = {
    "boolean": "boolean",
    "byte": "smallint",
    "short": "smallint",
    "int": "integer",
    "long": "bigint",
    "float": "double precision",
    "double": "double precision",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "string": "text",
    "void": "text",
}
_WIDER = {
    "smallint": ("integer", "bigint"),
    "integer": ("bigint",),
}
_ESCAPE = "\ue000"
_BARE = ("boolean", "byte", "short", "int", "long")


def column_type(kind: DataType) -> str:
    """Return the type of a column, as PostgreSQL's `format_type` writes it."""
    if isinstance(kind, Decimal):
        return f"numeric({kind.precision},{kind.scale})"
    return _TYPES[kind.name] if isinstance(kind, Atomic) else "text"


def widens(standing: str, wanted: str) -> bool:
    """Return whether every value of a column's type is one of another type, and stays as it is.

    Example:
        >>> widens("integer", "bigint"), widens("bigint", "integer")
        (True, False)
        >>> widens("numeric(10,2)", "numeric(12,2)"), widens("numeric(10,2)", "numeric(10,3)")
        (True, False)
    """
    if wanted in _WIDER.get(standing, ()):
        return True
    if not (standing.startswith("numeric(") and wanted.startswith("numeric(")):
        return False
    (digits, scale), (more, as_fine) = _numeric(standing), _numeric(wanted)
    return scale == as_fine and digits <= more


def to_cell(kind: DataType) -> Convert | None:
    """Return the function from a value that is not null to what the driver takes."""
    if isinstance(kind, Array | Map | Struct):
        return json_text(kind)
    return _real if kind in (Atomic("float"), Atomic("double")) else None


def from_cell(kind: DataType) -> Convert | None:
    """Return the way back; None where the driver gives the value itself."""
    return from_json_text(kind) if isinstance(kind, Array | Map | Struct) else None


def array_text(values: Iterable[Any], kind: DataType) -> str:
    r"""Return values that are not null as the text of an array.

    Example:
        >>> array_text([1, 2], Atomic("long")), array_text(['a"\\'], STRING)
        ('{1,2}', '{"a\\"\\\\"}')
    """
    if isinstance(kind, Atomic) and kind.name in _BARE:
        return "{" + ",".join(map(str, values)) + "}"
    if kind == STRING:
        texts: Iterable[str] = values
    elif kind == Atomic("binary"):
        texts = ("\\x" + each.hex() for each in values)
    else:
        texts = map(str, values)
    inner = '","'.join([each.replace("\\", "\\\\").replace('"', '\\"') for each in texts])
    return escaped(f'{{"{inner}"}}') if inner or values else "{}"


def needs_escape(rows: Sequence[Sequence[Any]], fields: Sequence[Field]) -> bool:
    """Return whether a text among rows of cells holds a NUL, or the character that escapes it."""
    for at, field in enumerate(fields):
        if not isinstance(field.type, Atomic) or column_type(field.type) == "text":
            together = "".join([each[at] for each in rows if each[at].__class__ is str])
            if "\0" in together or _ESCAPE in together:
                return True
    return False


def escaped(text: str) -> str:
    """Return a text that PostgreSQL can hold."""
    if "\0" in text or _ESCAPE in text:
        return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return text


def unescaped(text: str) -> str:
    """Return the text that was escaped."""
    return text.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE)


def escaped_cells(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Return cells with their texts escaped."""
    return tuple([escaped(each) if isinstance(each, str) else each for each in cells])


def unescaped_cells(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Return cells with their texts as they were."""
    return tuple([unescaped(each) if isinstance(each, str) else each for each in cells])


def _numeric(told: str) -> tuple[int, int]:
    precision, _, scale = told.removeprefix("numeric(").removesuffix(")").partition(",")
    return int(precision), int(scale)


def _real(value: Any) -> float:
    return float(value)


MAX_NAME_BYTES = 63
_PREPARED_AFTER = 5
_SETTINGS = (
    "SET timezone = 'UTC'",
    "SET extra_float_digits = 3",  # Else a double may be shown as another one.
    "SET idle_in_transaction_session_timeout = '10min'",
    "SET statement_timeout = 0",  # a first batch takes as long as it takes
    "SET jit = off",
)
_FIND = """SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
_KEY = """SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid
    WHERE indrelid = to_regclass($1) AND indisprimary AND attnum = ANY (indkey)"""


def open_database(url: str, schema: str) -> Connection:
    """Connect, with the tables of `schema` in sight; it is created where it is missing.

    Raises:
        StoreUnavailableError: The server cannot be reached now.
        StoreError: It does not let us in, or refuses the schema.
    """
    try:
        connection = connect(url)
    except SinkError as error:
        message = error.message.replace('sink "postgres"', '"rdbms-store"')
        kind = StoreUnavailableError if isinstance(error, SinkUnavailableError) else StoreError
        raise kind(message, detail=error.detail, hint=error.hint) from error
    try:
        from psycopg import RawCursor

        connection.autocommit = True
        connection.prepare_threshold = _PREPARED_AFTER
        connection.cursor_factory = RawCursor
        for setting in _SETTINGS:
            connection.execute(setting)
        if not _stands(connection, schema):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        connection.execute(f"SET search_path = {quoted(schema)}")
    except database_errors() as error:
        connection.close()
        raise failure(error, url) from error
    return connection


def _stands(connection: Connection, schema: str) -> bool:
    """Return whether a schema is there; who may not create one can use it all the same."""
    found = connection.execute("SELECT to_regnamespace($1) IS NOT NULL", [quoted(schema)])
    row = found.fetchone()
    return bool(row and row[0])


def found(
    connection: Connection,
    table: str,
    fields: Sequence[Field],
    sought: Sequence[Cells],
    names: Iterable[str],
    rest: str = "",
) -> list[Cells]:
    """Return the cells under `names` of the rows whose `fields` equal one of `sought`.

    What is sought travels as an array a column; `kept` names the table in `rest`.
    """
    if not sought:
        return []
    arrays = [
        array_text(column, field.type)
        for field, column in zip(fields, zip(*sought, strict=True), strict=True)
    ]
    typed = ", ".join(
        f"${at}::{column_type(field.type)}[]" for at, field in enumerate(fields, start=1)
    )
    slots = ", ".join(f"v{at}" for at in range(len(fields)))
    on = " AND ".join(f"kept.{quoted(e.name)} = sought.v{at}" for at, e in enumerate(fields))
    shown = ", ".join(f"kept.{quoted(each)}" for each in names)
    return connection.execute(
        f"SELECT {shown} FROM unnest({typed}) AS sought ({slots})"
        f" JOIN {quoted(table)} AS kept ON {on}{rest}",
        arrays,
        binary=True,
    ).fetchall()


def copy_rows(
    connection: Connection, table: str, fields: Sequence[Field], rows: Sequence[Cells]
) -> None:
    """Add rows, whose keys are new."""
    if not rows:
        return
    names = listed(each.name for each in fields)
    with connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def upsert_rows(
    connection: Connection,
    table: str,
    fields: Sequence[Field],
    key: Iterable[str],
    rows: Sequence[Cells],
) -> None:
    """Put rows in place of those under their keys, by way of a temporary table."""
    if not rows:
        return
    typed = ", ".join(f"{quoted(each.name)} {column_type(each.type)}" for each in fields)
    staged = f"joinery_staged_{crc32(table.encode()):08x}"
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {staged} ({typed}) ON COMMIT DELETE ROWS")
    staged = f"pg_temp.{staged}"
    connection.execute(f"DELETE FROM {staged}")  # of an earlier call in this transaction
    copy_rows(connection, staged, fields, rows)
    names = [each.name for each in fields]
    changed = ", ".join(f"{quoted(each)} = excluded.{quoted(each)}" for each in names)
    connection.execute(
        f"INSERT INTO {table} ({listed(names)}) SELECT {listed(names)} FROM {staged}"
        f" ON CONFLICT ({listed(key)}) DO UPDATE SET {changed}"
    )


def columns_of_table(connection: Connection, table: str) -> dict[str, str]:
    """Return the columns of a table and their types as they stand; none where it does not."""
    return dict(connection.execute(_FIND, [quoted(table)]).fetchall())


def key_of_table(connection: Connection, table: str) -> list[str]:
    """Return the columns of a table's primary key."""
    return [name for (name,) in connection.execute(_KEY, [quoted(table)])]


def failure(error: Exception, url: str) -> StoreError:
    """Return the error that tells a failure of the database, without the password."""
    kind = StoreUnavailableError if passes(error) else StoreError
    return kind(
        f"could not use the database {shown(url)}",
        detail=reason(error, url),
        hint="Check that the server is up, the URL, and its user's permissions.",
    )


def check_names(names: Iterable[str]) -> None:
    """Refuse a name that PostgreSQL would cut or cannot hold."""
    for name in names:
        if len(name.encode()) > MAX_NAME_BYTES or "\0" in name or not name:
            raise StoreError(
                f'PostgreSQL cannot name a table or column "{name}"',
                detail=f"A name has from 1 to {MAX_NAME_BYTES} bytes.",
                hint="Rename the product, the relation or the column.",
            )
