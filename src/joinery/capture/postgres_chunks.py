"""The rows of a table of PostgreSQL in chunks, by its primary key: each in one short statement.

What the server's own order of keys is, collations and all, is its affair: the bounds are values
that it told, and goes by.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.capture.bulk_row import Place, bulk_columns, line_of
from joinery.capture.chunks import Chunks, begin_anew, rows_of_chunk, write_chunk
from joinery.capture.sql import quote_name, quote_table, quote_text
from joinery.capture.tables import replaced

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

_log = logging.getLogger(__name__)
_SESSION = (
    "set client_encoding = 'UTF8'",
    "set timezone = 'UTC'",
    "set datestyle = 'ISO'",
    "set extra_float_digits = 3",
    "set statement_timeout = 0",
    # One thread reads all tables: a lock on one of them holds up no other.
    "set lock_timeout = '5s'",
    # Rows that the user may not see are refused, not left out.
    "set row_security = off",
    # A chunk's bounds are an index's: no other plan is meant.
    "set enable_seqscan = off",
    "set enable_bitmapscan = off",
)
_TABLE = """
select c.oid, c.relkind::text, c.reltuples, pg_table_size(c.oid)
from pg_class as c where c.oid = %s::regclass
"""
_KEY = """
select a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation::bigint
from pg_index as i
cross join unnest(i.indkey::int2[]) with ordinality as k (number, place)
join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.number
where i.indrelid = %s and i.indisprimary and k.place <= i.indnkeyatts
order by k.place
"""
# A line has none of the bytes that would make it stand in quotes.
_COPY = """
copy (select {text} from (select {columns} from {table} as t where {where} order by {key}) as r)
to stdout with (format csv, delimiter E'\\x02', quote E'\\x01')
"""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose rows are read by its key."""

    oid: int
    name: str
    key: Sequence[tuple[str, str, int]]
    row_bytes: float

    def row(self) -> str:
        """The key of a row, as SQL."""
        return ", ".join(f"t.{quote_name(name)}" for name, _, _ in self.key)

    def values(self, texts: Sequence[str]) -> str:
        """A key that was told as texts, as SQL."""
        typed = zip(texts, self.key, strict=True)
        return ", ".join(f"{quote_text(text)}::{type_}" for text, (_, type_, _) in typed)

    def names(self) -> tuple[str, ...]:
        """The columns of the key."""
        return tuple(name for name, _, _ in self.key)

    def types(self) -> tuple[str, ...]:
        """What orders the key: the type of each column, and its collation."""
        return tuple(f"{type_} {collation}" for _, type_, collation in self.key)


def begin_session(link: Link) -> None:
    """Have a connection tell values as the files have them."""
    for each in _SESSION:
        link.execute(each.encode())


def can_chunk(link: Link, table: str) -> bool:
    """Return whether a table can be read so: it has a primary key, and all its types are known."""
    known = _table(link, table)
    return bool(known.key) and all(bulk_columns(link, known.oid).values())


def read_chunk(link: Link, table: str, done: Chunks, folder: Path) -> Chunks:
    """Read the next rows of a table into a file; return how far that is, which is noted.

    Args:
        link: To its database, with a session begun.
        table: As schema.table.
        done: How far it has been read. Where the key is not the one by which that was, the table
            is read from the start.
        folder: Of the table's rows.

    Raises:
        CaptureError: The table is another one than when its reading began.
    """
    known = _table(link, table)
    if done.oid not in (0, known.oid):
        raise replaced(table)
    key, types = known.names(), known.types()
    if (done.key, done.types) != (key, types):
        if done.chunks:
            _log.warning("the primary key of table %s was altered: reading it again", table)
        done = replace(begin_anew(done, folder), key=key, types=types)
    bound = _bound(link, known, done)
    where = _between(known, done.last, bound)
    line = line_of(link, known.oid, table, (), Place(done.place, int(time.time() * 1000)))
    statement = _COPY.format(
        text=line.text, columns=line.columns, table=known.name, where=where, key=known.row()
    )
    number = done.chunks + 1
    with link.cursor().copy(statement.encode()) as copied:
        rows, size = write_chunk(copied, folder / f"{number:016d}.jsonl")
    read = replace(done, last=bound or (), chunks=number, over=not bound)
    read = replace(read, rows=done.rows + rows, bytes=done.bytes + size)
    read.note(folder)
    return read


def _table(link: Link, table: str) -> _Table:
    name = quote_table(table)
    found = link.execute(_TABLE, (name,)).fetchone()
    assert found is not None  # the cast to a table fails where there is none
    oid, kind, rows, size = found
    # Of a table that was never analysed, and of one that is in parts, a server knows no rows.
    wide = size / rows if rows > 0 and size > 0 else 0.0
    return _Table(
        oid,
        # Tables that inherit from it have changes of their own; the parts of a table have not.
        name if kind == "p" else f"only {name}",
        link.execute(_KEY, (oid,)).fetchall(),
        wide,
    )


def _bound(link: Link, table: _Table, done: Chunks) -> tuple[str, ...] | None:
    """Return the last key of the next chunk; None where fewer rows than a chunk's are left."""
    texts = ", ".join(f"t.{quote_name(name)}::text" for name in table.names())
    skipped = rows_of_chunk(done, table.row_bytes) - 1
    found = link.execute(
        f"select {texts} from {table.name} as t where {_between(table, done.last, None)}"
        f" order by {table.row()} offset {skipped} limit 1".encode()
    ).fetchone()
    return None if found is None else tuple(map(str, found))


def _between(table: _Table, last: Sequence[str], bound: Sequence[str] | None) -> str:
    parts = []
    if last:
        parts.append(f"({table.row()}) > ({table.values(last)})")
    if bound:
        parts.append(f"({table.row()}) <= ({table.values(bound)})")
    return " and ".join(parts) or "true"
