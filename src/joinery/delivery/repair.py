"""Documents that a run is asked to send again, since those in a sink are wrong.

A request is a file beside the checkpoint, written whole by `joinery diff --repair`; the run takes
it between two batches, and answers in a file beside it. Where no run goes on, who asks holds the
lease and does the same. So it is kept who asked for what, and when.

A document is sent under the version that follows the wrong one's or, where the sink lacks it, under
the time before its verdict. A batch that reads what came after the verdict has a higher version,
which is the time when it was planned.

Limits: the clock of who compares is not ahead of the run's.

Invariant: nothing that a batch has sent since the verdict, deletes included, is replaced in any
sink of the product, however late a request is served: the sink that was found wrong has to hold
the very document that was judged, and sinks refuse what is older than what they hold or remember.
What has no such version is left. A request that was broken off is repeated.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from joinery.delivery.control import Action
from joinery.files import write_whole
from joinery.place.place import Place, look_every_s
from joinery.sinks.line import StagedRow
from joinery.sinks.reader import DocumentReader, Held

_SUFFIX, _DONE = ".json", ".done.json"
_AHEAD_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """A document that is to be sent again.

    Attributes:
        key: Its root key, as the lines of a batch write it.
        value: What it should be, as JSON text; None where it should not be there.
        held: What the sink holds in its place; None where it lacks it.
        version: Under which the sink holds that.
        judged_us: A time before the verdict's first snapshot, in microseconds since 1970; 0 where
            it is not known, as in older requests.
    """

    key: str
    value: str | None
    held: str | None
    version: int | None
    judged_us: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request.

    Attributes:
        sent: How many documents were sent again.
        moved: How many were left, since the sink no longer holds what was found wrong.
        ahead: How many were left, since the sink has them under a version of a time to come.
        stale: How many were left, since the verdict is too old, or older than the wrong document.
        refused: How many the sink has refused.
        failed: Why nothing more could be done; empty where all was.
    """

    sent: int = 0
    moved: int = 0
    ahead: int = 0
    stale: int = 0
    refused: int = 0
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        sink: The place of the sink among those of the product.
    """

    id: str
    product: str
    sink: int
    wanted: Sequence[Wanted]


class RepairLog:
    """The requests of one query and their answers.

    Args:
        folder: Where they stand; it is made with the first.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder

    @property
    def look_every_s(self) -> float:
        """How often a run looks for requests."""
        return look_every_s(self._folder)

    def ask(self, product: str, sink: int, wanted: Sequence[Wanted], action: Action) -> str:
        """Write a request down; return its id."""
        self._folder.mkdir(parents=True, exist_ok=True)
        id = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
        told = {
            **asdict(action),
            "product": product,
            "sink": sink,
            "documents": [asdict(each) for each in wanted],
        }
        write_whole(self._folder / f"{id}{_SUFFIX}", json.dumps(told), synced=True)
        return id

    def pending(self) -> list[Request]:
        """Return the requests without an answer, the oldest first."""
        with suppress(FileNotFoundError):
            return self._pending()
        return []

    def _pending(self) -> list[Request]:
        names = sorted(each.name for each in self._folder.iterdir() if each.suffix == _SUFFIX)
        asked = [each.removesuffix(_SUFFIX) for each in names if not each.endswith(_DONE)]
        return [self._read(id) for id in asked if f"{id}{_DONE}" not in names]

    def answer(self, id: str, outcome: Outcome) -> None:
        """Write down what became of a request."""
        write_whole(self._folder / f"{id}{_DONE}", json.dumps(asdict(outcome)), synced=True)

    def outcome(self, id: str) -> Outcome | None:
        """Return what became of a request; None while it is not known."""
        try:
            return Outcome(**json.loads((self._folder / f"{id}{_DONE}").read_text()))
        except FileNotFoundError:
            return None

    def _read(self, id: str) -> Request:
        told: Mapping[str, Any] = json.loads((self._folder / f"{id}{_SUFFIX}").read_text())
        wanted = tuple(Wanted(**each) for each in told["documents"])
        return Request(id, told["product"], told["sink"], wanted)


class RepairSwitch:
    """Tells a run of requests, looked up twice a second, in an object store or HDFS every 5 s.

    Args:
        log: The requests.
        clock: In seconds.
    """

    def __init__(self, log: RepairLog, clock: Callable[[], float] = time.monotonic) -> None:
        self.log = log
        self._clock = clock
        self._looked_at: float | None = None

    def pending(self) -> list[Request]:
        """Return the requests without an answer; none between two looks."""
        now = self._clock()
        if self._looked_at is not None and now < self._looked_at + self.log.look_every_s:
            return []
        self._looked_at = now
        return self.log.pending()


class SendAgain(Protocol):
    """Sends documents as a batch of their own; returns how many were refused."""

    def __call__(self, request: Request, rows: Sequence[StagedRow]) -> int:
        """Send them."""


def serve(
    request: Request,
    reader: DocumentReader,
    send: SendAgain,
    *,
    remembered_us: int,
    now_us: int | None = None,
) -> Outcome:
    """Send again what a request wants and may be sent.

    Args:
        request: What is wanted.
        reader: Of the sink that was found wrong.
        send: Sends documents.
        remembered_us: How long the sinks remember a delete.
        now_us: Microseconds since 1970.
    """
    now = time.time_ns() // 1000 if now_us is None else now_us
    held = reader.read([each.key for each in request.wanted])
    rows: list[StagedRow] = []
    moved = ahead = stale = 0
    for each in request.wanted:
        found = held.get(each.key)
        if not _is(found, each):
            moved += 1
        elif each.version is not None and each.version > now + _AHEAD_US:
            ahead += 1
        elif (version := _version(each, now, forgotten=now - remembered_us)) is None:
            stale += 1
        else:
            rows.append(StagedRow(each.key, each.value, version))
    refused = send(request, rows) if rows else 0
    return Outcome(sent=len(rows) - refused, moved=moved, ahead=ahead, stale=stale, refused=refused)


def _version(wanted: Wanted, now: int, forgotten: int) -> int | None:
    """Return the version to send a document under; None where a sink might lose a newer one.

    Args:
        wanted: The document.
        now: Microseconds since 1970.
        forgotten: Of deletes below this version, sinks may know nothing any more.
    """
    # A batch's version is its time in whole milliseconds, and what changed after the verdict's
    # snapshot is in a batch of that millisecond at the earliest.
    below_later = (min(now, wanted.judged_us) // 1000 - 1) * 1000
    version = below_later if wanted.version is None else wanted.version + 1
    return version if version <= below_later and below_later >= max(forgotten, 0) else None


def _is(found: Held | None, wanted: Wanted) -> bool:
    if found is None:
        return wanted.held is None
    return (found.value, found.version) == (wanted.held, wanted.version)
