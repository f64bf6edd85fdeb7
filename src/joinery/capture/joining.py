"""Tables that join a spool while the log is followed, or are read once more: beside the log.

The tables are in the publication, and the connector follows them, before this begins. A place in
the log is taken then, and waited until every transaction has ended that had begun by then. What a
reading does not see now was written by transactions that began after the place: its rows get that
place, so whatever they lack is newer. No row comes back, since what took it away is newer, too.

Invariant: rows are in the spool whole or not at all; broken off, they are read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from joinery.capture.keep import SpoolKeep
from joinery.capture.server import (
    Database,
    ServerAwayError,
    ended_before,
    place_and_transaction,
    reading_settings,
)
from joinery.capture.spool import SpoolFolder


class Joining:
    """The readings beside one process of a capture.

    Args:
        database: Whose log the process follows, with the tables that it follows.
        spool: Into which.
        settings: Of the process's connector.
        ask: Gives the process a line.
    """

    def __init__(
        self,
        database: Database,
        spool: SpoolFolder,
        settings: Mapping[str, str],
        ask: Callable[[str], None],
    ) -> None:
        self._database, self._spool = database, spool
        self._settings, self._ask = settings, ask
        self._tables: tuple[str, ...] = ()
        self._begun: tuple[int, int] | None = None
        self._asked = False

    def look(self) -> None:
        """Do what can be done now for tables that are to be read."""
        known = self._spool.identity
        if known is None or not known.joining or self._asked or self._spool.position is None:
            return
        try:
            if self._begun is None:
                self._tables = known.joining
                self._begun = place_and_transaction(self._database)
            place, transaction = self._begun
            if not ended_before(self._database, transaction):
                return
        except ServerAwayError:
            return  # the capture itself waits for it
        settings = reading_settings(self._settings, self._tables)
        self._ask(json.dumps({"connector": settings, "begun_at": place}))
        self._asked = True

    def read(self, first: int) -> None:
        """Note that the tables are in the spool, from the file of this number on."""
        known = self._spool.identity
        if known is not None and {*self._tables} == {*known.tables}:
            SpoolKeep(self._spool).note_whole(first)
        self._spool.note_joined(self._tables)
        self._begun, self._asked = None, False
