"""How a capture begins: a slot of PostgreSQL, tables that are read in bulk or beside the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from joinery.capture.bulk import Reading
from joinery.capture.database import LogDatabase
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.postgres import PostgresDatabase, make_slot
from joinery.capture.sealing import LineSeal
from joinery.capture.spool import SpoolFolder
from joinery.capture.watched import Watched
from joinery.clients.postgres import database_errors


class Beginning:
    """One attempt to begin.

    Args:
        spool: Claimed.
        bulk: By table, the columns that relations have: the tables are read in bulk. None leaves
            them to be read beside the log.
        goes_on: Whether the attempt may go on; asked by another thread, again and again.
    """

    def __init__(
        self,
        spool: SpoolFolder,
        *,
        bulk: Mapping[str, Collection[str]] | None,
        goes_on: Callable[[], bool],
    ) -> None:
        self._spool, self._bulk, self._watched = spool, bulk, Watched(goes_on)

    @property
    def broken(self) -> bool:
        """Whether the attempt was broken off."""
        return self._watched.broken

    def run(self, database: LogDatabase, seal: LineSeal | None) -> bool:
        """Make the slot, and read the tables where that is to be done in bulk.

        A binary log has no slot: its connector follows it from where it finds its end.

        Args:
            database: Whose log.
            seal: Under what lines are sealed; None where none are.

        Returns:
            Whether the log can be followed; else another process is at it.
        """
        with self._spool.locked() as ours, self._watched.watching():
            if not ours or self._spool.position is not None:
                return ours
            if isinstance(database, MysqlDatabase):
                self._spool.note_begins(database.tables)
                return True
            begun_at = database.prepare(self._spool).begun_at
            needed = self._bulk
            if needed is None:
                self._make_slot(database)
                return True
            Reading(
                database,
                self._spool,
                begun_at,
                needed=needed,
                seal=seal,
                ended=lambda: self.broken,
                on_link=self._watched.set_link,
            ).run()
            return True

    def _make_slot(self, database: PostgresDatabase) -> None:
        """Make the slot; the tables are read beside the log that follows from it."""
        self._spool.note_begins(database.tables)
        with database.connect() as link:
            self._watched.set_link(link)
            try:
                follows = make_slot(link, database)
            except database_errors() as error:
                raise database.failure(error) from error
        self._spool.note_read(database.slot, follows, 0)
