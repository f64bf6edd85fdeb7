"""The capture of one source: a Java process of its own, watched by a thread that judges its ends.

The process writes the spool; the thread asks the server whether it may, starts it, and when it
ends tells an outage, which is waited out, from what somebody has to fix, which ends all.
A spool that another process captures into is left to it.

Invariant: the process ends with whoever started it, however that ends: it reads its end from its
input.
"""

from __future__ import annotations

import json
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import IO, assert_never

from joinery.capture.beginning import Beginning
from joinery.capture.bulk import BrokenOffError
from joinery.capture.database import LogDatabase
from joinery.capture.ended import forget_ended, note_ended
from joinery.capture.full_spool import full_spool
from joinery.capture.joining import Joining
from joinery.capture.keep import Applied
from joinery.capture.moments import check_moments
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.program import Plugin, command
from joinery.capture.restarts import Restarts
from joinery.capture.sealing import LineSeal, Sealing
from joinery.capture.server import Prepared, ServerAwayError
from joinery.capture.spool import CaptureError, SpoolFolder, spool_removed
from joinery.capture.state import drop_slot
from joinery.capture.tending import Tending
from joinery.errors import JoineryError
from joinery.model.progress import Waiting
from joinery.model.warning import RunWarning
from joinery.project.postgres import WalLimit
from joinery.vault.keys import VaultUnavailableError

_log = logging.getLogger(__name__)
_FLUSH_MS = 200
_FOLLOWED_FLUSH_MS = 1000
# Looking for changes every 10 ms takes a tenth of a core, though nothing comes.
_POLL_MS = 30
_FOLLOWED_POLL_MS = 10
_FILE_BYTES = 4 << 20
_LOG_BYTES = 10 << 20
_END_S = 20.0
_LOOK_S = 0.02
_HELD_S = 1.0
_TEND_S = 0.5
_TEND_END_S = 2.0
_DROP_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """How a capture runs.

    Attributes:
        name: The source's.
        program: Returns our jar.
        on_wait: Called by target with what is waited for, and None once that is over.
        bulk: By table, the columns that relations have: the tables of PostgreSQL are read in bulk.
            None has them read beside the log.
        once: A relation counts every record that it is told: the first reading must not tell what
            the log tells too, so the connector reads all tables as of the slot's own place.
        on_warning: Told what someone should look at.
        keep_s: How long change files are kept at least, in seconds.
        applied: Says what those who read the spool have applied.
        max_wal: How much of its log the database may keep for us.
        columns: By table, the columns that relations declare, which it should have.
        moments: By table, those of them that relations declare as timestamps.
        seal: Returns under which key lines of which tables are sealed on a day; None where none
            are.
        followed: Changes are read as they come, before their files are complete.
    """

    name: str
    program: Callable[[], Path]
    on_wait: Callable[[str, Waiting | None], None] = field(default=lambda target, waiting: None)
    bulk: Mapping[str, Collection[str]] | None = None
    once: bool = False
    on_warning: Callable[[RunWarning], None] = field(default=lambda warning: None)
    keep_s: float = 86_400.0
    applied: Applied = field(default=lambda reader: {})
    max_wal: WalLimit | None = None
    columns: Mapping[str, Collection[str]] = field(default_factory=dict)
    moments: Mapping[str, Collection[str]] = field(default_factory=dict)
    seal: Callable[[date], LineSeal] | None = None
    followed: bool = False


class Capture:
    """Keeps the log of a database flowing into a spool until it is closed.

    Args:
        database: Whose log.
        spool: Claimed.
        options: How.
    """

    def __init__(self, database: LogDatabase, spool: SpoolFolder, options: CaptureOptions) -> None:
        self._database, self._spool, self._options = database, spool, options
        self._closing = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._paused = False
        self._restarts = Restarts(options.name, spool.log, options.on_wait)
        self._joining: Joining | None = None
        self._sealing = Sealing(options.name, options.seal)
        self.error: JoineryError | None = None
        self._tending = Tending(
            database,
            spool,
            name=options.name,
            keep_s=options.keep_s,
            applied=options.applied,
            max_wal=options.max_wal,
            columns=options.columns,
            on_warning=options.on_warning,
        )
        self._thread = threading.Thread(
            target=self._run, name=f"joinery-capture-{options.name}", daemon=True
        )

    @property
    def shown(self) -> str:
        """The source, the database and the spool, for messages."""
        return f'source "{self._options.name}" from {self._database.shown} into {self._spool.path}'

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def reach_end(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Wait until all that the database had committed when this was called is in the spool.

        Args:
            ended: Waiting ends without it once this is true.

        Raises:
            JoineryError: The capture failed.
        """
        end: int | None = None
        while not ended():
            if self.error is not None:
                raise self.error
            if self._joining is not None:
                for error in self._joining.errors.values():
                    raise error
            if self._spool.paused is not None:
                raise CaptureError(
                    f'source "{self._options.name}" is paused, so its end cannot be reached',
                    hint=f"Run joinery source resume {self._options.name}.",
                )
            if end is None:
                end = self._mark()
            if end is not None and self._has(end):
                return
            time.sleep(_LOOK_S)

    def await_tables(self, ended: Callable[[], bool]) -> None:
        """Wait until the tables have been read whole, but for those that cannot be read.

        Not while the source is paused: then what is there is all there is.

        Args:
            ended: Waiting ends without it once this is true.

        Raises:
            JoineryError: The capture failed.
        """
        while not (ended() or self._spool.paused is not None or self._has_tables()):
            if self.error is not None:
                raise self.error
            time.sleep(_LOOK_S)

    def _has_tables(self) -> bool:
        known = self._spool.identity
        awaited = {*known.unread} - {*self._spool.unreadable} if known is not None else {""}
        return self._place is not None and not awaited and not self._spool.aside.exists()

    def _has(self, end: int) -> bool:
        """Return whether the spool has the log up to there, and all tables whole."""
        known = self._spool.identity
        joined = known is not None and not known.joining
        placed = joined and not self._spool.aside.exists()
        try:
            return placed and self._database.reached(self._spool, end)
        except ServerAwayError:
            return False

    def close(self) -> None:
        """End the process, which writes what it holds, and wait for that."""
        self._closing.set()
        self._end_process()
        if self._thread.is_alive():
            self._thread.join()

    def _end_process(self) -> None:
        """Let the process write what it holds, and end."""
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()

    def _tend(self, joining: Joining, ended: threading.Event) -> None:
        """Look after the spool and the slot while the process runs; end it where it has to."""
        while not ended.wait(_TEND_S):
            if (
                self._spool.paused is not None
                or self._tables_changed
                or joining.mended
                or not self._tending.look()
            ):
                if not ended.is_set():
                    self._end_process()
                return
            if (seal := self._sealing.renewed()) is not None:
                self._ask(f"seal {json.dumps(asdict(seal))}")

    @property
    def _tables_changed(self) -> bool:
        known = self._spool.identity
        if known is None:
            return False
        return known.tables != self._database.tables or not {*known.sealed} <= self._sealing.tables

    def _ask(self, line: str) -> None:
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                _tell(self._process.stdin, line)

    def _mark(self) -> int | None:
        try:
            return self._database.mark()
        except ServerAwayError:
            self._closing.wait(_HELD_S)
            return None

    def _run(self) -> None:
        try:
            self._follow()
        except JoineryError as error:
            self.error = error
        except Exception as error:  # a thread's own failure must not be a silent end
            _log.exception("a capture failed")
            self.error = full_spool(self._spool, str(error)) or CaptureError(
                f'the capture of source "{self._options.name}" failed: {error}'
            )
        note_ended(self._spool, self.error)

    def _follow(self) -> None:
        while not self._closing.is_set():
            beginning = Beginning(self._spool, bulk=self._options.bulk, goes_on=self._may_begin)
            self._check_log()
            if self._wait_paused() or self._spool.held():
                self._closing.wait(_HELD_S)
                continue
            try:
                begun = self._prepared(beginning)
            except (ServerAwayError, VaultUnavailableError, BrokenOffError) as away:
                if beginning.broken or isinstance(away, BrokenOffError):
                    continue  # asked to; why is looked at next
                self._closing.wait(self._restarts.away(away.message))
                continue
            if begun is None:
                self._closing.wait(_HELD_S)
                continue
            self._restarts.begin(self._place)
            said = self._capture(*begun)
            if not self._ended_as_asked:
                self._closing.wait(self._wait_after_s(said))

    def _prepared(self, beginning: Beginning) -> tuple[Prepared, LineSeal | None] | None:
        """Return what the process is started with; None where what it begins with is broken off."""
        known = self._spool.identity
        if known is None:
            raise spool_removed(self._spool)
        self._database = self._database.following(known.tables)
        seal = self._sealing.begin()
        self._sealing.check(known.sealed)
        if moments := self._options.moments:
            check_moments(moments, self._database.columns_of(tuple(moments)))
        if self._begins and not beginning.run(self._database, seal):
            return None
        return self._database.prepare(self._spool), seal

    @property
    def _ended_as_asked(self) -> bool:
        """Whether the process ended since it was to, so that why is looked at next."""
        return (
            self._closing.is_set()
            or self._spool.paused is not None
            or self._tending.over
            or self._tables_changed
            or (self._joining is not None and self._joining.mended)
        )

    def _wait_after_s(self, said: str) -> float:
        """Return after how many seconds to start the process again.

        Raises:
            JoineryError: It ended of what somebody has to fix.
        """
        if said == "held":
            return _HELD_S
        refused = self._database.refusal(said) or full_spool(self._spool, said)
        if refused is not None:
            raise refused
        _log.warning("a capture ended: %s", said)
        return self._restarts.ended(said, self._place, passes=self._database.passes(said))

    @property
    def _place(self) -> int | None:
        """Up to where the log is in the spool."""
        position = self._spool.position
        return None if position is None else position.lsn

    @property
    def _begins(self) -> bool:
        """Whether the log is followed before the tables are read, not by what reads them."""
        match self._database:
            case PostgresDatabase():
                by_connector = self._options.once and self._options.bulk is None
            case MysqlDatabase():
                by_connector = self._options.once
            case _:
                assert_never(self._database)
        return self._spool.position is None and not by_connector

    def _may_begin(self) -> bool:
        paused = self._spool.paused is not None
        return not (self._closing.is_set() or paused) and self._tending.look()

    def _check_log(self) -> None:
        """Give up where a table is another one, or the database keeps too much of its log."""
        if self._tending.lost is not None:
            raise self._tending.lost
        error = self._tending.error
        if error is None:
            return
        for _ in range(_DROP_TRIES if error.drops else 0):
            try:
                drop_slot(self._database)
                break
            except ServerAwayError:
                self._closing.wait(_HELD_S)
        raise error

    def _wait_paused(self) -> bool:
        """Wait a moment where the capture pauses; return whether it does."""
        paused = self._spool.paused
        if paused is None:
            if self._paused:
                self._restarts.tell_back()
            self._paused = False
            return False
        if not self._paused:
            reason = f"paused by {paused.by}; joinery source resume {self._options.name}"
            self._restarts.tell_waiting(reason, 1, paused.since, grace_s=0.0)
        self._paused = True
        self._tending.look()
        return True

    def _capture(self, prepared: Prepared, seal: LineSeal | None) -> str:
        """Run the process to its end; return the last that it said."""
        known = self._spool.identity
        unread = known.unread if known is not None else ()
        told = {
            "spool": str(self._spool.path),
            "connector": prepared.settings | {"poll.interval.ms": str(self._poll_ms)},
            "begun_at": prepared.begun_at,
            "held": [each for each in unread if each not in prepared.lacking],
            "flush_ms": _FOLLOWED_FLUSH_MS if self._options.followed else _FLUSH_MS,
            "follows": self._options.followed,
            "file_bytes": _FILE_BYTES,
            "silent_ms": prepared.silent_ms,
            "seal": asdict(seal) if seal is not None else None,
        }
        self._spool.note_begun()
        forget_ended(self._spool)
        with _appended(self._spool.log) as log:
            process = self._started(log.fileno(), prepared.plugin)
        if process is None:
            return ""
        assert process.stdin is not None
        assert process.stdout is not None
        ended = threading.Event()
        joining = self._joining = Joining(
            self._database,
            self._spool,
            prepared,
            ask=partial(_tell, process.stdin),
            on_warning=self._options.on_warning,
            sealed=seal.tables if seal is not None else (),
        )
        reading = threading.Thread(target=joining.run, args=(ended,), daemon=True)
        tending = threading.Thread(target=self._tend, args=(joining, ended), daemon=True)
        tending.start()
        try:
            with process:
                # The password goes this way: no other process reads it off a command line.
                _tell(process.stdin, json.dumps(told))
                said = self._heard(process.stdout, process.stdin, joining, reading)
                self._end(process)
        finally:
            ended.set()
            joining.close()
            for each in (tending, reading):
                if each.ident is not None:
                    each.join(_TEND_END_S)  # it may be asking a server that does not answer
        if said.startswith("failed ") or said == "held":
            return said.removeprefix("failed ")
        return "its process was killed"

    @property
    def _poll_ms(self) -> int:
        return _FOLLOWED_POLL_MS if self._options.followed else _POLL_MS

    def _heard(
        self, told: IO[bytes], answers: IO[bytes], joining: Joining, reading: threading.Thread
    ) -> str:
        """Do what the process asks for, until it ends; return the last that it said."""
        said = ""
        for line in told:
            said = line.decode(errors="replace").strip()
            if said == "ready":
                reading.start()  # Not before: another process may have the spool.
            elif said == "follows":
                self._allow(answers)
            elif said.partition(" ")[0] in ("read", "unread", "placed"):
                joining.answered(said)
        return said

    def _allow(self, answers: IO[bytes]) -> None:
        """Let the process keep what it follows, unless the slot is not the one that it was."""
        try:
            self._database.check_unmoved(self._spool)
            _tell(answers, "go")
            self._restarts.tell_back()
        except ServerAwayError:
            answers.close()
        except CaptureError:
            answers.close()
            raise

    def _started(self, log: int, plugin: Plugin) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closing.is_set():
                return None
            self._process = subprocess.Popen(
                command(self._options.program(), plugin),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # an interrupt at the terminal is for who started it
            )
            return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
        with self._lock:
            self._process = None


def _tell(process: IO[bytes], line: str) -> None:
    """Give a process a line, unless it has ended or is to end."""
    try:
        with suppress(ValueError):  # closed, so that it ends
            process.write(f"{line}\n".encode())
            process.flush()
    except BrokenPipeError:
        with suppress(BrokenPipeError):
            process.close()  # not later: what was not written would fail then, too


def _appended(log: Path) -> IO[bytes]:
    """Return a log opened at its end; one that has grown long gives way to a new one."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.is_file() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
    return log.open("ab")
