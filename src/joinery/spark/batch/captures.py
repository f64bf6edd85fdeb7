"""The captures that a run starts beside itself, one for each database that its queries read."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

from joinery.capture.capture import Capture, CaptureOptions
from joinery.capture.database import LogDatabase
from joinery.capture.keep import SpoolKeep
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.sealing import LineSeal
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.errors import JoineryError
from joinery.model.progress import Silence, Waiting
from joinery.model.warning import RunWarning
from joinery.plan.product import Product
from joinery.project.captured import (
    CAPTURED,
    log_name,
    sealed_tables,
    spool_of,
    spool_spec,
    table_in,
    tables_of,
)
from joinery.project.kind import SourceSpec
from joinery.project.mysql import mysql_options, server_id_of
from joinery.project.postgres import postgres_options
from joinery.project.product import ProjectSpec
from joinery.spark.jar import capture_jar
from joinery.spark.source.silence import SourceSilence
from joinery.spark.source.spool_readers import applied_files
from joinery.vault.lines import lines_key_name
from joinery.vault.tables import open_vault

_SEALED = b"jyl1"
_HEAD_BYTES = 256
_LISTEN_S = 2.0
_SILENT_S = 30.0
"""A capture begins in some seconds, and gives a heartbeat each five at most."""
_UNHEARD = "no heartbeat came from its database (see joinery source status)"
_SEALED_BEFORE = timedelta(days=7)
"""So long before it was put in its place a file may have been begun: tables are read for days."""
_MOMENTS = ("timestamp", "timestamp_ntz", "timestamp_ltz")
Wait = Callable[[str, Waiting | None], None]
Hear = Callable[[str, Waiting | Silence | None], None]
Warn = Callable[[RunWarning], None]


def claim_spool(spec: ProjectSpec, source: SourceSpec) -> SpoolFolder:
    """Return the spool of a source, made its own.

    Raises:
        CaptureError: It has changes of another slot, or of other tables.
    """
    slot, tables = log_name(spec, source), tables_of(spec, source)
    sealed = sealed_tables(spec, source)
    return SpoolFolder.claim(spool_of(spec, source), slot=slot, tables=tables, sealed=sealed)


def capture_sign(source: SourceSpec, spool: SpoolFolder) -> object:
    """Return what each heartbeat of a capture changes; None where it follows no log now.

    MySQL's log stands while nobody writes, so the time counts at which its place was noted; in
    PostgreSQL's each heartbeat is a record. Within a transaction the place stands, and files follow
    one another.
    """
    position = spool.position
    if position is None or spool.paused is not None:
        return None
    place = position.written_at_ms if source.kind == "mysql" else position.lsn
    return place, SpoolKeep(spool).last


def database_of(spec: ProjectSpec, source: SourceSpec) -> tuple[LogDatabase, SpoolFolder]:
    """Return a source's database and its spool, which may not be there yet."""
    spool = SpoolFolder(spool_of(spec, source))
    known = spool.identity
    slot = known.slot if known else log_name(spec, source)
    # A spool keeps its tables, also those that no relation reads any more.
    read = tables_of(spec, source)
    tables = known.tables if known else read
    if source.kind == "mysql":
        url, server_id = mysql_options(source).url, server_id_of(spec, source)
        return MysqlDatabase(url, slot, tables, server_id), spool
    unused = frozenset(tables) - {*read}
    columns = columns_of(spec, source)
    return PostgresDatabase(postgres_options(source).url, slot, tables, unused, columns), spool


def columns_of(
    spec: ProjectSpec, source: SourceSpec, types: Collection[str] = ()
) -> Mapping[str, frozenset[str]]:
    """Return the columns that relations read of a source, by table.

    Args:
        spec: The project.
        source: A database.
        types: Only those declared as one of these; where none is named, all.
    """
    found: dict[str, frozenset[str]] = {}
    for each in spec.changelogs_of(source):
        table = table_in(source, each.topic or each.name)
        names = {name for name, type in each.fields if not types or type.strip().lower() in types}
        found[table] = found.get(table, frozenset()) | names
    return found


def read_source_again(spec: ProjectSpec, source: SourceSpec) -> tuple[str, ...]:
    """Let the tables of a source be read whole once more, beside its log; return them.

    None are where they have not been read at all.

    Raises:
        CaptureError: A relation of it only grows, and a reading would lose some of its rows.
    """
    for each in spec.changelogs_of(source):
        if each.append:
            table = table_in(source, each.topic or each.name)
            raise CaptureError(
                f'relation "{each.name}" is append, and {table} cannot be read again',
                detail=f"Rows that {table} no longer has would be lost, with their effects.",
                hint="Raise spool.keep to the time after which products may be rebuilt.",
            )
    return SpoolFolder(spool_of(spec, source)).read_again()


def seal_of(spec: ProjectSpec, source: SourceSpec) -> Callable[[date], LineSeal] | None:
    """Return what tells how the lines of a source are sealed on a day; None where none are."""
    tables = sealed_tables(spec, source)
    return partial(_sealed_on, spec, source, tables) if tables else None


def _sealed_on(spec: ProjectSpec, source: SourceSpec, tables: Sequence[str], day: date) -> LineSeal:
    """Return the key of a day's lines, and destroy those of which nothing can be left."""
    slot, spool = log_name(spec, source), SpoolFolder(spool_of(spec, source))
    since = min((day, *_days_of(spool)))
    vault = open_vault(spec)
    try:
        vault.forget_lines(slot, since - _SEALED_BEFORE)
        name = lines_key_name(spec, source, day.isoformat())
        key = base64.b64encode(vault.key_of_lines(name)).decode()
        return LineSeal(tables=tuple(tables), name=name, key=key)
    finally:
        vault.close()


def _days_of(spool: SpoolFolder) -> Iterator[date]:
    """Yield the days under whose keys the first lines of a spool's files are sealed.

    Those of files in clear are when they were put in their places.
    """
    for each in spool.path.rglob("*.jsonl"):
        with suppress(FileNotFoundError):  # removed meanwhile
            yield _day_of(each)


def _day_of(file: Path) -> date:
    with file.open("rb") as lines:
        head, _, rest = lines.read(_HEAD_BYTES).partition(b":")
    if head != _SEALED:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC).date()
    label = rest.partition(b":")[0]
    name = base64.urlsafe_b64decode(label + b"=" * (-len(label) % 4)).decode()
    return date.fromisoformat(name.rpartition(" ")[2])


def make_capture(
    spec: ProjectSpec, source: SourceSpec, on_wait: Wait, on_warning: Warn, *, bulk: bool = False
) -> Capture:
    """Return the capture of a source, to be started.

    Args:
        spec: The project.
        source: A database.
        on_wait: Called by target with what is waited for, and None once that is over.
        on_warning: Called with what someone should look at.
        bulk: The tables are read in bulk, where they were not read yet.

    Raises:
        CaptureError: Its spool has changes of another slot, or of other tables.
    """
    _check_begun(source, claim_spool(spec, source))
    database, spool = database_of(spec, source)
    bulk = bulk and source.kind == "postgres"
    options = CaptureOptions(
        name=source.name,
        program=capture_jar,
        on_wait=on_wait,
        bulk=columns_of(spec, source) if bulk else None,
        once=any(each.append for each in spec.changelogs_of(source)),
        on_warning=on_warning,
        keep_s=spool_spec(source).keep_ms / 1000,
        applied=applied_files,
        max_wal=postgres_options(source).max_wal if source.kind == "postgres" else None,
        columns=columns_of(spec, source),
        moments=columns_of(spec, source, _MOMENTS),
        seal=seal_of(spec, source),
        followed=spec.run.real_time,
    )
    return Capture(database, spool, options)


@contextmanager
def capturing_beside(
    spec: ProjectSpec, source: SourceSpec, on_wait: Wait, on_warning: Warn
) -> Iterator[Callable[[], bool]]:
    """Capture a source while the block runs; give what says whether that has failed.

    Args:
        spec: The project.
        source: A database.
        on_wait: As that of `make_capture`.
        on_warning: Likewise.

    Raises:
        JoineryError: The capture failed, whatever became of the block.
    """
    capture = make_capture(spec, source, on_wait, on_warning)
    capture.start()
    try:
        yield lambda: capture.error is not None
    finally:
        capture.close()
        if capture.error is not None:
            raise capture.error


def _check_begun(source: SourceSpec, spool: SpoolFolder) -> None:
    """Refuse a log that was to be begun for an export, and was not."""
    known = spool.identity
    if known is not None and known.awaited and spool.position is None:
        raise CaptureError(
            f'the log of source "{source.name}" was not started completely',
            hint=f"Run joinery source begin {source.name} again, then export.",
        )


def _check_taken(source: SourceSpec, spool: SpoolFolder) -> None:
    """Refuse to build documents as long as the rows of their tables are to come."""
    known = spool.identity
    if known is not None and known.awaited:
        raise CaptureError(
            f'source "{source.name}" waits for an export of its tables',
            hint="Run joinery run --bootstrap-from parquet FOLDER; or joinery source read-again"
            f" {source.name}, and the tables are read without one.",
        )


class Captures:
    """The captures of a run, or of two that follow one another.

    Args:
        spec: The project.
        products: That the run keeps current.
        bulk: As that of `make_capture`.
        stay: They go on when a run closes them, until `end`.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        products: Iterable[Product],
        *,
        bulk: bool = False,
        stay: bool = False,
    ) -> None:
        names = {each.source for one in products for each in one.relations}
        self._spec = spec
        self._sources = [e for e in spec.sources if e.kind in CAPTURED and e.name in names]
        self._bulk, self._stay = bulk, stay
        self._on_wait: Hear = lambda target, waiting: None
        self._on_warning: Warn = lambda warning: None
        self._claimed: list[Capture] = []
        self._captures: list[Capture] = []
        self._silences: dict[str, SourceSilence] = {}
        self._away: set[str] = set()
        self._listened_at = 0.0

    def serve(self, on_wait: Hear, on_warning: Warn) -> None:
        """Tell a run from now on, as `make_capture` says."""
        self._on_wait, self._on_warning = on_wait, on_warning
        self._silences.clear()

    def claim(self) -> None:
        """Claim the spools; those of captures that go on are.

        Raises:
            CaptureError: A spool has changes of another slot, or of other tables, or its tables
                wait for an export.
        """
        for each in self._sources:
            _check_taken(each, claim_spool(self._spec, each))
        if self._captures:
            return
        self._claimed = [
            make_capture(
                self._spec,
                each,
                partial(self._note_wait, each.name),
                lambda warning: self._on_warning(warning),
                bulk=self._bulk,
            )
            for each in self._sources
        ]

    def start(self) -> None:
        """Capture into the spools, which were claimed."""
        while self._claimed:
            capture = self._claimed.pop(0)
            capture.start()
            self._captures.append(capture)

    def listen(self) -> None:
        """Note which sources are not heard of: looked up every few seconds, when called."""
        if time.monotonic() < self._listened_at + _LISTEN_S:
            return
        self._listened_at = time.monotonic()
        for each in self._sources:
            silence = self._silences.setdefault(
                each.name, SourceSilence(each.name, _UNHEARD, _SILENT_S, self._tell)
            )
            sign = capture_sign(each, SpoolFolder(spool_of(self._spec, each)))
            if sign is None or each.name in self._away:
                silence.forgive()
            else:
                silence.look(sign)

    def _note_wait(self, source: str, target: str, waiting: Waiting | None) -> None:
        if waiting is None:
            self._away.discard(source)
        else:
            self._away.add(source)
        self._tell(target, waiting)

    def _tell(self, target: str, waiting: Waiting | Silence | None) -> None:
        self._on_wait(target, waiting)

    def reach_end(self, ended: Callable[[], bool]) -> None:
        """Wait until the spools have all that was committed by now.

        Args:
            ended: Waiting ends without it once this is true.

        Raises:
            JoineryError: A capture failed.
        """
        for each in self._captures:
            each.reach_end(ended)

    def await_tables(self, ended: Callable[[], bool]) -> None:
        """Wait until the tables have been read whole; see `Capture.await_tables`.

        Raises:
            JoineryError: A capture failed.
        """
        for each in self._captures:
            each.await_tables(ended)

    @property
    def error(self) -> JoineryError | None:
        """Why a capture has ended; None while all go on."""
        return next((each.error for each in self._captures if each.error is not None), None)

    def close(self) -> None:
        """End all captures, unless they stay for the run that follows."""
        if not self._stay:
            self.end()

    def end(self) -> None:
        """End all captures."""
        while self._captures:
            self._captures.pop().close()
