"""How long a spool keeps its change files: for a time, and until all who read it have them.

A **reader** is a checkpoint that goes by the spool, noted in `readers` before it reads. Files go
oldest first, those of all tables in the order of their numbers. So what is left is the end of the
log, and whoever began in time lacks nothing. `kept.json` says up to which file they are gone: who
begins later lacks what was in those, and is refused, unless all tables were read again since.

A file that puts lines of another back has that one's number and goes as it does, but holds up none
that follow: it is no part of the log's end.

Whoever begins after such a reading needs the files from its beginning on. So they stay until it is
over, and for `keep` from then on, as if they were as old as its end.

Invariant: a file goes once it is older than `keep`, every reader has applied it, no reading that
is under way needs it, and the position on the disk is past it, so that its number is never given
again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from joinery.capture.spool import SpoolFolder
from joinery.files import sync_folder, write_whole

_READERS = "readers"
_KEPT = "kept.json"
_LOCK = "keep.lock"
_FILES = "files"
_REPLAY = ".replay.jsonl"
_WHOLE_FROM = "whole_from"
_WHOLE_AT = "whole_at"  # in seconds since 1970
_NEEDED = "needed_from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads a spool.

    Attributes:
        query: Its name.
        checkpoint: The folder in which its positions are.
        index: The number that the spool has among its sources.
        tables: That it reads, as schema.table.
    """

    query: str
    checkpoint: str
    index: int
    tables: tuple[str, ...]


Applied = Callable[[Reader], Mapping[str, Collection[str]]]
"""Returns, by table, the names of the files that a reader has applied and never reads again."""


@dataclass(frozen=True, slots=True)
class _File:
    number: int
    table: str
    path: Path

    @property
    def puts_back(self) -> bool:
        """Whether its lines are of another file, and read once more."""
        return self.path.name.endswith(_REPLAY)


def _number(name: str) -> int:
    """Return the number of a change file; of one that puts lines of another back, the other's.

    Example:
        >>> _number("0000000000000007.0000000000000005.jsonl")
        7
        >>> _number("0000000000000007.jsonl.20260131T120000000000Z.replay.jsonl")
        7
    """
    return int(name.partition(".")[0])


def _read(table: str) -> str:
    """Return under which name it is written down where the last reading of a table begins."""
    return f"read {table}"


def _removed(table: str) -> str:
    """Return under which name the last file of a table that is gone is written down."""
    return f"removed {table}"


def _aged_from(file: _File, kept: Mapping[str, int]) -> float:
    """Return from when a file's age counts, in seconds since 1970."""
    written_at = file.path.stat().st_mtime
    read_at = kept.get(_WHOLE_AT, 0) if file.number >= kept.get(_WHOLE_FROM, 0) else 0
    return max(written_at, read_at)


class SpoolKeep:
    """What a spool still has, and who needs it.

    Args:
        spool: The folder.
    """

    def __init__(self, spool: SpoolFolder) -> None:
        self._folder = spool.path
        self._spool = spool

    @property
    def removed(self) -> int:
        """The number of the last file that is gone; 0 where none is."""
        return self._kept.get("removed", 0)

    def removed_of(self, table: str) -> int:
        """Return the number of the last file of a table that was removed; 0 where none was."""
        return self._kept.get(_removed(table), 0)

    @property
    def _kept(self) -> Mapping[str, int]:
        try:
            told: Mapping[str, int] = json.loads((self._folder / _KEPT).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return told

    def _note_kept(self, **changed: int) -> None:
        content = json.dumps({**self._kept, **changed})
        write_whole(self._folder / _KEPT, content, synced=True)
        sync_folder(self._folder)

    def begin_reading(self, table: str) -> int:
        """Return the number of the first file that has what a reading from now on may miss.

        It is kept, with all after it, until every table was read once more. Of a table of which
        nothing was told yet, changes are held, and nobody needs a file.
        """
        with self._locked():
            known, position = self._spool.identity, self._spool.position
            assert known is not None  # read beside its log
            assert position is not None
            first = position.file + 1
            if table not in known.unread:
                self._note_kept(**{_NEEDED: min(first, self._kept.get(_NEEDED) or first)})
            return first

    def _read_once_more(self, *but: str) -> frozenset[str]:
        """Return the tables that are to be read once more."""
        known = self._spool.identity
        return frozenset() if known is None else frozenset(known.joining) - {*known.unread, *but}

    def note_read(self, table: str, first: int, tables: Collection[str]) -> None:
        """Write down that the files from a number on have a table whole, read once more.

        Args:
            table: As schema.table.
            first: The number.
            tables: All of the spool.
        """
        with self._locked():
            before = self._kept.get(_WHOLE_FROM, 0)
            kept = {**self._kept, _read(table): first}
            whole_from = max(before, min(kept.get(_read(each), 0) for each in tables))
            changed = {_read(table): first, _WHOLE_FROM: whole_from}
            if whole_from > before:
                changed[_WHOLE_AT] = int(time.time())
            if not self._read_once_more(table):
                changed[_NEEDED] = 0
            self._note_kept(**changed)

    @property
    def whole(self) -> bool:
        """Whether who begins to read lacks nothing."""
        kept = self._kept
        return kept.get("removed", 0) < max(kept.get(_WHOLE_FROM, 0), 1)

    @property
    def last(self) -> int:
        """The number of the last change file; 0 where there is none."""
        return max((each.number for each in self._files()), default=0)

    def sizes(self) -> list[int]:
        """Return the sizes of the change files in bytes."""
        return [each.path.stat().st_size for each in self._files()]

    def readers(self) -> list[Reader]:
        """Return who reads the spool; one whose checkpoint is gone is forgotten."""
        found = []
        for file in sorted((self._folder / _READERS).glob("*.json")):
            told = json.loads(file.read_text(encoding="utf-8"))
            reader = Reader(**{**told, "tables": tuple(told["tables"])})
            if Path(reader.checkpoint).is_dir():
                found.append(reader)
            else:
                file.unlink(missing_ok=True)
        return found

    def note(self, reader: Reader, applied: Mapping[str, Collection[str]] | None) -> bool:
        """Keep from now on what a reader has not applied.

        Args:
            reader: Who reads.
            applied: The files that it has applied, by table; None where it begins now, and needs
                all that ever was.

        Returns:
            Whether all that it needs is there; else it is not noted.
        """
        with self._locked():
            if not (self.whole if applied is None else self._follows(reader, applied)):
                return False
            name = hashlib.sha256(reader.checkpoint.encode()).hexdigest()[:16]
            content = json.dumps(asdict(reader))
            write_whole(self._folder / _READERS / f"{name}.json", content, synced=True)
            return True

    def _follows(self, reader: Reader, applied: Mapping[str, Collection[str]]) -> bool:
        """Return whether all that is gone of a reader's tables was applied by it.

        A checkpoint that was put back from a backup may be behind what was removed since.
        """
        kept = self._kept
        numbers = {
            table: [_number(e) for e in applied.get(table, ()) if not e.endswith(_REPLAY)]
            for table in reader.tables
        }
        first = min((each for some in numbers.values() for each in some), default=None)
        if first is None or first >= kept.get(_WHOLE_FROM, 0) > kept.get("removed", 0):
            return self.whole  # It began with what is there, and may not have come far.
        return all(
            kept.get(_removed(table), 0) <= max(some, default=0) for table, some in numbers.items()
        )

    def prune(self, keep_s: float, applied: Applied) -> int:
        """Remove the files that are old enough and needed no more; return how many.

        Args:
            keep_s: How long files are kept at least, in seconds.
            applied: Says what a reader has applied.
        """
        with self._locked():
            gone = self._spent(time.time() - keep_s, applied)
            log = [each for each in gone if not each.puts_back]
            if log:
                by_table = {_removed(each.table): each.number for each in log}
                self._note_kept(removed=log[-1].number, **by_table)
            for each in gone:
                each.path.unlink(missing_ok=True)
            return len(gone)

    def _spent(self, before: float, applied: Applied) -> Sequence[_File]:
        position = self._spool.position
        if position is None:
            return ()
        done = [(frozenset(each.tables), applied(each)) for each in self.readers()]
        kept = self._kept
        needed = kept.get(_NEEDED, 0) if self._read_once_more() else 0

        def is_spent(file: _File) -> bool:
            waited = any(
                file.table in tables and file.path.name not in has.get(file.table, ())
                for tables, has in done
            )
            if waited or file.number > position.file or 0 < needed <= file.number:
                return False
            return _aged_from(file, kept) <= before

        gone = []
        for file in self._files():
            if is_spent(file):
                gone.append(file)
            elif not file.puts_back:
                break
        return gone

    def _files(self) -> list[_File]:
        found = (self._folder / _FILES).glob("*/[0-9]*.jsonl")
        files = (_File(_number(each.name), each.parent.name, each) for each in found)
        return sorted(files, key=lambda each: (each.number, each.path.name))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
