"""How far the log of a database is captured, and what its slot keeps; the end of a source."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import assert_never

from joinery.capture.chunks import Chunks
from joinery.capture.database import LogDatabase
from joinery.capture.ended import Ended, ended_of
from joinery.capture.keep import SpoolKeep
from joinery.capture.missing import Missing, missing_files, missing_text
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.removal import remove_spool
from joinery.capture.server import ServerAwayError
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.sql import quote_name
from joinery.capture.tables import table_exists
from joinery.clients.postgres import database_errors


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """What is known of a source.

    Attributes:
        name: The source's.
        slot: Its slot and publication; empty where its database has none.
        capturing: A process captures its log now.
        read: Its tables were read whole.
        kept_bytes: What the server keeps of its log for the slot; None where there is no slot. Of
            a binary log, all that the server has.
        wal_status: What the server says of that: reserved, extended, unreserved or lost.
        behind_bytes: Of the log that is not in the spool yet; None before the tables were read.
        heard_s: Seconds since anything came; None before.
        tables: As schema.table.
        missing: Those of them that the database does not have.
        joining: Those of them that are to be read beside the log.
        unread: Those of them that were never read, so that nothing is told of them yet.
        awaited: Those of them whose rows come from an export.
        rows_read: Of those that are being read, how many rows are.
        unreadable: Why some cannot be read, by table.
        ended: How the last capture has ended; None while one runs, or where that was killed.
        paused_by: Who let the capture pause; empty where nobody did.
        spool_bytes: Of the change files that are kept.
        spool_files: How many they are.
        spool_whole: No change file was removed yet, so that who begins lacks nothing.
        spool_missing: By table, the numbers of change files that are gone, and were not removed as
            needed no more.
        readers: The queries that read the spool.
    """

    name: str
    slot: str
    capturing: bool
    read: bool
    kept_bytes: int | None
    wal_status: str
    behind_bytes: int | None
    heard_s: float | None
    tables: Sequence[str]
    missing: Sequence[str] = ()
    joining: Sequence[str] = ()
    unread: Sequence[str] = ()
    awaited: Sequence[str] = ()
    rows_read: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    ended: Ended | None = None
    paused_by: str = ""
    spool_bytes: int = 0
    spool_files: int = 0
    spool_whole: bool = True
    spool_missing: Missing = field(default_factory=dict)
    readers: Sequence[str] = ()

    def to_json(self) -> Mapping[str, object]:
        """Return the state as one JSON object."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """Return the state for people, a row per fact."""
        behind = "" if self.behind_bytes is None else f", {_size(self.behind_bytes)} behind"
        heard = "" if self.heard_s is None else f", last seen {self.heard_s:,.0f} s ago"
        whole = "" if self.spool_whole else ", older ones were removed"
        spool = f"{self.spool_files:,} files, {_size(self.spool_bytes)}{whole}"
        return [
            ("source", self.name),
            ("capture", f"{self._capture()}{behind}{heard}"),
            *self._why_ended(),
            self._log(),
            ("spool", spool),
            *(("missing", missing_text(*each)) for each in sorted(self.spool_missing.items())),
            ("readers", ", ".join(self.readers) or "none"),
            *(("table", f"{each}: {self._table(each)}") for each in self.tables),
        ]

    def _capture(self) -> str:
        if self.paused_by:
            return f"paused by {self.paused_by}"
        if self.capturing:
            return "running"
        return f"not running since {_time(self.ended.at)}" if self.ended else "not running"

    def _why_ended(self) -> Iterator[tuple[str, str]]:
        if self.ended is not None and self.ended.message:
            yield "because", f"{self.ended.message} [{self.ended.code}]"
        if self.ended is not None and self.ended.hint:
            yield "hint", self.ended.hint

    def _log(self) -> tuple[str, str]:
        kept = "none" if self.kept_bytes is None else f"keeps {_size(self.kept_bytes)}"
        status = f", {self.wal_status}" if self.wal_status else ""
        return ("slot", f"{self.slot}: {kept}{status}") if self.slot else ("log", f"{kept}{status}")

    def _table(self, table: str) -> str:
        if table in self.missing:
            return "does not exist"
        if table in self.awaited:
            return "waits for its export: joinery run --bootstrap-from parquet FOLDER"
        if not self.read or table in self.joining:
            began = table not in self.unread and self.read
            state = "to be read, alongside the log" if began else "not read yet"
            if table in self.rows_read:
                state = f"being read, {self.rows_read[table]:,} rows so far"
            why = self.unreadable.get(table)
            return f"{state}: {why}" if why else state
        return "read"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _size(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"


@dataclass(frozen=True, slots=True)
class _Log:
    """What a server says of its log."""

    kept_bytes: int | None
    status: str
    behind_bytes: int
    missing: Sequence[str]


def state_of(name: str, database: LogDatabase, spool: SpoolFolder) -> SourceState:
    """Return how a source stands; asks its server.

    Raises:
        CaptureError: The server cannot be asked.
    """
    position = spool.position
    place = position.lsn if position is not None else 0
    match database:
        case PostgresDatabase():
            log = _postgres_log(database, place)
        case MysqlDatabase():
            log = _binary_log(database, place)
        case _:
            assert_never(database)
    keep, paused, capturing = SpoolKeep(spool), spool.paused, spool.held()
    files, known = keep.sizes(), spool.identity
    joining = known.joining if known else ()
    unread, awaited = (known.unread, known.awaited) if known else ((), ())
    chunks = {each: Chunks.noted(spool.rows(each)) for each in joining}
    return SourceState(
        name=name,
        slot=database.slot if isinstance(database, PostgresDatabase) else "",
        capturing=capturing,
        read=position is not None and {*unread} != {*database.tables},
        kept_bytes=log.kept_bytes,
        wal_status=log.status,
        behind_bytes=None if position is None else log.behind_bytes,
        heard_s=None if position is None else max(0.0, time.time() - position.written_at_ms / 1000),
        tables=database.tables,
        missing=log.missing,
        joining=joining,
        unread=unread,
        awaited=awaited,
        rows_read={each: done.rows for each, done in chunks.items() if done and done.rows},
        unreadable={each: why for each, why in spool.unreadable.items() if each in joining},
        ended=None if capturing else ended_of(spool),
        paused_by=paused.by if paused else "",
        spool_bytes=sum(files),
        spool_files=len(files),
        spool_whole=keep.whole,
        spool_missing=missing_files(spool, database.tables),
        readers=[each.query for each in keep.readers()],
    )


def _postgres_log(database: PostgresDatabase, place: int) -> _Log:
    statement = (
        "select (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint,"
        " (pg_current_wal_lsn() - restart_lsn)::bigint, coalesce(wal_status, '')"
        " from (select) as always left join pg_replication_slots on slot_name = %s"
    )
    with database.connect() as link:
        try:
            found = link.execute(statement, (database.slot,)).fetchone()
            missing = [each for each in database.tables if not table_exists(link, each)]
        except database_errors() as error:
            raise database.failure(error) from error
    assert found is not None  # one row, with or without a slot
    end, kept, status = found
    return _Log(kept, status, max(0, end - place), missing)


def _binary_log(database: MysqlDatabase, place: int) -> _Log:
    files = database.files()
    lost = "" if place == 0 or files.has(place) else "lost"
    return _Log(files.bytes, lost, files.after(place), database.missing())


def kept_bytes(database: LogDatabase) -> int | None:
    """Return how much of its log the server keeps for a slot; None where there is no slot.

    Raises:
        CaptureError: The server cannot be asked.
    """
    if isinstance(database, MysqlDatabase):
        return None  # it keeps its log for nobody
    statement = (
        "select (pg_current_wal_lsn() - restart_lsn)::bigint from pg_replication_slots"
        " where slot_name = %s"
    )
    with database.connect() as link:
        try:
            found = link.execute(statement, (database.slot,)).fetchone()
        except database_errors() as error:
            raise database.failure(error) from error
    return found[0] if found else None


def drop_slot(database: LogDatabase) -> None:
    """Let the server go of its log, which nobody may read now.

    Raises:
        ServerAwayError: Somebody still reads the slot.
        CaptureError: The server refuses.
    """
    if isinstance(database, MysqlDatabase):
        return
    import psycopg

    with database.connect() as link:
        try:
            link.execute(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots"
                " where slot_name = %s",
                (database.slot,),
            )
        except psycopg.errors.ObjectInUse as error:
            raise ServerAwayError(f'slot "{database.slot}" is in use') from error
        except database_errors() as error:
            raise database.failure(error) from error


def drop_source(database: LogDatabase, spool: SpoolFolder) -> tuple[str, ...]:
    """Remove a source's slot, publication and spool; return what was there of them.

    Raises:
        CaptureError: It is captured now, the server refuses, or the spool cannot be removed.
    """
    if spool.held():
        raise CaptureError(
            f'"{database.slot}" is being captured', hint="Stop joinery run and joinery capture."
        )
    found = _drop_on_server(database) if isinstance(database, PostgresDatabase) else []
    try:
        if remove_spool(spool.path):
            found.append(str(spool.path))
    except OSError as error:
        raise CaptureError(
            f"could not remove the spool {spool.path}: {error}",
            hint="Fix that, then run joinery source drop again.",
        ) from error
    return tuple(found)


def _drop_on_server(database: PostgresDatabase) -> list[str]:
    found = []
    with database.connect() as link:
        try:
            dropped = link.execute(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots"
                " where slot_name = %s",
                (database.slot,),
            )
            if dropped.rowcount:
                found.append(f'slot "{database.slot}"')
            known = "select from pg_publication where pubname = %s"
            if link.execute(known, (database.slot,)).fetchone() is not None:
                link.execute(f"drop publication {quote_name(database.slot)}".encode())
                found.append(f'publication "{database.slot}"')
        except database_errors() as error:
            raise database.failure(error) from error
    return found
