"""The rows of a table of MySQL or MariaDB in chunks, by its primary key: each in one statement.

In which order keys are is the server's affair, collations and all: where a chunk begins is told
as the very bytes that the server gave of the last key, in the column's own character set and
collation.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joinery.capture.bulk_row import Place
from joinery.capture.chunks import Chunks, begin_anew, rows_of_chunk, write_chunk
from joinery.capture.mysql_row import Column, columns_of, line_of, quote_name, quote_table
from joinery.clients.mysql import MysqlLink

_log = logging.getLogger(__name__)
_LOCK_S = 5
_SESSION = (
    # What was not committed may be taken back: no chunk sees it, whatever the server is set to.
    "set session transaction isolation level repeatable read",
    "set session time_zone = '+00:00'",
    "set session sql_select_limit = 18446744073709551615",
    # One thread reads all tables: a table that is being altered holds up no other for long.
    f"set session lock_wait_timeout = {_LOCK_S}",
)
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
_TEXTS = ("char", "varchar")
_BYTES = ("binary", "varbinary")
_TIMES = ("date", "datetime", "timestamp", "time")


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose rows are read by its key.

    Attributes:
        line: Of a row `t`, as SQL.
        key: The columns of its primary key.
        row_bytes: How wide its rows are by the server's statistics; 0 where it has none.
    """

    name: str
    line: str
    key: Sequence[Column]
    row_bytes: float

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the key."""
        return tuple(each.name for each in self.key)

    @property
    def types(self) -> tuple[str, ...]:
        """What orders the key: the type of each column, and its collation."""
        return tuple(f"{each.whole_type} {each.collation}".rstrip() for each in self.key)


def begin_session(link: MysqlLink) -> None:
    """Have a connection tell values as the files have them."""
    for each in _SESSION:
        link.rows(each)


def read_chunk(link: MysqlLink, table: str, done: Chunks, folder: Path) -> bool:
    """Read the next rows of a table into a file, and note how far that is.

    Args:
        link: To its server, with a session begun.
        table: As database.table.
        done: How far it has been read. Where the key is not the one by which that was, the table
            is read from the start.
        folder: Of the table's rows.

    Returns:
        False where the table cannot be read so, and nothing was noted.

    Raises:
        MysqlError: The server is gone, or refuses.
        OSError: The rows could not be written.
    """
    known = _table(link, table, Place(done.place, int(time.time() * 1000)))
    if known is None:
        return False
    if (done.key, done.types) != (known.names, known.types):
        if done.chunks:
            _log.warning("the primary key of table %s was altered: reading it again", table)
        done = replace(begin_anew(done, folder), key=known.names, types=known.types)
    count, number = rows_of_chunk(done, known.row_bytes), done.chunks + 1
    rows = _Rows(link.each(_statement(known, done.last, count)))
    try:
        lines, size = write_chunk(rows.lines(), folder / f"{number:016d}.jsonl")
    except _NotToldError:
        return False
    read = replace(done, last=rows.last, chunks=number, over=lines < count)
    replace(read, rows=done.rows + lines, bytes=done.bytes + size).note(folder)
    return True


class _NotToldError(Exception):
    """A row has a value that the server does not tell as the connector does."""


class _Rows:
    """The rows of a chunk; remembers the key of the last."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._rows = rows
        self.last: tuple[str, ...] = ()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines."""
        for line, *key in self._rows:
            if line is None:
                raise _NotToldError
            yield line
            self.last = tuple(_text(each) for each in key)


def _table(link: MysqlLink, table: str, place: Place) -> _Table | None:
    """Return a table as it is read; None where it cannot be read in chunks."""
    columns = {each.name: each for each in columns_of(link, table)}
    line = line_of([*columns.values()], table, place)
    quoted = quote_table(table)
    # A part of a column, or one in falling order, is not what rows are compared by here.
    parts = sorted(
        (int(number), str(name), str(order) == "A" and part is None)
        for _, _, index, number, name, order, _, part, *_ in link.rows(
            f"show index from {quoted} where key_name = 'PRIMARY'"
        )
    )
    key = [columns[name] for _, name, whole in parts if whole]
    if line is None or not key or len(key) < len(parts) or not all(map(_told_key, key)):
        return None
    found = link.rows(
        "select avg_row_length from information_schema.tables"
        " where table_schema = %s and table_name = %s",
        *table.split(".", 1),
    )
    return _Table(quoted, line, key, float(found[0][0] or 0) if found else 0.0)


def _told_key(column: Column) -> bool:
    return _literal(column, "") is not None


def _statement(table: _Table, last: Sequence[str], count: int) -> str:
    """Return what reads the next rows, and their keys, as texts from which SQL can be made."""
    key = [f"t.{quote_name(each.name)}" for each in table.key]
    told = [
        f"hex({name})" if each.type in (*_TEXTS, *_BYTES) else f"cast({name} as char)"
        for each, name in zip(table.key, key, strict=True)
    ]
    return (
        f"select {', '.join((table.line, *told))} from {table.name} as t force index (primary)"
        f" where {_after(table.key, last)} order by {', '.join(key)} limit {count}"
    )


def _after(key: Sequence[Column], last: Sequence[str]) -> str:
    """Return the condition of rows behind a key.

    Not as a comparison of rows, for which servers read all that come before.
    """
    if not last:
        return "true"
    pairs = [
        (f"t.{quote_name(each.name)}", _literal(each, text))
        for each, text in zip(key, last, strict=True)
    ]
    parts = []
    for number, (name, value) in enumerate(pairs):
        same = [f"{one} = {its}" for one, its in pairs[:number]]
        parts.append(" and ".join((*same, f"{name} > {value}")))
    first, value = pairs[0]
    return f"{first} >= {value} and ({' or '.join(parts)})"


def _literal(column: Column, text: str) -> str | None:
    """Return a key that was told as a text, as SQL; None where its type is not ordered so.

    Example:
        >>> _literal(Column(name="id", type="bigint", whole_type="bigint"), "12")
        '12'
        >>> _literal(Column(name="at", type="date", whole_type="date"), "2026-01-31")
        "'2026-01-31'"
        >>> word = Column(
        ...     name="word",
        ...     type="char",
        ...     whole_type="char(3)",
        ...     charset="latin1",
        ...     collation="latin1_swedish_ci",
        ... )
        >>> _literal(word, "E9"), _literal(Column(name="e", type="enum", whole_type=""), "a")
        ("_latin1 x'E9' collate latin1_swedish_ci", None)
    """
    if column.type in (*_INTEGERS, "decimal"):
        return text
    if column.type in _TIMES:
        return f"'{text}'"
    if column.type in _BYTES:
        return f"x'{text}'"
    if column.type in _TEXTS:
        return f"_{column.charset} x'{text}' collate {column.collation}"
    return None


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
