"""A SQLite file: opened for one writer, asked for sets, its failures told.

What SQLite holds for a value of each type.

A double's column has no declared type: under REAL a negative zero loses its sign. NaN,
which SQLite takes for null, is the text `NaN`.
"""

from __future__ import annotations

import datetime as dt
import decimal
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from joinery.clients.sql import quoted
from joinery.clients.sqlite import passes
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct
from joinery.solutions.relational.value import (
    Cells,
    Convert,
    exact_text,
    from_json_text,
    json_text,
    local_text,
    utc_text,
)
from joinery.solutions.stored.state import StoreError, StoreUnavailableError

_WAIT_S = 30.0
_CACHE_KIB = 256 * 1024
_SOUGHT = "joinery_sought"
_ROWS_AT_ONCE = 250
_VARIABLES = sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it stands; `type` is as declared, empty where it has none."""

    type: str
    key: bool


def open_database(path: Path) -> sqlite3.Connection:
    """Open a file whose commits are durable, creating it where it is missing.

    Raises:
        StoreError: The file cannot be used.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(
            path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
        )
        database.execute("PRAGMA page_size = 16384")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA temp_store = MEMORY")
        database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except (sqlite3.Error, OSError) as error:
        raise failure(error, path) from error
    return database


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a file that another connection writes; each statement sees what was committed.

    Raises:
        StoreError: The file cannot be used.
    """
    try:
        database = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=_WAIT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        database.execute("PRAGMA temp_store = MEMORY")
        database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except sqlite3.Error as error:
        raise failure(error, path) from error
    return database


def found(
    database: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    sought: Sequence[Cells],
    names: Iterable[str],
    rest: str = "",
) -> list[Cells]:
    """Return the cells under `names` of the rows whose `columns` equal one of `sought`.

    What is sought is put into a temporary table, which one statement joins; `kept` names the
    table in `rest`.
    """
    width = len(columns)
    name = f"{_SOUGHT}_{width}"
    slots = ", ".join(f"v{at}" for at in range(width))
    database.execute(f"CREATE TABLE IF NOT EXISTS temp.{name} ({slots})")
    database.execute(f"DELETE FROM temp.{name}")
    insert_rows(database, f"INSERT INTO temp.{name}", sought)
    on = " AND ".join(f"kept.{quoted(each)} = sought.v{at}" for at, each in enumerate(columns))
    shown = ", ".join(f"kept.{quoted(each)}" for each in names)
    # CROSS JOIN keeps the order: each value is looked up, the table is never scanned.
    return database.execute(
        f"SELECT {shown} FROM temp.{name} AS sought CROSS JOIN {quoted(table)} AS kept"
        f" ON {on}{rest}"
    ).fetchall()


def insert_rows(
    database: sqlite3.Connection, insert: str, rows: Sequence[Cells], rest: str = ""
) -> None:
    """Insert rows, many by one statement: a statement a row costs several times as much.

    Args:
        database: The file.
        insert: The statement up to `VALUES`.
        rows: Of as many cells each as the statement has columns.
        rest: The statement from after the values on.
    """
    if not rows:
        return
    width = len(rows[0])
    slots = f"({', '.join('?' * width)})"
    size = max(1, min(_ROWS_AT_ONCE, database.getlimit(_VARIABLES) // width))
    whole = len(rows) - len(rows) % size
    together = f"{insert} VALUES {', '.join([slots] * size)}{rest}"
    for start in range(0, whole, size):
        database.execute(together, list(chain.from_iterable(rows[start : start + size])))
    database.executemany(f"{insert} VALUES {slots}{rest}", rows[whole:])


def columns_of_table(database: sqlite3.Connection, table: str) -> dict[str, Column]:
    """Return the columns of a table as it stands; none where it does not."""
    told = database.execute(f"PRAGMA table_info({quoted(table)})")
    return {name: Column(type, bool(key)) for _, name, type, _, _, key in told}


def check_names(names: Iterable[str], what: str = "tables") -> None:
    """Refuse tables, or columns of one, whose names differ by case alone: they are one.

    Raises:
        StoreError: Two do.
    """
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise StoreError(
                f'SQLite cannot tell the {what} "{other}" and "{name}" apart',
                hint="Rename one, or use another solution, or keep join state in PostgreSQL.",
            )


def failure(error: Exception, path: Path) -> StoreError:
    """Return the error that tells a failure of the database."""
    kind = StoreUnavailableError if passes(error) else StoreError
    return kind(
        f"could not use the database {path}",
        detail=f"{error}.",
        hint="Unlock the file, free disk space, or name another file, then start the run again.",
    )


_DECLARED = {
    "boolean": "BOOLEAN",
    "byte": "INTEGER",
    "short": "INTEGER",
    "int": "INTEGER",
    "long": "INTEGER",
    "float": "",
    "double": "",
    "binary": "BLOB",
    **dict.fromkeys(("string", "date", "timestamp", "timestamp_ntz", "void"), "TEXT"),
}


def declared_type(kind: DataType) -> str:
    """Return the type that a column is declared with; empty for none."""
    return _DECLARED[kind.name] if isinstance(kind, Atomic) else "TEXT"


def to_cell(kind: DataType) -> Convert | None:
    """Return the function from a value that is not null to a cell; None where it stays."""
    match kind:
        case Decimal():
            return exact_text(kind)
        case Array() | Map() | Struct():
            return json_text(kind)
        case Atomic("float" | "double"):
            return _number
        case Atomic("timestamp"):
            return utc_text
        case Atomic("timestamp_ntz"):
            return local_text
        case Atomic("date"):
            return lambda value: value.isoformat()
        case Atomic("boolean" | "byte" | "short" | "int" | "long" | "string" | "binary" | "void"):
            return None
        case Atomic(name):
            raise TypeError(f"no column holds {name}")


def from_cell(kind: DataType) -> Convert | None:
    """Return the way back from `to_cell`."""
    match kind:
        case Decimal():
            return decimal.Decimal
        case Array() | Map() | Struct():
            return from_json_text(kind)
        case Atomic("float" | "double"):
            return float
        case Atomic("boolean"):
            return bool
        case Atomic("timestamp" | "timestamp_ntz"):
            return dt.datetime.fromisoformat
        case Atomic("date"):
            return dt.date.fromisoformat
        case Atomic("byte" | "short" | "int" | "long" | "string" | "binary" | "void"):
            return None
        case Atomic(name):
            raise TypeError(f"no column holds {name}")


def _number(value: Any) -> Any:
    return "NaN" if value != value else value
