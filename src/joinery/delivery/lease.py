"""A lease on the checkpoint of one query, so that one run at a time writes its documents.

The lease is a JSON file beside the checkpoint, renewed every 2 s by a thread. A second run
is refused while it is renewed and takes over once it has lapsed for 10 s, or at once when
every process of the holder has ended on this very machine; it waits for the JVM of a run
whose Python was killed. Each taking raises the epoch, which goes on across a rebuild.

Limits: the folder must be shared by all who may run the query, their clocks within seconds.

Invariant: once another run has taken the lease, `check` raises for ever.
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
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from joinery.errors import RunError, SinkUnavailableError
from joinery.files import write_whole
from joinery.sinks.protocol import FencedError

RENEW_S = 2.0
LAPSE_S = 10.0
_LOCK_WAIT_S = 5.0
_LOOKS = 5
_LOOK_S = 0.2
_ORPHAN_POLL_S = 0.1


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
        return self.machine != _machine() or any(_running(each) for each in self.processes)

    @property
    def orphaned(self) -> bool:
        """True when the renewing process has ended here, and others of the run go on."""
        return self.machine == _machine() and not _running(self.processes[0])


@dataclass(frozen=True, slots=True)
class LeaseWatch:
    """A lease as the tasks of its holder see it, who cannot renew it.

    Attributes:
        file: Where the lease is kept, seen from all machines.
        owner: The run whose tasks these are.
        query: Its name, for messages.
    """

    file: Path
    owner: str
    query: str

    def check(self) -> None:
        """Return if the run still holds the lease.

        Raises:
            FencedError: Another run has taken over.
            SinkUnavailableError: The lease cannot be seen now, as where a shared folder lags
                behind its renewal; whoever holds it decides whether to try again.
        """
        if self._holder().owner != self.owner:
            raise _fenced(self.query)

    def _holder(self) -> Holder:
        for _ in range(_LOOKS):
            with suppress(OSError):
                if holder := _holder(self.file):
                    return holder
            time.sleep(_LOOK_S)
        raise SinkUnavailableError(
            f'the lease on "{self.query}" cannot be seen from the task that writes',
            detail=f"It is {self.file}.",
            hint="The folder of the checkpoint has to be shared with the executors.",
        )


class Lease:
    """The lease on one query.

    Args:
        file: Where the lease stands.
        query: The query's name, for messages.
        on_lost: Called once, from the renewing thread, when another run has taken over.
        beside: The lease of a checkpoint that this one takes the place of, or gives its place to,
            with whatever that was written under: both count their epochs together.
    """

    def __init__(
        self,
        file: Path,
        query: str,
        on_lost: Callable[[], None] = lambda: None,
        *,
        beside: Path | None = None,
    ) -> None:
        self._file, self._beside = file, beside
        self._query = query
        self._on_lost = on_lost
        self._on_asked: Callable[[], None] = lambda: None
        self._held: Holder | None = None
        self._lost = False
        self._mutex = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def file(self) -> Path:
        """Where the lease stands."""
        return self._file

    @property
    def holder(self) -> Holder | None:
        """Who holds it, or held it last; None where no run ever has."""
        return self._read()

    @property
    def owner(self) -> str:
        """The id of this run, as the file names it; empty while it is not held."""
        return self._held.owner if self._held else ""

    @property
    def watch(self) -> LeaseWatch:
        """What tells from another machine whether this run still holds the lease."""
        return LeaseWatch(self._file, self.owner, self._query)

    @property
    def epoch(self) -> int:
        """The number of this taking."""
        return self._held.epoch if self._held else 0

    @property
    def lost(self) -> FencedError | None:
        """Why nothing may be written any more, once another run has taken over."""
        return _fenced(self._query) if self._lost else None

    def take(self) -> None:
        """Take the lease and keep renewing it.

        Raises:
            LeaseHeldError: Another run holds it.
        """
        while (stood := self._read()) and stood.alive and stood.orphaned:
            time.sleep(_ORPHAN_POLL_S)
        with self._locked():
            stood = self._read()
            if stood is not None and stood.alive:
                raise _held_error(self._query, stood)
            other = _holder(self._beside) if self._beside else None
            self._held = _fresh(max(each.epoch if each else 0 for each in (stood, other)) + 1)
            self._write(self._held)
        self._thread = threading.Thread(target=self._renew, name="joinery-lease", daemon=True)
        self._thread.start()

    def on_request(self, end: Callable[[], None]) -> None:
        """Call `end`, from the renewing thread, when a rebuild asks this run to end."""
        self._on_asked = end

    def take_over(self, gone: Callable[[], bool]) -> None:
        """Ask the run that holds the lease to end after its batch, wait for that, and take it.

        Args:
            gone: Asked while waiting; once it is true the wait is given up.

        Raises:
            LeaseHeldError: The wait was given up.
        """
        asked = self._asked
        asked.parent.mkdir(parents=True, exist_ok=True)
        asked.touch()
        try:
            while (stood := self._read()) and stood.alive:
                if gone():
                    raise _held_error(self._query, stood)
                time.sleep(_ORPHAN_POLL_S)
            self.take()
        finally:
            asked.unlink(missing_ok=True)

    @property
    def _asked(self) -> Path:
        return self._file.with_suffix(".asked")

    def add_process(self, process: int) -> None:
        """Tell that `process` belongs to this run, such as the JVM."""
        with self._locked():
            if self._held and self._still_ours():
                self._held = replace(self._held, processes=(*self._held.processes, process))
                self._write(self._held)

    def check(self) -> None:
        """Raise `FencedError` if another run has taken over."""
        if self._held is None or self._lost or not self._still_ours():
            self._lost = True
            raise _fenced(self._query)

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(RENEW_S)
        with self._locked():
            if self._held and not self._lost and self._still_ours():
                self._write(replace(self._held, released=True))
        self._held = None

    def _renew(self) -> None:
        while not self._ended.wait(RENEW_S):
            if not self._renewed():
                self._lost = True
                self._on_lost()
                return
            if self._asked.exists():
                self._on_asked()

    def _renewed(self) -> bool:
        try:
            with self._locked():
                if self._held is None or not self._still_ours():
                    return False
                self._held = replace(self._held, renewed_at=time.time())
                self._write(self._held)
        except (OSError, LeaseHeldError):
            # A full or absent disk: the lease lapses by itself, and `check` decides.
            return not self._lost
        return True

    def _still_ours(self) -> bool:
        stands = self._read()
        return stands is not None and self._held is not None and stands.owner == self._held.owner

    def _read(self) -> Holder | None:
        return _holder(self._file)

    def _write(self, holder: Holder) -> None:
        write_whole(self._file, json.dumps(asdict(holder)), synced=False)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the file's lock: every read followed by a write stands within it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._mutex, self._file.with_suffix(".lock").open("a") as lock:
            deadline = time.monotonic() + _LOCK_WAIT_S
            while not _try_lock(lock.fileno()):
                if time.monotonic() > deadline:
                    raise LeaseHeldError(
                        f'another process holds the lock of "{self._query}"',
                        hint=f"End the process that has {lock.name} open.",
                    )
                time.sleep(0.02)
            yield


def _holder(file: Path) -> Holder | None:
    """Return who a lease's file names; None where it names nobody."""
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return Holder(**{**facts, "processes": tuple(facts["processes"])})


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _fresh(epoch: int) -> Holder:
    return Holder(
        owner=uuid.uuid4().hex,
        epoch=epoch,
        host=socket.gethostname(),
        machine=_machine(),
        processes=(os.getpid(),),
        since=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        renewed_at=time.time(),
    )


def _fenced(query: str) -> FencedError:
    return FencedError(
        f'another run has taken over "{query}"',
        detail="This run missed its heartbeat for more than 10 s, and has written nothing since.",
        hint="Nothing is lost: the other run continues where this one stopped.",
    )


def _held_error(query: str, holder: Holder) -> LeaseHeldError:
    return LeaseHeldError(
        f'another run of "{query}" is going on: host {holder.host}, process'
        f" {holder.processes[0]}, since {holder.since}",
        detail="Two runs of one query would write over each other.",
        hint="End that run, or wait 10 s after it was killed.",
    )


def _machine() -> str:
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
    return True
