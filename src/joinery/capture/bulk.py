"""The first reading of tables in bulk: copied as of the slot's own place, then the log.

The slot is made with a snapshot that shows what was committed before its place, and nothing
else. Several connections copy pieces of the tables from it into files, whose lines the server
makes; then the position is noted, and the connector follows the log from there.

Invariant: until the position is noted, the files stand aside and the slot is one that was not
finished: broken off at any moment, the reading starts over with another slot, so no row that went
meanwhile is left behind.
"""

from __future__ import annotations

import base64
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from joinery.capture.bulk_row import Line, Place, line_of
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.sealing import LineSeal
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.sql import quote_name, quote_table, text_of
from joinery.clients.postgres import database_errors
from joinery.files import sync_folder
from joinery.vault.lines import sealer_under

if TYPE_CHECKING:
    import psycopg
    from psycopg.abc import Buffer

    Link = psycopg.Connection[tuple[Any, ...]]

_READERS = 4
_PAGE_BYTES = 8192
_PIECE_BYTES = 8 << 20
_SESSION = """
set client_encoding = 'UTF8';
set timezone = 'UTC';
set datestyle = 'ISO';
set extra_float_digits = 3;
set statement_timeout = 0;
set row_security = off;
begin isolation level repeatable read read only;
set transaction snapshot '{}'
"""
# A line has none of the bytes that would make it stand in quotes.
_COPY = """
copy (select {text} from (select {columns} from only {table} as t where {where}) as r)
to stdout with (format csv, delimiter E'\\x02', quote E'\\x01')
"""
# A table that is not partitioned is in no tree.
_PARTS = """
select n.nspname, c.relname, pg_relation_size(c.oid)
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.oid in (select relid from pg_partition_tree(%(oid)s::oid) where isleaf)
  or (c.oid = %(oid)s::oid and c.relkind = 'r')
order by n.nspname, c.relname
"""


class BrokenOffError(CaptureError):
    """A reading was asked to end."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some pages of a table, and the file that they become."""

    number: int
    table: str
    statement: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads the tables of a database in bulk.

    Attributes:
        database: Prepared for a capture of the spool, which was not begun.
        spool: Claimed.
        begun_at: A place in the log from before the slot is made: that of the rows.
        needed: By table, the columns that relations have.
        seal: Under what the lines of some tables are sealed; None where none are.
        ended: The reading is to be broken off.
        on_link: Told the connection that may have to wait for others, so that it can be cancelled.
    """

    database: PostgresDatabase
    spool: SpoolFolder
    begun_at: int
    needed: Mapping[str, Collection[str]] = field(default_factory=dict)
    seal: LineSeal | None = None
    ended: Callable[[], bool] = lambda: False
    on_link: Callable[[Link], None] = lambda link: None

    def run(self) -> None:
        """Read the tables; the spool is locked.

        Raises:
            ServerAwayError: The server went.
            BrokenOffError: It was asked to end.
            CaptureError: The server refuses, or a table cannot be read so.
        """
        try:
            self._read()
        except database_errors() as error:
            raise self.database.failure(error) from error

    def _read(self) -> None:
        shutil.rmtree(self.spool.aside, ignore_errors=True)
        self.spool.note_begun()
        with self.database.connect() as link:
            pieces = self._pieces(link, Place(self.begun_at, int(time.time() * 1000)))
        # What the snapshot shows may be gone once the connection that made it does something else.
        with self._replication() as slot:
            self.on_link(slot)
            slot.execute("set idle_in_transaction_session_timeout = 0")
            made = slot.execute(
                f'CREATE_REPLICATION_SLOT "{self.database.slot}" LOGICAL pgoutput'.encode()
            ).fetchone()
            assert made is not None  # one row, or an error
            follows, snapshot = _lsn(str(made[1])), str(made[2])
            self._copy(pieces, snapshot)
        self._note(follows, len(pieces))

    def _replication(self) -> Link:
        import psycopg

        return psycopg.connect(self.database.url, autocommit=True, replication="database")

    def _pieces(self, link: Link, place: Place) -> list[_Piece]:
        pieces: list[_Piece] = []
        for table in self.database.tables:
            oid = int(text_of(link, "select %s::regclass::oid", quote_table(table)))
            line = line_of(link, oid, table, self.needed.get(table, ()), place)
            for schema, plain, size in link.execute(_PARTS, {"oid": oid}).fetchall():
                at = f"{quote_name(schema)}.{quote_name(plain)}"
                for statement in _statements(at, line, size):
                    pieces.append(_Piece(len(pieces) + 1, table, statement))
        return pieces

    def _copy(self, pieces: list[_Piece], snapshot: str) -> None:
        readers = min(_READERS, os.cpu_count() or 1, max(1, len(pieces)))
        waiting = iter(pieces)
        with ThreadPoolExecutor(readers, "joinery-bulk") as pool:
            for done in [pool.submit(self._reader, waiting, snapshot) for _ in range(readers)]:
                done.result()

    def _reader(self, waiting: Iterator[_Piece], snapshot: str) -> None:
        with self.database.connect() as link:
            link.execute(_SESSION.format(snapshot).encode())
            try:
                for piece in waiting:  # a list's iterator hands each out once, whoever asks
                    if self.ended():
                        raise BrokenOffError("reading the tables was interrupted")
                    self._write(link, piece)
            except BaseException:
                deque(waiting, maxlen=0)  # the others have no more to do
                raise

    def _write(self, link: Link, piece: _Piece) -> None:
        folder = self.spool.aside / piece.table
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{piece.number:016d}.jsonl"
        seal = self._sealer(piece.table)
        with target.open("wb") as file, link.cursor().copy(piece.statement.encode()) as rows:
            if seal is None:
                file.writelines(rows)
            else:
                file.writelines(seal(each) + b"\n" for each in _lines_of(rows))
            file.flush()
            os.fsync(file.fileno())
        if target.stat().st_size == 0:
            target.unlink()

    def _sealer(self, table: str) -> Callable[[bytes], bytes] | None:
        """Return what seals the lines of a table; None where they stand in clear."""
        if self.seal is None or table not in self.seal.tables:
            return None
        return sealer_under(base64.b64decode(self.seal.key), self.seal.name)

    def _note(self, follows: int, file: int) -> None:
        """Note the position: from now on the files count."""
        for folder in (self.spool.path, *self.spool.aside.glob("*")):
            sync_folder(folder)
        self.spool.note_read(self.database.slot, follows, file)


def _lines_of(parts: Iterable[Buffer]) -> Iterator[bytes]:
    r"""Yield the lines of a text that comes in parts, wherever it is cut.

    Example:
        >>> list(_lines_of([b"one\ntw", b"o", b"\n"]))
        [b'one', b'two']
    """
    rest = b""
    for part in parts:
        *whole, rest = (rest + bytes(part)).split(b"\n")
        yield from whole


def _statements(table: str, line: Line, size: int) -> Iterator[str]:
    """Yield what copies a table piece by piece; the last one is open, for what it grows by."""
    pages, step = -(-size // _PAGE_BYTES), _PIECE_BYTES // _PAGE_BYTES
    for first in range(0, max(1, pages), step):
        where = f"t.ctid >= '({first},0)'"
        if first + step < pages:
            where += f" and t.ctid < '({first + step},0)'"
        yield _COPY.format(text=line.text, columns=line.columns, table=table, where=where)


def _lsn(text: str) -> int:
    """Return a place in the log as a number.

    Example:
        >>> _lsn("1/A0")
        4294967456
    """
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)
