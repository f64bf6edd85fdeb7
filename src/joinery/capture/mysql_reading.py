"""The connection by which tables of MySQL or MariaDB are read beside the log: one, kept.

Invariant: once something has failed on it, the connection is closed, and the next use opens
another; so a reading holds one connection at most, and none after `close`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joinery.capture.chunks import Chunks
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.mysql_chunks import begin_session, read_chunk
from joinery.capture.mysql_log import visible_place, visible_place_of
from joinery.capture.mysql_row import quote_table
from joinery.clients.mysql import MysqlError, MysqlLink


class MysqlReading:
    """Asks a server for the rows of tables; used by one thread, but for `cancel`.

    All of its methods raise ServerAwayError where the server is not there now, and CaptureError
    where it refuses.

    Args:
        database: Whose tables.
    """

    def __init__(self, database: MysqlDatabase) -> None:
        self._database = database
        self._link: MysqlLink | None = None
        self._placed: tuple[int, int] | None = None

    def begin(self, table: str, first: int) -> Chunks:
        """Return a reading that begins now, whose place is before all that it misses.

        A place serves all tables that begin before another change file is complete: whatever is in
        files before the first was visible when it was taken. One that was taken with a single
        table locked serves only that table.

        Args:
            table: As database.table.
            first: The number of the first change file that may have what it misses.
        """
        if self._placed is None or self._placed[0] != first:
            with self._used() as link:
                place = visible_place(link)
                if place is None:
                    of_table = visible_place_of(link, quote_table(table))
                    return Chunks(place=of_table, transaction=0, first=first)
            self._placed = (first, place)
        return Chunks(place=self._placed[1], transaction=0, first=first)

    def ended_before(self, transaction: int) -> bool:
        """Return that nothing has to end: the place of a reading is one before all that is open."""
        return True

    def read(self, table: str, done: Chunks, folder: Path) -> bool:
        """Read the next chunk of a table; return False where it cannot be read in chunks."""
        with self._used() as link:
            return read_chunk(link, table, done, folder)

    def cancel(self) -> None:
        """Do nothing: what is asked of the server is over soon."""

    def close(self) -> None:
        """Give the connection up; the next use opens another."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    @contextmanager
    def _used(self) -> Iterator[MysqlLink]:
        try:
            if self._link is None:
                self._link = self._database.connect()
                begin_session(self._link)
            yield self._link
        except MysqlError as error:
            self.close()
            raise self._database.failure(error) from error
