"""Tables whose rows come from an export: the log is begun before it, and its files are found.

The slot is made first, and returns once every transaction has ended that had begun by then. So an
export that begins afterwards shows all that was committed before the slot's place, and the log
tells all else. The rows get a place from before the slot: whatever the log tells is newer, be it
in the export or not, so rows of several moments make no difference once the log is applied.

Invariant: until the position is noted, the slot is one that was not finished, and no run or capture
goes on from it: broken off at any moment, it starts over with another slot. Rows are not put in
place until those of all tables are on the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from joinery.capture.bulk_row import bulk_columns
from joinery.capture.chunks import Chunks, begin_anew
from joinery.capture.postgres import PostgresDatabase, make_slot
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.sql import text_of
from joinery.capture.tables import oid_of, replaced
from joinery.capture.watched import Watched
from joinery.clients.postgres import database_errors
from joinery.files import sync_folder

_CLOCK_S = 1.0
_FIRST_FILE = 1
_UNFINISHED = "_temporary"


class ExportError(CaptureError):
    """An export of tables cannot be taken for their first reading."""

    code = "RUN_EXPORT"


@dataclass(frozen=True, slots=True)
class Begun:
    """That the log of a database is kept for an export.

    Attributes:
        since: From when on an export may begin, in seconds since 1970.
        lsn: Where the log begins that follows; None where it was begun before.
        unbounded: The server says that it keeps its log without a limit.
    """

    since: float
    lsn: int | None
    unbounded: bool


def begin_export(
    database: PostgresDatabase, spool: SpoolFolder, *, goes_on: Callable[[], bool] = lambda: True
) -> Begun:
    """Have the server keep its log, so that the tables can be exported.

    Args:
        database: With all tables of the spool.
        spool: Claimed.
        goes_on: Whether the slot may still be made, which waits for transactions that are open;
            asked by another thread, again and again.

    Raises:
        ServerAwayError: The server is not there now.
        CaptureError: The tables were read already, or something has to be fixed first.
    """
    watched = Watched(goes_on)
    with spool.locked() as ours, watched.watching():
        known = spool.identity
        assert known is not None  # claimed before
        if spool.position is not None and known.awaited:
            return Begun(known.exported_since, None, unbounded=False)
        if not ours or spool.position is not None:
            raise ExportError(
                f"the log of {database.shown} is already captured into {spool.path}",
                hint="To start over: joinery source drop, then joinery source begin.",
            )
        begun_at = database.prepare(spool).begun_at
        spool.note_begins(database.tables)
        with database.connect() as link:
            watched.set_link(link)
            try:
                oids = {each: oid_of(link, each) for each in database.tables}
                unbounded = text_of(link, "show max_slot_wal_keep_size") == "-1"
                follows = make_slot(link, database)
            except database_errors() as error:
                raise database.failure(error) from error
        for table, oid in oids.items():
            begun = Chunks(place=begun_at, transaction=0, first=_FIRST_FILE, oid=oid)
            begun.note(spool.rows(table))
        since = time.time()
        spool.note_awaited(database.tables, since)
        spool.note_read(database.slot, follows, 0)
        return Begun(since, follows, unbounded)


@dataclass(frozen=True, slots=True)
class TableExport:
    """The files of one table in an export.

    Attributes:
        table: As schema.table.
        files: In Parquet; at least one.
    """

    table: str
    files: tuple[Path, ...]


def find_export(folder: Path, table: str, names: Sequence[str], since: float) -> TableExport:
    """Return the Parquet files of a table.

    Args:
        folder: Of the export.
        table: As schema.table.
        names: What its folder or file may be called, below `folder`.
        since: When the export may have begun, in seconds since 1970.

    Raises:
        ExportError: There are none, or several could be meant, or they are older than `since`.
    """
    places = (folder / f"{each}{end}" for each in names for end in ("", ".parquet"))
    found = [each for each in dict.fromkeys(places) if each.exists()]
    if not found:
        raise ExportError(
            f"the export {folder} has no table {table}",
            hint=f"Put its Parquet files into {folder / names[0]}.",
        )
    if len(found) > 1:
        shown = " and ".join(map(str, found))
        raise ExportError(
            f"the export {folder} has table {table} twice: {shown}", hint="Keep only one."
        )
    if any(found[0].rglob(_UNFINISHED)):
        raise ExportError(
            f"the export of table {table} in {found[0]} is not finished: it has {_UNFINISHED}",
            hint="Wait for the export to finish, or export the table again.",
        )
    files = _parquet_files(found[0])
    if not files:
        raise ExportError(
            f"{found[0]} has no Parquet files of table {table}",
            hint="For an empty table, write a file without rows.",
        )
    _check_age(table, files, since)
    return TableExport(table, files)


def _parquet_files(place: Path) -> tuple[Path, ...]:
    if place.is_file():
        return (place,)
    found = (each for each in place.rglob("*.parquet") if each.is_file())
    return tuple(sorted(each for each in found if not _hidden(each.relative_to(place))))


def _hidden(file: Path) -> bool:
    """Return whether a file is none of an export's own, or in a folder that is none."""
    return any(each[0] == "." or (each[0] == "_" and "=" not in each) for each in file.parts)


def _check_age(table: str, files: Sequence[Path], since: float) -> None:
    """Refuse files from before the log was kept: what changed between is in neither."""
    for each in files:
        written_at = each.stat().st_mtime
        if written_at < since - _CLOCK_S:
            raise ExportError(
                f"{each} of table {table} was written at {_time(written_at)}, but the log is kept"
                f" only from {_time(since)} on: changes in between would be lost",
                hint="Export the tables again, then run this again.",
            )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Taking:
    """How the rows of a table are taken.

    Attributes:
        place: Where in the log they stand.
        columns: Those of the table in its database, and whether they can be taken: of others, an
            export may write values as the log does not.
    """

    place: int
    columns: Mapping[str, bool]


def begin_taking(database: PostgresDatabase, spool: SpoolFolder, table: str) -> Taking:
    """Have the rows of a table be taken from the start.

    Raises:
        ServerAwayError: The server is not there now.
        CaptureError: The table is another one than when the log was begun.
    """
    folder = spool.rows(table)
    done = Chunks.noted(folder)
    if done is None:
        raise CaptureError(
            f"the spool {spool.path} does not record where the export of {table} began",
            hint="Run joinery source read-again, which reads the tables without an export.",
        )
    with database.connect() as link:
        try:
            if oid_of(link, table) != done.oid:
                raise replaced(table)
            columns = bulk_columns(link, done.oid)
        except database_errors() as error:
            raise database.failure(error) from error
    begin_anew(done, folder)
    return Taking(done.place, columns)


def add_rows(spool: SpoolFolder, table: str, files: Sequence[Path]) -> None:
    """Put complete files of lines behind those rows of a table that were taken before."""
    folder = spool.rows(table)
    before = len(list(folder.glob("*.jsonl")))
    for number, each in enumerate(files, before + 1):
        with each.open("rb+") as lines:
            os.fsync(lines.fileno())
        each.replace(folder / f"{number:016d}.jsonl")
    sync_folder(folder)


def end_taking(spool: SpoolFolder, rows: Mapping[str, int]) -> None:
    """Note that all rows of an export are on the disk: they can be put in place.

    Args:
        spool: Of the database.
        rows: How many there are, by table.
    """
    for table, count in rows.items():
        folder = spool.rows(table)
        done = Chunks.noted(folder)
        assert done is not None  # begun before
        size = sum(each.stat().st_size for each in folder.glob("*.jsonl"))
        replace(done, rows=count, bytes=size, over=True).note(folder)
    spool.note_exported()
