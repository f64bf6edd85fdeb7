"""What a capture has written beside the change files: whose they are, and up to where.

Layout: `source.json` says whose the spool is, `position.json` up to where the database's log is
in it (written by the capture itself, on the disk before the database hears of it), `files` has
a folder per table, whose files each name the one before it, `capture.log` what the connector
says, `paused.json` who let it pause, `ended.json` how the last one ended. Aside stand, a folder per
table too, `.rows` that are being read, `.held` changes of tables whose rows are not in place yet,
and `tail` files that are followed while they are written; `unread.json` says which tables cannot be
read, and why; `oids.json` which tables PostgreSQL had by their names, and `published.json` by which
entries of its publication; `schema-history.jsonl` what a binary log told of its tables.

Invariant: a spool has the changes of one slot of one database without a gap, from the first
reading of its tables on; a gap ends it, and the next one has another id.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from joinery.errors import RunError
from joinery.files import write_whole

_FORMAT = 1
_SOURCE = "source.json"
_POSITION = "position.json"
_ASIDE = ".snapshot"
_ROWS = ".rows"
_HELD = ".held"
_PAUSED = "paused.json"
_UNREAD = "unread.json"
_OIDS = "oids.json"
_PUBLISHED = "published.json"
_LOOKED_AT = "schema-history.read"
_CHANGING = "source.lock"
_READING = "reading.lock"
_TAKING = "export.lock"
_LOCK = "lock"  # the process holds it, as long as it lives


GONE = 0
"""In place of a number by which a server knows something: it no longer has what it had."""
ANEW = "Run joinery source drop, then joinery run --rebuild, which reads the tables again."


class CaptureError(RunError):
    """The log of a database cannot be captured as things are."""

    code = "RUN_CAPTURE"


class CaptureLostError(CaptureError):
    """Changes of a database are missing, and its log no longer has them."""

    code = "RUN_CAPTURE_LOST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose changes a spool has.

    Attributes:
        id: Of this spool; another one whenever its tables are read again.
        slot: The replication slot, and the publication.
        tables: As schema.table.
        joining: Those of the tables that are to be read, beside the log, once more or at last.
        unread: Those of them that never were: their changes are held until their rows are there.
        sealed: Those of the tables that have personal columns, so that their lines are sealed.
        awaited: Those of the unread tables whose rows come from an export that is not taken yet.
        exported_since: From when on an export has all that the log does not tell, in seconds since
            1970; 0 where the tables are not taken from one.
        begun: A capture was started, so a slot of this name is ours.
        system: The identifier of the database cluster; empty until it was asked.
        database: The name of the database; empty until it was asked.
    """

    id: str
    slot: str
    tables: tuple[str, ...]
    joining: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    exported_since: float = 0.0
    begun: bool = False
    system: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True)
class CapturePosition:
    """Up to where a database's log is in a spool.

    Attributes:
        lsn: A place in PostgreSQL's log, as a number.
        written_at_ms: Milliseconds since 1970.
        file: The number of the last change file before it.
        last: By table, the number of its last change file.
        offset: Where the connector goes on, in its own words.
    """

    lsn: int
    written_at_ms: int
    file: int
    last: Mapping[str, int] = field(default_factory=dict)
    offset: Mapping[str, Any] = field(default_factory=dict)

    @property
    def transaction(self) -> int | None:
        """That of the last change; None where it is not told."""
        number: int | None = self.offset.get("txId")
        return number


@dataclass(frozen=True, slots=True)
class Pause:
    """That a capture pauses.

    Attributes:
        by: Who let it.
        since: Seconds since 1970.
    """

    by: str
    since: float


_LISTS = ("tables", "joining", "unread", "sealed", "awaited")


class SpoolFolder:
    """The folder of one source's spool."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def claim(
        cls, path: Path, *, slot: str, tables: tuple[str, ...], sealed: tuple[str, ...] = ()
    ) -> Self:
        """Return a folder as the spool of a slot and its tables; a new one is made theirs.

        Tables that it does not have yet join it; as long as nothing was captured it has just these,
        so that a name that was written wrong is forgotten. Of these tables `sealed` are from now
        on sealed, and the others are not.

        Raises:
            CaptureError: It has changes of another slot.
            CaptureLostError: A part of it is gone, with changes that it had.
        """
        folder = cls(path)
        with folder._changing():
            known = folder.identity
            if known is None and folder.position is not None:
                raise spool_removed(folder)
            if known is None:
                made = Identity(id=uuid.uuid4().hex, slot=slot, tables=tables, sealed=sealed)
                folder._note(made)
                return folder
            if known.slot != slot:
                raise CaptureError(
                    f'the spool {path} has changes of slot "{known.slot}", not of "{slot}"',
                    hint="Change slot back, or give the source another spool.",
                )
            both = tuple(sorted({*sealed} | {*known.sealed} - {*tables}))
            if both != known.sealed:
                known = replace(known, sealed=both)
                folder._note(known)
            if not known.begun:
                if known.tables != tables:
                    folder._note(replace(known, tables=tables))
            elif missing := tuple(sorted({*tables} - {*known.tables})):
                # The first reading, where it is not over, may have begun without them.
                folder._note(
                    replace(
                        known,
                        tables=(*known.tables, *missing),
                        joining=(*known.joining, *missing),
                        unread=(*known.unread, *missing),
                    )
                )
        return folder

    @property
    def identity(self) -> Identity | None:
        """Whose the spool is; None where it has not begun.

        Raises:
            CaptureError: Another version of Joinery wrote it.
        """
        file = self.path / _SOURCE
        if not file.is_file():
            return None
        told = json.loads(file.read_text(encoding="utf-8"))
        if told.pop("format", None) != _FORMAT:
            raise CaptureError(
                f"{file} was written by another version of Joinery", hint="Use that version."
            )
        lists = {each: tuple(told.get(each, ())) for each in _LISTS}
        return Identity(**{**told, **lists})

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / _CHANGING).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _change(self, **changed: Any) -> None:
        with self._changing():
            known = self.identity
            assert known is not None  # claimed before
            self._note(replace(known, **changed))

    def _note(self, identity: Identity) -> None:
        """Write down whose the spool is."""
        told = {"format": _FORMAT, **asdict(identity)}
        write_whole(self.path / _SOURCE, json.dumps(told), synced=True)

    def note_database(self, system: str, database: str) -> None:
        """Write down which database the spool's changes are of."""
        self._change(system=system, database=database)

    def read_again(self) -> tuple[str, ...]:
        """Let all tables be read beside the log, and return them; none where there is no spool.

        Those that waited for an export wait for it no longer.

        Raises:
            CaptureError: An export of them is being taken.
        """
        known = self.identity
        if known is None:
            return ()
        with self.taking() as alone:
            if not alone:
                raise CaptureError(
                    f"an export is being loaded into {self.path}", hint="Wait until it is done."
                )
            for each in known.awaited:  # what was taken of a wrong export
                shutil.rmtree(self.rows(each), ignore_errors=True)
            gone = {each for each, oid in self.table_oids.items() if oid == GONE}
            there = tuple(each for each in known.tables if each not in gone)
            if known.begun:
                self._change(joining=there, awaited=(), exported_since=0.0)
        return there

    def note_awaited(self, tables: tuple[str, ...], since: float) -> None:
        """Write down that the rows of unread tables come from an export that begins from now on.

        Args:
            tables: As schema.table.
            since: In seconds since 1970.
        """
        self._change(awaited=tables, exported_since=since)

    def note_exported(self) -> None:
        """Write down that the export is taken: the rows of its tables can be put in place."""
        self._change(awaited=())

    def note_begins(self, tables: tuple[str, ...]) -> None:
        """Write down that all tables are to be read beside a log that is about to be followed.

        What is left of a reading that was broken off is removed: rows in it may be gone.
        """
        self._change(joining=tables, unread=tables, begun=True)
        shutil.rmtree(self.aside, ignore_errors=True)
        for each in tables:
            self.forget(each)

    def note_joined(self, table: str) -> None:
        """Write down that a table was read beside the log."""
        with self._changing():
            known = self.identity
            assert known is not None  # claimed before
            joining, unread = (
                tuple(each for each in some if each != table)
                for some in (known.joining, known.unread)
            )
            self._note(replace(known, joining=joining, unread=unread))

    def rows(self, table: str) -> Path:
        """Return where the rows of a table stand that is being read beside the log."""
        return self.path / _ROWS / table

    def forget(self, table: str) -> None:
        """Remove what was read of a table, and what was held: it will be read from the start."""
        for each in (self.rows(table), self.path / _HELD / table):
            shutil.rmtree(each, ignore_errors=True)

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Why tables cannot be read beside the log, by table."""
        try:
            told: Mapping[str, str] = json.loads((self.path / _UNREAD).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return told

    def note_unreadable(self, reasons: Mapping[str, str]) -> None:
        """Write down why tables cannot be read."""
        if reasons:
            write_whole(self.path / _UNREAD, json.dumps(reasons), synced=False)
        else:
            (self.path / _UNREAD).unlink(missing_ok=True)

    @property
    def table_oids(self) -> Mapping[str, int]:
        """By which numbers PostgreSQL knows the tables whose rows the spool has."""
        return self._numbers(_OIDS)

    def note_table_oids(self, oids: Mapping[str, int]) -> None:
        """Write down which tables some are, beside those that were noted."""
        self._note_numbers(_OIDS, oids)

    def note_gone(self, tables: Collection[str]) -> None:
        """Write down that tables were dropped or renamed, which coming back does not undo."""
        if tables:
            self._note_numbers(_OIDS, dict.fromkeys(tables, GONE))

    @property
    def published(self) -> Mapping[str, int]:
        """By which entries of its publication the changes of tables are told."""
        return self._numbers(_PUBLISHED)

    def note_published(self, entries: Mapping[str, int]) -> None:
        """Write down by which entries the changes of tables are told, beside those noted."""
        self._note_numbers(_PUBLISHED, entries)

    def forget_followed(self, tables: Collection[str]) -> None:
        """Take back which tables some are, and by which entries their changes are told."""
        for name in (_OIDS, _PUBLISHED):
            with self._changing():
                known = self._numbers(name)
                if not known.keys().isdisjoint(tables):
                    kept = {each: number for each, number in known.items() if each not in tables}
                    write_whole(self.path / name, json.dumps(kept), synced=True)

    def _numbers(self, name: str) -> Mapping[str, int]:
        try:
            told: Mapping[str, int] = json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return told

    def _note_numbers(self, name: str, numbers: Mapping[str, int]) -> None:
        with self._changing():
            told = json.dumps({**self._numbers(name), **numbers})
            write_whole(self.path / name, told, synced=True)

    @property
    def history_bytes(self) -> int | None:
        """How much was looked at of what a binary log told of its tables; None where nobody did."""
        try:
            return int((self.path / _LOOKED_AT).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def note_history(self, looked_at: int) -> None:
        """Write down how much was looked at of what a binary log told of its tables."""
        if looked_at != self.history_bytes:
            write_whole(self.path / _LOOKED_AT, str(looked_at), synced=True)

    @property
    def begun(self) -> bool:
        """Whether a capture was started, so that a slot of its name is the spool's."""
        known = self.identity
        return known is not None and known.begun

    def note_begun(self) -> None:
        """Write down that a capture starts now."""
        if not self.begun:
            self._change(begun=True)

    @property
    def position(self) -> CapturePosition | None:
        """Up to where the log is in the spool; None until it is followed."""
        try:
            told = json.loads((self.path / _POSITION).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return CapturePosition(
            int(told["lsn"]),
            int(told["written_at_ms"]),
            int(told["file"]),
            told.get("last", {}),
            told.get("offset", {}),
        )

    @property
    def offset(self) -> Mapping[str, Any]:
        """Where the connector goes on; empty until the tables were read whole."""
        position = self.position
        return {} if position is None else position.offset

    def note_read(self, slot: str, lsn: int, file: int) -> None:
        """Write down from where the log follows, as the capture itself does.

        Args:
            slot: From which the log follows.
            lsn: Its place in PostgreSQL's log.
            file: The number of the last file.
        """
        now_ms = int(time.time() * 1000)
        told: dict[str, object] = {"format": _FORMAT, "lsn": lsn, "file": file}
        told |= {"written_at_ms": now_ms, "partition": {"server": slot}}
        told |= {"offset": {"lsn": lsn, "ts_usec": now_ms * 1000}}
        write_whole(self.path / _POSITION, json.dumps(told), synced=True)

    @property
    def aside(self) -> Path:
        """Where the files of the first reading stand until it is over."""
        return self.path / _ASIDE

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Hold the spool, as its capture does; tell whether it could be had."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / _LOCK).open("a+b") as lock:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True

    def held(self) -> bool:
        """Return whether a process captures into the spool now."""
        try:
            with (self.path / _LOCK).open("r+b") as lock:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def reading(self) -> AbstractContextManager[bool]:
        """Read beside the log, unless another thread or process does; tell whether that may be."""
        return self._alone(_READING)

    def taking(self) -> AbstractContextManager[bool]:
        """Take an export, unless another process does; tell whether that may be."""
        return self._alone(_TAKING)

    @contextmanager
    def _alone(self, name: str) -> Iterator[bool]:
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / name).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    @property
    def paused(self) -> Pause | None:
        """Who let the capture pause; None where it may go on."""
        try:
            told = json.loads((self.path / _PAUSED).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Pause(str(told["by"]), float(told["since"]))

    def pause(self, by: str) -> bool:
        """Let the capture pause until `resume`; return whether it did not already."""
        if self.paused is not None:
            return False
        told = json.dumps({"by": by, "since": time.time()})
        write_whole(self.path / _PAUSED, told, synced=True)
        return True

    def resume(self) -> bool:
        """Let the capture go on; return whether it paused."""
        paused = self.paused is not None
        (self.path / _PAUSED).unlink(missing_ok=True)
        return paused

    @property
    def log(self) -> Path:
        """What the connector says."""
        return self.path / "capture.log"


def spool_removed(spool: SpoolFolder) -> CaptureLostError:
    """Return the error of a spool whose files went under a capture, as with their disk."""
    return CaptureLostError(
        f"the spool {spool.path} was removed, at least in part, while it was written",
        detail="Changes that it had are gone.",
        hint=f"Put it back as it was, as by mounting its disk. Else: {ANEW}",
    )
