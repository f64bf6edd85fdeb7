"""Documents that wait where the checkpoint is on no disk: what was done to a hold.

Each change of a hold is a file there, put before it is made in SQLite on the driver's disk. They
are numbered, and each is put on the condition that there is none of its number. To open the hold,
on whatever machine, is to do them all again in an empty file. Once those since the last one that
says all that the hold has cost as much to read as that one, another such takes the place of all.

Limits: that one is put whole, and meanwhile nothing else is held or sent.

Invariant: what SQLite has follows from the files; none is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, assert_never

from joinery.delivery.held_row import HeldRow, parse_held, read_held
from joinery.delivery.hold import Hold
from joinery.place.place import matching
from joinery.place.remote_path import RemotePath
from joinery.sinks.protocol import FencedError, SinkError, StagedBatch

_EACH = 1 << 16  # What it costs to read a file, in bytes that could be read meanwhile.
_LEAST = 100 * _EACH


class _Change(StrEnum):
    """What is done to a hold."""

    PUT = "put"
    LEAVE = "leave"
    FORGET_LEAVING = "forget_leaving"
    REMEMBER = "remember"
    STATE = "state"


class StoreHold(Hold):
    """A hold whose changes are kept in an object store or HDFS; used by one thread at a time.

    Args:
        log: The folder of its files.
        path: The file of the driver's to work with.
    """

    def __init__(self, log: RemotePath, path: Path) -> None:
        super().__init__(path)
        self._log, self._path = log, path
        self._next = 0
        self._standing: list[RemotePath] = []
        self._all_cost = self._since_cost = 0  # to read what says all, and what was put since

    def open(self) -> None:
        """Open an empty file, and do in it what was done.

        Raises:
            SinkError: A file is gone.
            StorageError: The store cannot be asked.
        """
        for end in ("", "-wal", "-shm"):
            Path(f"{self._path}{end}").unlink(missing_ok=True)
        super().open()
        try:
            self._redo()
        except BaseException:
            self.close()
            raise

    def put(self, batch: StagedBatch, now: float, *, begun: int = -1) -> None:
        """Hold the documents of a batch, and which it was; all of that or nothing.

        A batch without documents leaves no trace.
        """
        if not (rows := list(read_held(batch.files))):
            return
        facts = {
            "query_id": batch.query_id,
            "batch_id": batch.batch_id,
            "now": now,
            "again": self.is_again(batch.batch_id, begun),
        }
        self._do({"do": _Change.PUT, **facts}, rows)

    def forget_held(self) -> None:
        """Forget all documents that are held."""
        if self._opened.first("SELECT 1 FROM held LIMIT 1"):
            super().forget_held()
            self._shorten()

    def leave(self, now: float, *, quiet: float, old: float) -> bool:
        """Move what is due into the flush that is under way; False if nothing is."""
        if self._opened.first("SELECT 1 FROM leaving LIMIT 1"):
            return True
        if not self.has_due(now, quiet=quiet, old=old):
            return False
        self._do({"do": _Change.LEAVE, "now": now, "quiet": quiet, "old": old})
        return self._opened.first("SELECT 1 FROM leaving LIMIT 1") is not None

    def forget_leaving(self) -> None:
        """Forget the flush that is under way: it was written."""
        self._do({"do": _Change.FORGET_LEAVING})

    def remember(self, name: str, value: int) -> None:
        """Keep a fact beside the documents."""
        self._do({"do": _Change.REMEMBER, "name": name, "value": value})

    def _do(self, what: dict[str, Any], rows: Iterable[HeldRow] = ()) -> None:
        kept = list(rows)
        self._append(what, (each.line() for each in kept))
        self._done(what, kept)
        if self._since_cost > max(_LEAST, self._all_cost):
            self._shorten()

    def _append(self, what: dict[str, Any], lines: Iterable[str]) -> None:
        place = self._log / f"{self._next:012d}"
        content = f"{json.dumps(what)}\n{''.join(lines)}".encode()
        try:
            place.create(content)
        except FileExistsError as error:
            raise FencedError(
                "another run has taken over the documents that wait",
                detail=f"It has written {place}.",
                hint="Nothing is lost: start this run again if no other is running.",
            ) from error
        self._count(place, what, len(content))

    def _count(self, place: RemotePath, what: dict[str, Any], size: int) -> None:
        """Note a file that stands, and what it costs to read."""
        self._standing.append(place)
        self._next = int(place.name) + 1
        if what["do"] == _Change.STATE:
            self._all_cost, self._since_cost = size, 0
        else:
            self._since_cost += max(size, _EACH)

    def _done(self, what: dict[str, Any], rows: Iterable[HeldRow]) -> None:
        """Make a change in the file."""
        match _Change(what["do"]):
            case _Change.PUT:
                again = what.get("again", False)  # an earlier version did not say
                self.hold(rows, what["query_id"], what["batch_id"], what["now"], again=again)
            case _Change.LEAVE:
                super().leave(what["now"], quiet=what["quiet"], old=what["old"])
            case _Change.FORGET_LEAVING:
                super().forget_leaving()
            case _Change.REMEMBER:
                super().remember(what["name"], what["value"])
            case _Change.STATE:
                self.replace(what["held"], what["leaving"], what["facts"])
            case never:
                assert_never(never)

    def _shorten(self) -> None:
        """Let one file say all that the hold has, and remove those before."""
        before = tuple(self._standing)
        self._append({"do": _Change.STATE, **self.state()}, ())
        self._standing = self._standing[-1:]
        self._log.remove_files(before)

    def _redo(self) -> None:
        self._next, self._standing, missing = 0, [], False
        self._all_cost = self._since_cost = 0
        for place in matching(self._log, "*"):
            assert isinstance(place, RemotePath)  # as the folder is
            what, rows, size = _read(place)
            missing = what["do"] != _Change.STATE and (missing or int(place.name) != self._next)
            self._done(what, rows)
            self._count(place, what, size)
        if missing:
            raise SinkError(
                f"documents that wait are gone from {self._log}",
                detail="Files that were put there are not there any more.",
                hint="Send all documents again: joinery run --rebuild.",
            )


def _read(place: RemotePath) -> tuple[dict[str, Any], list[HeldRow], int]:
    """Return what a file tells: what is done, with which documents; and its size."""
    content = place.read_bytes()
    first, _, rest = content.decode().partition("\n")
    return json.loads(first), [parse_held(each) for each in rest.split("\n") if each], len(content)
