"""Tables whose rows are read beside the log: at first, as they join a spool, or once more.

The tables are in the publication, and the connector follows them, before this begins. A place in
the log is taken then, and waited until every transaction has ended that had begun by then. What a
reading does not see was written by transactions that began after the place: its rows get that
place, so whatever they lack is newer. No row comes back, since what took it away is newer, too.

A table with a primary key is read in chunks; one without, one whose lines are sealed, or with a
column whose values the server does not tell as the connector does, by a connector, in one
transaction.

Invariant: rows are in the spool whole or not at all, and no failure to read them, however long it
lasts, holds up the log. One at a time reads beside the log of a spool, whoever else was told to.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue

from joinery.capture.chunks import Chunks, begin_anew
from joinery.capture.database import LogDatabase
from joinery.capture.keep import SpoolKeep
from joinery.capture.reading import reading_of
from joinery.capture.server import Prepared, ServerAwayError, ServerShortError
from joinery.capture.spool import GONE, CaptureError, Identity, SpoolFolder
from joinery.capture.tables import replaced
from joinery.model.warning import RunWarning
from joinery.retry import Patience

_log = logging.getLogger(__name__)
_LOOK_S = 0.2
_LASTING = 3  # failures in a row
_PATIENCE = Patience(first_s=0.5, longest_s=30.0)


class Joining:
    """The readings beside one process of a capture.

    Args:
        database: Whose log the process follows, with the tables that it follows or lacks.
        spool: Into which.
        prepared: What the process was started with.
        ask: Gives the process a line.
        on_warning: Told of a table that cannot be read.
        sealed: Tables whose lines the process seals, so that it reads them itself.
    """

    def __init__(
        self,
        database: LogDatabase,
        spool: SpoolFolder,
        prepared: Prepared,
        *,
        ask: Callable[[str], None],
        on_warning: Callable[[RunWarning], None] = lambda warning: None,
        sealed: Collection[str] = (),
    ) -> None:
        self._database, self._spool, self._sealed = database, spool, sealed
        self._prepared, self._ask, self._on_warning = prepared, ask, on_warning
        self._link = reading_of(database)
        self._closing = False
        self._ready: set[str] = set()
        self._failed: dict[str, int] = {}
        self._again_at: dict[str, float] = {}
        self._reasons: dict[str, str] = {}
        self._warned: dict[str, str] = {}
        self._asked: deque[str] = deque()  # The process answers in this order.
        self._answers: SimpleQueue[str] = SimpleQueue()
        self.mended = False
        self.errors: Mapping[str, CaptureError] = {}

    def run(self, ended: threading.Event) -> None:
        """Read what is to be read, until the process has ended.

        It begins once whoever reads beside the log of this spool has ended, such as what was begun
        beside the process before, and still waits for a server that does not answer.
        """
        while not ended.is_set():
            with self._spool.reading() as alone:
                if alone:
                    self._run(ended)
            ended.wait(_LOOK_S)

    def _run(self, ended: threading.Event) -> None:
        try:
            self._begin()
            while not ended.is_set():
                try:
                    more = self.look()
                except OSError as error:  # such as a full disk: nothing was noted: it is done again
                    _log.warning("could not read tables, trying again: %s", error)
                    more = False
                if not more:
                    ended.wait(_LOOK_S)
        finally:
            self._link.close()

    def _begin(self) -> None:
        known = self._spool.identity
        self._spool.note_unreadable({})
        for table in self._prepared.lacking:
            self._spool.forget(table)  # What it misses now is read from the start.
        if known is not None and known.joining:
            with suppress(CaptureError):
                self._database.mark()  # The process need not wait for a heartbeat.

    def close(self) -> None:
        """Break off what is asked of the server now."""
        self._closing = True
        self._link.cancel()

    def look(self) -> bool:
        """Do the next step of each table that is to be read; return whether the next is due."""
        known = self._spool.identity
        if known is None or self._spool.position is None:
            return False
        while not self._answers.empty():
            self._hear(self._answers.get())
            known = self._spool.identity or known
        if not known.joining:
            self._link.close()  # Tables are seldom read; a connection is not held for that.
        now = time.monotonic()
        # One that the process does not follow yet has to wait for the next: changes would lack.
        read = [each for each in known.joining if each not in known.awaited]
        followed = [each for each in read if each in self._database.tables]
        more = [self._try(each) for each in followed if now >= self._again_at.get(each, 0.0)]
        self._place(known)
        return any(more)

    def _try(self, table: str) -> bool:
        try:
            return self._step(table)
        except CaptureError as error:
            self._fail(table, error)
        except OSError as error:
            message = f"could not write the rows of table {table}: {error.strerror}"
            self._fail(table, CaptureError(message))
        return False

    def _step(self, table: str) -> bool:
        """Do what comes next for a table; return whether more can be done at once."""
        if table in self._prepared.lacking:
            self._database.check_joining(table)
            self.mended = True
            return False
        if table in self._asked:
            return False
        done = Chunks.noted(self._spool.rows(table)) or self._begun(table)
        if table not in self._ready:
            if not self._link.ended_before(done.transaction):
                return False
            self._ready.add(table)
        if done.over:
            return False
        if table in self._sealed or not self._read(table, done):
            settings = self._database.reading_settings(self._prepared.settings, (table,))
            self._request(table, connector=settings, begun_at=done.place)
        return True

    def _begun(self, table: str) -> Chunks:
        self._database.check_joining(table)
        first = SpoolKeep(self._spool).begin_reading(table)
        done = self._link.begin(table, first)
        if self._spool.table_oids.get(table, done.oid) != done.oid:
            raise replaced(table)
        done.note(self._spool.rows(table))
        return done

    def _read(self, table: str, done: Chunks) -> bool:
        """Read a chunk; return False where a table cannot be read so."""
        rows = self._spool.rows(table)
        if self._link.read(table, done, rows):
            self._recover(table)
            return True
        if done.chunks:
            self._database.check_joining(table)  # It may have lost its key, and tell no more rows.
            _log.warning("table %s can no longer be read in chunks: reading it again", table)
            begin_anew(done, rows)
        return False

    def _request(self, table: str, **more: object) -> None:
        rows = self._spool.rows(table).absolute()
        self._asked.append(table)
        self._ask(json.dumps({"table": table, "rows": str(rows), **more}))

    def _place(self, known: Identity) -> None:
        """Have the rows of tables put in place that were read.

        Tables of which nothing was told yet wait for each other: a document has rows of several.
        """
        over = {e for e in known.joining if e not in known.awaited and self._is_over(e)}
        waited = {e for e in known.unread if not (e in self._prepared.lacking or e in self.errors)}
        for table in sorted(over - {*self._asked}):
            if table not in known.unread or waited <= over:
                self._request(table)

    def _is_over(self, table: str) -> bool:
        done = Chunks.noted(self._spool.rows(table))
        return done is not None and done.over

    def answered(self, answer: str) -> None:
        """Take what the process says: that a table was read, or why not, or is in place."""
        self._answers.put(answer)

    def _hear(self, answer: str) -> None:
        table = self._asked.popleft()
        if answer == "placed":
            self._finish(table)
        elif answer == "read":
            done = Chunks.noted(self._spool.rows(table))
            assert done is not None  # begun before it was asked for
            replace(done, over=True).note(self._spool.rows(table))
            self._recover(table)
        else:
            message = f"table {table} could not be read: {answer.removeprefix('unread ')}"
            self._fail(table, CaptureError(message, hint=f"See its log, {self._spool.log}."))

    def _finish(self, table: str) -> None:
        known, done = self._spool.identity, Chunks.noted(self._spool.rows(table))
        if known is not None and done is not None:
            SpoolKeep(self._spool).note_read(table, done.first, known.tables)
            if done.oid and self._spool.table_oids.get(table) != GONE:
                self._spool.note_table_oids({table: done.oid})
            self._spool.forget(table)
            self._spool.note_joined(table)
        self._ready.discard(table)

    def _fail(self, table: str, error: CaptureError) -> None:
        if self._closing:
            return
        failed = self._failed[table] = self._failed.get(table, 0) + 1
        self._again_at[table] = time.monotonic() + _PATIENCE.wait_s(failed)
        # A server that is away is waited for; one that is short of something may stay so.
        away = isinstance(error, ServerAwayError) and not isinstance(error, ServerShortError)
        if failed >= _LASTING and not away:
            self.errors = {**self.errors, table: error}
        told = " ".join(each for each in (f"{error.message}.", error.detail, error.hint) if each)
        if self._reasons.get(table) != told:
            self._reasons[table] = told
            self._spool.note_unreadable(self._reasons)
            _log.warning("table %s is not read yet: %s", table, told)
        if failed >= _LASTING or not isinstance(error, ServerAwayError):
            self._warn(table, error, told)

    def _warn(self, table: str, error: CaptureError, told: str) -> None:
        if self._warned.get(table) == told:
            return
        self._warned[table] = told
        self._on_warning(
            RunWarning(
                code="WARN_UNREAD",
                about=f"table {table}",
                message=f"table {table} is not read yet: {error.message}",
                detail=error.detail,
                hint=f"{error.hint} It is tried again; other tables are read meanwhile.".strip(),
            )
        )

    def _recover(self, table: str) -> None:
        self._failed.pop(table, None)
        self._warned.pop(table, None)
        if self._reasons.pop(table, None) is not None:
            self._spool.note_unreadable(self._reasons)
        self.errors = {name: each for name, each in self.errors.items() if name != table}
