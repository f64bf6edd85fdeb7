"""The connection by which tables of PostgreSQL are read: one, kept, and another after a failure.

Invariant: once something has failed on it, the connection is closed, and the next use opens
another; so a reading holds one connection at most, and none after `close`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.capture.chunks import Chunks
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.postgres_chunks import begin_session, can_chunk, read_chunk
from joinery.capture.sql import number_of
from joinery.capture.tables import oid_of
from joinery.clients.postgres import database_errors

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

_CANCEL_S = 2.0
_PLACE = "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
_TRANSACTION = "select pg_current_xact_id()::text::bigint"
_OLDEST = "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


class PostgresReading:
    """Asks a database for the rows of tables; used by one thread, but for `cancel`.

    All of its methods raise ServerAwayError where the server is not there now, and CaptureError
    where it refuses.

    Args:
        database: Whose tables.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._link: Link | None = None

    def begin(self, table: str, first: int) -> Chunks:
        """Return a reading that begins now, before which every transaction began that it misses.

        Args:
            table: As schema.table.
            first: The number of the first change file that may have what it misses.
        """
        with self._used() as link:
            place = number_of(link, _PLACE)
            transaction = number_of(link, _TRANSACTION)
            oid = oid_of(link, table)
        return Chunks(place=place, transaction=transaction, first=first, oid=oid)

    def ended_before(self, transaction: int) -> bool:
        """Return whether all transactions have ended that began before one."""
        with self._used() as link:
            return number_of(link, _OLDEST) >= transaction

    def read(self, table: str, done: Chunks, folder: Path) -> bool:
        """Read the next chunk of a table; return False where it cannot be read in chunks."""
        with self._used() as link:
            if not can_chunk(link, table):
                return False
            read_chunk(link, table, done, folder)
            return True

    def cancel(self) -> None:
        """Break off what is asked of the server now; may be called by another thread."""
        link = self._link
        if link is not None:
            with suppress(*database_errors()):
                link.cancel_safe(timeout=_CANCEL_S)

    def close(self) -> None:
        """Give the connection up; the next use opens another."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    @contextmanager
    def _used(self) -> Iterator[Link]:
        try:
            if self._link is None:
                self._link = self._database.connect()
                begin_session(self._link)
            yield self._link
        except database_errors() as error:
            self.close()
            raise self._database.failure(error) from error
