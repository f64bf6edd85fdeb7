"""The file of a lease: who holds it, changed by one run at a time.

On a disk a lock of the file's own keeps the others out meanwhile. In an object store or HDFS it is
put on the condition that it is still what was read, so of those who saw the same one writes.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Protocol, assert_never

from joinery.errors import RunError
from joinery.files import write_whole
from joinery.place.place import RENEWAL_ANSWER_S, Place
from joinery.place.remote_path import RemotePath
from joinery.place.store import Found

LAPSE_S = 10.0
_LOCK_WAIT_S = 5.0
_LOCK_POLL_S = 0.02
_RENEW_TRIES = 2  # of a renewal, which comes again by itself


class LeaseHeldError(RunError):
    """Another run holds the lease."""

    code = "RUN_LEASE_HELD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a lease, as its file tells.

    Attributes:
        owner: An id of the run.
        epoch: Rises with each taking.
        machine: Names one boot of one machine and its process space.
        processes: The ids of the run's processes.
        since: When it was taken, ISO 8601.
        renewed_at: Seconds since 1970.
        released: True once the run gave it back.
    """

    owner: str
    epoch: int
    host: str
    machine: str
    processes: tuple[int, ...]
    since: str
    renewed_at: float
    released: bool = False

    @property
    def alive(self) -> bool:
        """False when the run has ended, as far as one can know from here."""
        if self.released or time.time() - self.renewed_at > LAPSE_S:
            return False
        return self.machine != this_machine() or any(_running(each) for each in self.processes)

    @property
    def orphaned(self) -> bool:
        """True when the renewing process has ended here, and others of the run go on."""
        return self.machine == this_machine() and not _running(self.processes[0])


_FACTS = fields(Holder)
Change = Callable[[Holder | None], Holder | None]
"""Given who holds a lease, returns who is to; None leaves it as it is."""


class LeaseFile(Protocol):
    """A file that names who holds a lease."""

    def check(self) -> None:
        """See that one run at a time can change it here.

        Raises:
            OSError: It cannot be written, or what it is in does not keep others out.
        """

    def change(self, change: Change) -> None:
        """Let `change` decide who holds it; nobody else has written between its look and that.

        Args:
            change: May be called again, and may then see what it returned before.

        Raises:
            LeaseHeldError: Another process keeps the file from being changed.
            OSError: It cannot be read or written.
        """

    def hurried(self) -> LeaseFile:
        """Return the same file for renewals, which are worth little once they are late."""

    def prepare(self) -> None:
        """Make what a change needs, which takes up to a second: a first renewal cannot wait."""


def lease_file(place: Place, query: str) -> LeaseFile:
    """Return the file of the lease on a query."""
    match place:
        case Path():
            return LockedFile(place, query)
        case RemotePath():
            return ConditionalFile(place)
        case _:
            assert_never(place)


class LockedFile:
    """On a disk that all runs share.

    Args:
        file: Where it stands.
        query: The query's name, for messages.
    """

    def __init__(self, file: Path, query: str) -> None:
        self._file = file
        self._query = query
        self._mutex = threading.Lock()

    def check(self) -> None:
        """Leave that to its lock."""

    def change(self, change: Change) -> None:
        """Change it under its lock."""
        with self._locked():
            if (holder := change(holder_in(self._file))) is not None:
                write_whole(self._file, _text(holder), synced=False)

    def hurried(self) -> LockedFile:
        """Return itself."""
        return self

    def prepare(self) -> None:
        """Need nothing."""

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._mutex, self._file.with_suffix(".lock").open("a") as lock:
            deadline = time.monotonic() + _LOCK_WAIT_S
            while not _try_lock(lock.fileno()):
                if time.monotonic() > deadline:
                    raise LeaseHeldError(
                        f'another process holds the lock of "{self._query}"',
                        hint=f"End the process that has {lock.name} open.",
                    )
                time.sleep(_LOCK_POLL_S)
            yield


@dataclass(slots=True)
class _Seen:
    """What a file held when it was last read or written."""

    found: Found | None = None


@dataclass(frozen=True, slots=True)
class ConditionalFile:
    """In a store that puts a file on a condition: that it is as it was last seen.

    So what changes it alone need not read it first.
    """

    file: RemotePath
    _seen: _Seen = field(default_factory=_Seen)

    def check(self) -> None:
        """See that the store keeps conditions."""
        self.file.with_name(f".{uuid.uuid4().hex}.probe").check_conditions()

    def change(self, change: Change) -> None:
        """Change it if it is still as it was, else look again."""

        def changed(content: bytes | None) -> bytes | None:
            holder = change(_holder_of(content))
            return None if holder is None else _text(holder).encode()

        self._seen.found = self.file.update(changed, self._seen.found)

    def hurried(self) -> ConditionalFile:
        """Return it with other patience, knowing what this one knows."""
        return ConditionalFile(self.file.within(RENEWAL_ANSWER_S, _RENEW_TRIES), self._seen)

    def prepare(self) -> None:
        """Make the client of the store."""
        self.file.prepare()


def holder_in(file: Place) -> Holder | None:
    """Return who a lease's file names; None where it names nobody."""
    try:
        return _holder_of(file.read_bytes())
    except FileNotFoundError:
        return None


def _holder_of(content: bytes | None) -> Holder | None:
    """Return who a lease names; None where it holds none, as after a crash of the machine."""
    try:
        told = json.loads(content or b"")
        facts = {each.name: told[each.name] for each in _FACTS if each.name in told}
        return Holder(**{**facts, "processes": tuple(facts["processes"])})
    except (ValueError, TypeError, LookupError):
        return None


def _text(holder: Holder) -> str:
    return json.dumps(asdict(holder))


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def this_machine() -> str:
    """Name this boot of this machine and this process space; empty where nobody can tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return f"{socket.gethostname()}/{uuid.getnode()}"


def _running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _ended(process)


def _ended(process: int) -> bool:
    """Return whether a process has ended and only its parent has not asked for that yet."""
    try:
        told = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return told.rpartition(")")[2].split()[:1] == ["Z"]
