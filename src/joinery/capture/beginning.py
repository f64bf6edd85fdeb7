"""The beginning of a capture of PostgreSQL: its slot, and the tables where they are read in bulk.

There is no process yet that could be ended, so the log that the new slot keeps is looked after by
a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from joinery.capture.bulk import Reading
from joinery.capture.database import LogDatabase
from joinery.capture.postgres import PostgresDatabase, make_slot
from joinery.capture.spool import SpoolFolder
from joinery.clients.postgres import database_errors

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

_LOOK_S = 0.5
_END_S = 2.0


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
        self._spool, self._bulk, self._goes_on = spool, bulk, goes_on
        self._link: Link | None = None
        self.broken = False

    def run(self, database: LogDatabase) -> bool:
        """Make the slot, and read the tables where that is to be done in bulk.

        Args:
            database: One that has slots.

        Returns:
            Whether the log can be followed; else another process is at it.
        """
        assert isinstance(database, PostgresDatabase)  # others have no slot
        with self._spool.locked() as ours, self._watched():
            if not ours or self._spool.position is not None:
                return ours
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
                ended=lambda: self.broken,
                on_link=self._set_link,
            ).run()
            return True

    def _make_slot(self, database: PostgresDatabase) -> None:
        """Make the slot; the tables are read beside the log that follows from it."""
        self._spool.note_begins(database.tables)
        with database.connect() as link:
            self._set_link(link)
            try:
                follows = make_slot(link, database)
            except database_errors() as error:
                raise database.failure(error) from error
        self._spool.note_read(database.slot, follows, 0)

    def _set_link(self, link: Link) -> None:
        self._link = link

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Look after the log while there is no process yet that could be ended."""
        over = threading.Event()
        watching = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join(_END_S)  # it may be asking a server that does not answer

    def _watch(self, over: threading.Event) -> None:
        """Break off the beginning where it may not go on, as often as it takes."""
        while not over.wait(_LOOK_S):
            if self.broken or not self._goes_on():
                self.broken = True
                if self._link is not None:
                    with suppress(*database_errors()):
                        self._link.cancel()
