"""The capture of one source: a Java process of its own, watched by a thread that judges its ends.

The process writes the spool; the thread asks the server whether it may, starts it, and when it
ends tells an outage, which is waited out, from what somebody has to mend, which ends all.
A spool that another process captures into is left to it.

Invariant: the process ends with whoever started it, however that ends: it reads its end from its
input.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, assert_never

from joinery.artifact import Artifact, fetch, fetch_unpacked, java, version
from joinery.capture.bulk import BrokenOffError, Reading
from joinery.capture.database import LogDatabase
from joinery.capture.joining import Joining
from joinery.capture.keep import Applied
from joinery.capture.server import Database, Prepared, ServerAwayError, make_slot
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.state import drop_slot
from joinery.capture.tending import Tending
from joinery.clients.postgres import database_errors
from joinery.errors import JoineryError
from joinery.model.progress import Waiting
from joinery.model.warning import RunWarning
from joinery.project.postgres import WalLimit
from joinery.retry import PATIENCE
from joinery.vault.keys import VaultUnavailableError

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

_log = logging.getLogger(__name__)
_MAIN = "dev.joinery.capture.Capture"
_JVM = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
Plugin = Literal["postgres", "mysql", "mariadb"]
_FLUSH_MS = 200
_FILE_BYTES = 4 << 20
_LOG_BYTES = 10 << 20
_END_S = 20.0
_LOOK_S = 0.02
_HELD_S = 1.0
_TEND_S = 0.5
_TEND_END_S = 2.0
_DROP_TRIES = 20
_QUICK_S = 10.0
_QUICK_ENDS = 5


def libraries(plugin: Plugin = "postgres") -> tuple[Path, ...]:
    """Return the jars of one of Debezium's connectors and what it needs, fetched at first use.

    Raises:
        ArtifactError: They are not here, and could not be fetched.
    """
    match plugin:
        case "postgres":
            folder, given = "debezium", version("debezium")
        case "mysql":
            folder, given = "debezium-mysql", version("debezium-mysql")
        case "mariadb":
            folder, given = "debezium-mariadb", version("debezium-mariadb")
        case _:
            assert_never(plugin)
    archive = Artifact("io.debezium", f"debezium-connector-{plugin}", given, "plugin", "tar.gz")
    jars = sorted(fetch_unpacked(folder, archive).rglob("*.jar"))
    connect = fetch(
        "capture",
        Artifact("org.apache.kafka", "connect-json", version("kafka"), transitive=True),
        Artifact("org.slf4j", "slf4j-simple", version("slf4j")),
    )
    return (*jars, *connect)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSeal:
    """Under what the lines of some tables are sealed.

    Attributes:
        tables: The tables, as schema.table.
        name: The key's, in the vault.
        key: In base64.
    """

    tables: tuple[str, ...]
    name: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """How a capture runs.

    Attributes:
        name: The source's.
        program: Returns our jar.
        on_wait: Called by target with what is waited for, and None once that is over.
        bulk: By table, the columns that relations have: the tables are read in bulk. None leaves
            their first reading to the connector.
        once: A relation counts every record that it is told: the first reading must not tell what
            the log tells too, so the connector reads all tables as of the slot's own place.
        on_warning: Told what someone should look at.
        keep_s: How long change files are kept at least, in seconds.
        applied: Says what those who read the spool have applied.
        max_wal: How much of its log the database may keep for us.
        seal: Returns under which key lines of which tables are sealed on a day; None where none
            are.
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
    seal: Callable[[date], LineSeal] | None = None


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
        self._joining: Joining | None = None
        self._link: Link | None = None
        self._broken = False
        self._sealed_on: date | None = None
        self._sealed_tables: set[str] = set()
        self.error: JoineryError | None = None
        self._tending = Tending(
            database,
            spool,
            name=options.name,
            keep_s=options.keep_s,
            applied=options.applied,
            max_wal=options.max_wal,
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
            if self._options.seal is not None and self._sealed_on != _today():
                self._renew_seal()

    def _renew_seal(self) -> None:
        """Have lines sealed under the key of another day; where there is none, the last stays."""
        try:
            sealing = self._seal()
            if sealing is not None:
                self._ask(f"seal {json.dumps(asdict(sealing))}")
        except JoineryError as error:
            _log.warning("the key of source %s is not renewed: %s", self._options.name, error)

    def _seal(self) -> LineSeal | None:
        """Return what seals lines today; None where nothing is personal."""
        if self._options.seal is None:
            return None
        today = _today()
        told = self._options.seal(today)
        self._sealed_on, self._sealed_tables = today, {*told.tables}
        return told

    def _check_sealed(self, sealed: Sequence[str]) -> None:
        """Refuse to write in clear what the spool says is personal."""
        if clear := {*sealed} - self._sealed_tables:
            raise CaptureError(
                f"table {min(clear)} has personal columns now, and this capture was started"
                " without them",
                hint="Start it anew, so that it reads the project file as it is.",
            )

    @property
    def _tables_changed(self) -> bool:
        known = self._spool.identity
        if known is None:
            return False
        return known.tables != self._database.tables or not {*known.sealed} <= self._sealed_tables

    def _ask(self, line: str) -> None:
        with self._lock, suppress(BrokenPipeError, ValueError):
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()

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
            self.error = CaptureError(
                f'the capture of source "{self._options.name}" failed: {error}'
            )

    def _follow(self) -> None:
        failed, quick, target = 0, 0, f"source {self._options.name}"
        since = time.time()
        while not self._closing.is_set():
            self._broken = False
            self._check_log()
            if self._wait_paused(target) or self._spool.held():
                self._closing.wait(_HELD_S)
                continue
            known = self._spool.identity
            if known is None:
                raise CaptureError(
                    f"the spool {self._spool.path} was removed meanwhile", hint="Run it again."
                )
            self._database = self._database.following(known.tables)
            try:
                if self._begins and not self._begin():
                    self._closing.wait(_HELD_S)
                    continue
                prepared = self._database.prepare(self._spool)
                sealing = self._seal()
                self._check_sealed(known.sealed)
            except (ServerAwayError, VaultUnavailableError, BrokenOffError) as away:
                if self._broken or isinstance(away, BrokenOffError):
                    continue  # asked to; why is looked at next
                since, failed = since if failed else time.time(), failed + 1
                waiting = Waiting(
                    product="", target=target, reason=away.message, attempts=failed, since=since
                )
                self._options.on_wait(target, waiting)
                self._closing.wait(PATIENCE.wait_s(failed))
                continue
            if failed:
                self._options.on_wait(target, None)
            failed = 0
            began_at = time.monotonic()
            said = self._capture(prepared, sealing)
            if self._closing.is_set():
                return
            if self._spool.paused or self._tending.error or self._tables_changed:
                continue
            if self._joining is not None and self._joining.mended:
                continue
            if said == "held":
                self._closing.wait(_HELD_S)
                continue
            _log.warning("a capture ended: %s", said)
            quick = quick + 1 if time.monotonic() - began_at < _QUICK_S else 0
            if quick >= _QUICK_ENDS:
                raise CaptureError(
                    f'the capture of source "{self._options.name}" ends again and again: {said}',
                    hint=f"Its log: {self._spool.log}",
                )
            self._closing.wait(PATIENCE.wait_s(quick + 1))

    @property
    def _begins(self) -> bool:
        """Whether the slot is made here, not by the connector as it reads the tables."""
        by_connector = self._options.once and self._options.bulk is None
        has_slot = isinstance(self._database, Database)
        return self._spool.position is None and has_slot and not by_connector

    def _begin(self) -> bool:
        """Make the slot, and read the tables where that is to be done in bulk.

        Returns:
            Whether the log can be followed; else another process is at it.
        """
        database = self._database
        assert isinstance(database, Database)  # others have no slot
        with self._spool.locked() as ours, self._watched():
            if not ours or self._spool.position is not None:
                return ours
            begun_at = database.prepare(self._spool).begun_at
            needed = self._options.bulk
            if needed is None:
                self._make_slot(database)
                return True
            Reading(
                database,
                self._spool,
                begun_at,
                needed=needed,
                ended=lambda: self._broken,
                on_link=self._set_link,
            ).run()
            return True

    def _make_slot(self, database: Database) -> None:
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
        self._link, over = None, threading.Event()
        watching = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join(_TEND_END_S)  # it may be asking a server that does not answer

    def _watch(self, over: threading.Event) -> None:
        """Break off the beginning where it may not go on, as often as it takes."""
        while not over.wait(_TEND_S):
            paused = self._spool.paused is not None
            if self._broken or self._closing.is_set() or paused or not self._tending.look():
                self._broken = True
                if self._link is not None:
                    with suppress(*database_errors()):
                        self._link.cancel()

    def _check_log(self) -> None:
        """Give up where the database keeps too much of its log for us, and we are to then."""
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

    def _wait_paused(self, target: str) -> bool:
        """Wait a moment where the capture pauses; return whether it does."""
        paused = self._spool.paused
        if paused is None:
            if self._paused:
                self._options.on_wait(target, None)
            self._paused = False
            return False
        if not self._paused:
            reason = f"paused by {paused.by}; joinery source resume {self._options.name}"
            waiting = Waiting(
                product="", target=target, reason=reason, attempts=1, since=paused.since
            )
            self._options.on_wait(target, waiting)
        self._paused = True
        self._tending.look()
        return True

    def _capture(self, prepared: Prepared, sealing: LineSeal | None) -> str:
        """Run the process to its end; return the last that it said."""
        known = self._spool.identity
        unread = known.unread if known is not None else ()
        told = {
            "spool": str(self._spool.path),
            "connector": prepared.settings,
            "begun_at": prepared.begun_at,
            "held": [each for each in unread if each not in prepared.lacking],
            "flush_ms": _FLUSH_MS,
            "file_bytes": _FILE_BYTES,
            "silent_ms": prepared.silent_ms,
            "seal": asdict(sealing) if sealing is not None else None,
        }
        self._spool.note_begun()
        with _appended(self._spool.log) as log:
            process = self._started(log.fileno(), prepared.plugin)
        if process is None:
            return ""
        assert process.stdin is not None
        assert process.stdout is not None
        said, ended = "", threading.Event()
        joining = self._joining = Joining(
            self._database,
            self._spool,
            prepared,
            ask=self._ask,
            on_warning=self._options.on_warning,
            sealed=sealing.tables if sealing is not None else (),
        )
        reading = threading.Thread(target=joining.run, args=(ended,), daemon=True)
        tending = threading.Thread(target=self._tend, args=(joining, ended), daemon=True)
        tending.start()
        with process:
            try:
                # The password goes this way: no other process reads it off a command line.
                process.stdin.write(f"{json.dumps(told)}\n".encode())
                process.stdin.flush()
            except (BrokenPipeError, ValueError):
                pass  # it has ended, or is to end
            for line in process.stdout:
                said = line.decode(errors="replace").strip()
                if said == "ready":
                    reading.start()  # Not before: another process may have the spool.
                elif said == "follows":
                    self._allow(process.stdin)
                elif said.partition(" ")[0] in ("read", "unread", "placed"):
                    joining.answered(said)
            self._end(process)
        ended.set()
        joining.close()
        for each in (tending, reading):
            if each.ident is not None:
                each.join(_TEND_END_S)  # it may be asking a server that does not answer
        return said.removeprefix("failed ")

    def _allow(self, answers: IO[bytes]) -> None:
        """Let the process keep what it follows, unless the slot is not the one that it was."""
        try:
            self._database.check_unmoved(self._spool)
            with suppress(BrokenPipeError, ValueError):
                answers.write(b"go\n")
                answers.flush()
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
                [java(), *_JVM, "-cp", _class_path(self._options.program(), plugin), _MAIN],
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


def _class_path(program: Path, plugin: Plugin) -> str:
    jars: Sequence[Path] = (program, *libraries(plugin))
    return os.pathsep.join(map(str, jars))


def _today() -> date:
    return datetime.now(UTC).date()


def _appended(log: Path) -> IO[bytes]:
    """Return a log opened at its end; one that has grown long gives way to a new one."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.is_file() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
    return log.open("ab")
