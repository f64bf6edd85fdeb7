"""A lease on the checkpoint of one query, so that one run at a time writes its documents.

The lease is a JSON file beside the checkpoint (`lease_file`), renewed every 2 s by a thread. A
second run is refused while it is renewed and takes over once it has lapsed for 10 s, or at once
when every process of the holder has ended on this very machine; it waits for the JVM of a run
whose Python was killed. Each taking raises the epoch, which goes on across a rebuild.

Limits: the folder must be shared by all who may run the query, their clocks within a second. What
is written after a check has half a lapse to become visible.

Invariant: `check` returns only while nobody else may take the lease for half a lapse to come: while
it was renewed less than half a lapse ago, counted from before the renewal was asked for, however
late that was made. An answer that is late does not end a run. Once another run has taken the lease,
`check` raises forever.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple, Self

from joinery.delivery.lease_file import (
    LAPSE_S,
    Holder,
    LeaseFile,
    LeaseHeldError,
    holder_in,
    lease_file,
    this_machine,
)
from joinery.delivery.lease_request import ASKED, LeaseRequest
from joinery.errors import FencedError, RunError, SinkUnavailableError
from joinery.place.place import Place, is_cheap_to_read, look_every_s, with_short_patience

RENEW_S = 2.0
_SURE_S = LAPSE_S / 2
_RENEWALS = 3  # of a check, until one is not late
_LOOK_TRIES = 2  # of a request to a store that comes again by itself
_LOOKS_FOR_S = LAPSE_S / 2
_LOOK_S, _STORE_LOOK_S = 0.2, 1.0
# A renewal that took so long, a look for a request and the next renewal end within a lapse.
_LEAVES_ROOM_S = 3.0
_POLL_S = 0.1
_SHARED = "The folder of the checkpoint has to be shared with the executors."
_REACHED = (
    "Give the executors access to it, as the driver has: in an object store by the fs.s3a.…"
    " settings of run.spark, or keys in their own environment; in HDFS to the web addresses of its"
    " nodes."
)


class LeaseLateError(RunError, OSError):
    """A lease was renewed, each time so late that it may have lapsed meanwhile."""

    code = "RUN_LEASE_LATE"


@dataclass(frozen=True, slots=True)
class LeaseWatch:
    """A lease as the tasks of its holder see it, who cannot renew it.

    Attributes:
        file: Where the lease is kept, seen from all machines.
        owner: The run whose tasks these are.
        query: Its name, for messages.
    """

    file: Place
    owner: str
    query: str

    def check(self) -> None:
        """Return while the run holds the lease, for half a lapse to come; wait for its renewal.

        Raises:
            FencedError: Another run has taken over, or may.
            SinkUnavailableError: The lease cannot be seen now, or not that it was renewed, as
                where a shared folder lags behind; whoever holds it decides whether to try again.
        """
        until = time.monotonic() + _LOOKS_FOR_S
        while why := self._doubt():
            if time.monotonic() > until:
                raise SinkUnavailableError(
                    f'the task that writes cannot see the lease on "{self.query}": {why}',
                    detail=f"The lease is {self.file}.",
                    hint=_SHARED if is_cheap_to_read(self.file) else _REACHED,
                )
            time.sleep(_LOOK_S if is_cheap_to_read(self.file) else _STORE_LOOK_S)

    def _doubt(self) -> str:
        """Return why nothing may be written now; empty where it may."""
        try:
            holder = holder_in(self.file)
        except OSError as error:
            return _told(error)
        if holder is None:
            return "it does not exist"
        if holder.owner != self.owner or holder.released:
            raise _fenced(self.query)
        late = time.time() - holder.renewed_at >= _SURE_S
        return f"it was not renewed for {_SURE_S:.0f} s" if late else ""


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
        file: Place,
        query: str,
        on_lost: Callable[[], None] = lambda: None,
        *,
        beside: Place | None = None,
    ) -> None:
        self._file, self._beside = file, beside
        self._changing = lease_file(file, query)
        self._renewing = self._changing.hurried()
        self._renewed_at = _Moment(0.0, 0.0)
        self._query = query
        self._on_lost = on_lost
        self._on_asked: Callable[[], None] = lambda: None
        self._request = LeaseRequest(file.with_suffix(ASKED))
        self._held: Holder | None = None
        self._lost = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def file(self) -> Place:
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
        file = with_short_patience(self._file, tries=_LOOK_TRIES)
        return LeaseWatch(file, self.owner, self._query)

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
            OSError: It cannot be written, or its place does not keep others out.
        """
        while (stood := self._read()) and stood.alive and stood.orphaned:
            time.sleep(_POLL_S)
        self._changing.check()
        self._renewing.prepare()
        other = holder_in(self._beside) if self._beside else None
        taken, at = _fresh(), _Moment.now()

        def taking(stood: Holder | None) -> Holder:
            nonlocal taken
            if stood is not None and stood.alive and stood.owner != taken.owner:
                raise _held_error(self._query, stood)
            epoch = 1 + max(each.epoch if each else 0 for each in (stood, other))
            taken = replace(taken, epoch=epoch, renewed_at=at.wall)
            return taken

        self._changing.change(taking)
        self._held, self._renewed_at = taken, at
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
        try:
            while (stood := self._read()) and stood.alive:
                if gone():
                    raise _held_error(self._query, stood)
                self._request.renew(RENEW_S)
                time.sleep(_POLL_S if is_cheap_to_read(self._file) else look_every_s(self._file))
            self.take()
        finally:
            self._request.withdraw()

    def add_process(self, process: int) -> None:
        """Tell that `process` belongs to this run, such as the JVM."""
        self._change_ours(
            lambda ours: replace(ours, processes=_with(ours.processes, process)), self._changing
        )

    def check(self) -> None:
        """Return while no other run may take over, for half a lapse to come.

        Raises:
            FencedError: Another run has taken over.
            OSError: It was not renewed for half a lapse, and cannot be now, or only late.
        """
        if self._held is None or self._lost or not self._holds():
            self._lost = True
            raise _fenced(self._query)

    def _holds(self) -> bool:
        if self._renewed_at.age_s < _SURE_S and (
            not is_cheap_to_read(self._file) or self._names_us(self._read())
        ):
            return True
        for _ in range(_RENEWALS):
            if not self._renew_in(self._changing):
                return False
            if self._renewed_at.age_s < _SURE_S:
                return True
        raise _late(self._query)

    def release(self) -> None:
        """Give the lease back, if it is still ours; where that cannot be, it lapses by itself."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(RENEW_S)
        if self._held and not self._lost:
            with suppress(OSError):
                self._change_ours(lambda ours: replace(ours, released=True), self._renewing)
        self._held = None

    def _renew(self) -> None:
        pause_s = max(0.0, RENEW_S - self._renewed_at.age_s)
        while not self._ended.wait(pause_s):
            begun = time.monotonic()
            if not self._renewed():
                self._lost = True
                self._on_lost()
                return
            leaves_room = time.monotonic() - begun < _LEAVES_ROOM_S
            if leaves_room and self._request.stands():
                self._on_asked()
            pause_s = max(0.0, RENEW_S - (time.monotonic() - begun))

    def _renewed(self) -> bool:
        try:
            return self._renew_in(self._renewing)
        except (OSError, LeaseHeldError):
            # A full or absent disk: the lease lapses by itself, and `check` decides.
            return not self._lost

    def _renew_in(self, file: LeaseFile) -> bool:
        """Renew it; False where the file names another run by now."""
        at = _Moment.now()
        ours = self._change_ours(
            lambda ours: replace(ours, renewed_at=max(ours.renewed_at, at.wall)), file
        )
        if ours:
            self._renewed_at = max(self._renewed_at, at, key=lambda each: each.steady)
        return ours

    def _change_ours(self, change: Callable[[Holder], Holder], file: LeaseFile) -> bool:
        """Change what the file says of this run; False where it names another by now."""
        ours = False

        def changing(stood: Holder | None) -> Holder | None:
            nonlocal ours
            ours = self._names_us(stood)
            return change(stood) if stood is not None and ours else None

        file.change(changing)
        return ours

    def _names_us(self, stood: Holder | None) -> bool:
        return stood is not None and self._held is not None and stood.owner == self._held.owner

    def _read(self) -> Holder | None:
        return holder_in(self._file)


class _Moment(NamedTuple):
    """A time by two clocks: one that others share, and one that nobody sets."""

    wall: float
    steady: float

    @classmethod
    def now(cls) -> Self:
        return cls(time.time(), time.monotonic())

    @property
    def age_s(self) -> float:
        """How long ago it was, by the clock that says more: one may have stood still."""
        return max(time.time() - self.wall, time.monotonic() - self.steady)


def _with(processes: tuple[int, ...], process: int) -> tuple[int, ...]:
    return processes if process in processes else (*processes, process)


def _fresh() -> Holder:
    return Holder(
        owner=uuid.uuid4().hex,
        epoch=0,
        host=socket.gethostname(),
        machine=this_machine(),
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


def _late(query: str) -> LeaseLateError:
    return LeaseLateError(
        f'could not renew the lease on "{query}" in time',
        detail=f"Each of {_RENEWALS} renewals took longer than {_SURE_S:.0f} s.",
        hint="Nothing is lost: start the run again once the checkpoint's storage is fast enough.",
    )


def _told(error: OSError) -> str:
    """Return what an error says, in one line without its end."""
    said = f"{error.message}: {error.detail}" if isinstance(error, RunError) else f"{error}"
    return " ".join(said.split()).rstrip(".")


def _held_error(query: str, holder: Holder) -> LeaseHeldError:
    ours = (holder.machine, holder.processes[0]) == (this_machine(), os.getpid())
    return LeaseHeldError(
        f'another run of "{query}" is active: host {holder.host}, process'
        f" {holder.processes[0]}{', which is this one' if ours else ''}, since {holder.since}",
        detail="Two runs of one query would overwrite each other.",
        hint="Stop that run: [each.stop() for each in jn.runs()]."
        if ours
        else "Stop that run; if it was killed, wait 10 s.",
    )
