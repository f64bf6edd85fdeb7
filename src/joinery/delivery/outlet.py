"""What stands between a product's staged batches and its sinks: when documents go out.

`DirectOutlet` passes a batch on; `GatedOutlet` and `SettlingOutlet` stand in front of an outlet and
hold documents back.

Invariant: nothing reaches a sink once the batch's lease is lost.

An outlet that sends nothing until some relations have been read to their first end.

Until then documents wait in a `Hold`, the newest a key; the batch that opens the gate sends
them with its own, each key once.

Invariant: what the opening batch sends is forgotten only when a later batch begins, so it
sends the same when it runs again.

An outlet that waits for quiet: at most one document a key in the time a key settles.

A document leaves once its key has not changed for `settle`, and after ten times that at the
latest, so a key that never rests is still seen. A thread flushes what is due, also while no
batch comes. Each flush has a number of its own, which takes the place of the batch's.

Invariant: a flush that was begun is written whole before the next one, under the same
number, also after a crash.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from joinery.delivery.hold import Hold
from joinery.errors import JoineryError, RunError
from joinery.model.warning import RunWarning, warn
from joinery.sinks.protocol import Sink, StagedBatch, Written


class SinkResult(NamedTuple):
    """What one sink made of some documents."""

    target: str
    written: Written


class BatchMaker(Protocol):
    """Makes a batch of one product in this run, for documents that a hold gives."""

    def __call__(self, *, query_id: str, batch_id: int, files: tuple[Path, ...]) -> StagedBatch:
        """Return the batch."""


@dataclass(frozen=True, slots=True)
class Delaying:
    """What an outlet needs that sends between batches.

    Attributes:
        make: Makes a batch of what is sent.
        tell: Told what became of it, before it is forgotten here.
        on_error: Told why it could not be sent.
        ended: True once the run is to end.
        end: Lets the run end after its batch.
        warn: Takes what someone should look at.
    """

    make: BatchMaker
    tell: Callable[[Sequence[SinkResult]], None]
    on_error: Callable[[Exception], None]
    ended: Callable[[], bool] = lambda: False
    end: Callable[[], None] = lambda: None
    warn: Callable[[RunWarning], None] = warn


class Outlet(Protocol):
    """The way of one product's documents to its sinks; used by one thread at a time."""

    def open(self) -> None:
        """Open all sinks."""

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Take a batch, also one without documents; tell what became of what was sent."""

    def drain(self) -> Sequence[SinkResult]:
        """Send what may be sent now without waiting longer; called at the end of `--once`."""

    def close(self) -> None:
        """Close all sinks; what is still held is kept for the next run."""


class DirectOutlet:
    """Writes each batch to all sinks, which wait for each other."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    def open(self) -> None:
        """Open all sinks."""
        for sink in self._sinks:
            sink.open()

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Write `batch` to each sink in turn."""
        if not batch.files:
            return ()
        return [SinkResult(sink.target, _write(sink, batch)) for sink in self._sinks]

    def drain(self) -> Sequence[SinkResult]:
        """Nothing is held."""
        return ()

    def close(self) -> None:
        """Close all sinks."""
        for sink in self._sinks:
            sink.close()


def _write(sink: Sink, batch: StagedBatch) -> Written:
    """Write a batch; what the sink raises is told with its product."""
    batch.check()
    try:
        return sink.write(batch)
    except JoineryError:
        raise
    except Exception as error:
        kind = type(sink).__name__
        raise RunError(
            f'could not write documents of "{batch.product}" to its sink ({kind}): {error}'
        ) from error


class HoldingOutlet:
    """An outlet in front of another, whose documents wait in a hold meanwhile.

    Args:
        inner: Where the documents go.
        hold: Where they wait until then.
    """

    def __init__(self, inner: Outlet, hold: Hold) -> None:
        self._inner = inner
        self._hold = hold

    def open(self) -> None:
        """Open the hold, then all sinks."""
        self._hold.open()
        self._inner.open()

    def close(self) -> None:
        """Close all sinks and the hold."""
        try:
            self._inner.close()
        finally:
            self._hold.close()


_OPENED = "opened_by_batch"


class GatedOutlet(HoldingOutlet):
    """Holds the documents of a product back until `reached`.

    Args:
        inner: Where the documents go once the gate is open.
        hold: Where they wait until then.
        reached: Tells whether a batch, by its id, ends at or behind all the ends.
    """

    def __init__(self, inner: Outlet, hold: Hold, reached: Callable[[int], bool]) -> None:
        super().__init__(inner, hold)
        self._reached = reached

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Hold `batch`, or write it with all that was held."""
        opened = self._hold.number(_OPENED)
        if opened is not None and batch.batch_id > opened:
            self._hold.forget_held()
            return self._inner.write(batch)
        self._hold.put(batch.files, time.time())
        if not self._reached(batch.batch_id):
            return ()
        self._hold.remember(_OPENED, batch.batch_id)
        return self._send_held(batch)

    def drain(self) -> Sequence[SinkResult]:
        """Let the inner outlet drain; what waits for readiness goes on waiting."""
        return self._inner.drain()

    def _send_held(self, batch: StagedBatch) -> Sequence[SinkResult]:
        with tempfile.TemporaryDirectory(prefix="joinery-ready-") as folder:
            whole = Path(folder, "part-00000.jsonl")
            held = self._hold.write_held(whole)
            return self._inner.write(replace(batch, files=(whole,) if held else ()))


_LONGEST = 10
_IDLE_S = 1.0


class SettlingOutlet(HoldingOutlet):
    """Sends the documents of a product once their keys have settled.

    Args:
        inner: Where the documents go.
        hold: Where they wait until then.
        settle_s: For how long a key must not change.
        delaying: Makes the batch of a flush, and is told what became of it.
    """

    def __init__(
        self,
        inner: Outlet,
        hold: Hold,
        *,
        settle_s: float,
        delaying: Delaying,
    ) -> None:
        super().__init__(inner, hold)
        self._settle_s = settle_s
        self._longest_s = settle_s * _LONGEST
        self._delaying = delaying
        self._mutex = threading.Lock()
        self._changed = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Open the hold and all sinks, and begin to flush what is due."""
        super().open()
        self._closing.clear()
        self._thread = threading.Thread(
            target=self._flush_on_time, name="joinery-settle", daemon=True
        )
        self._thread.start()

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Hold the documents of `batch`, replacing older ones that wait."""
        with self._mutex:
            self._hold.note(query_id=batch.query_id)
            self._hold.put(batch.files, time.time())
        self._changed.set()
        return ()

    def drain(self) -> Sequence[SinkResult]:
        """Send all that waits, without waiting for quiet."""
        self._flush(time.time() + self._settle_s)
        return ()

    def close(self) -> None:
        """End the thread; close all sinks and the hold. What waits is sent by the next run."""
        self._closing.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        super().close()

    def _flush_on_time(self) -> None:
        while not self._closing.is_set():
            try:
                self._flush(time.time())
                wait = self._wait()
            except Exception as error:
                self._delaying.on_error(error)
                return
            self._changed.wait(wait)
            self._changed.clear()

    def _wait(self) -> float:
        with self._mutex:
            due = self._hold.next_due(settle=self._settle_s, longest=self._longest_s)
        return _IDLE_S if due is None else max(due - time.time(), 0.001)

    def _flush(self, now: float) -> None:
        """Send what is due at `now`, and what an earlier flush left."""
        with self._mutex:
            while self._hold.leave(quiet=now - self._settle_s, old=now - self._longest_s):
                self._send_leaving()
                self._hold.forget_leaving()

    def _send_leaving(self) -> None:
        with tempfile.TemporaryDirectory(prefix="joinery-settle-") as folder:
            part = Path(folder, "part-00000.jsonl")
            number = self._hold.write_leaving(part)
            batch = self._delaying.make(
                query_id=self._hold.query_id, batch_id=number, files=(part,)
            )
            self._delaying.tell(self._inner.write(batch))
