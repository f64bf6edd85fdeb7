"""The ways on which documents wait for their sinks, in a hold.

`GatedOutlet` (`ready`) sends nothing until some relations have been read to their first end; the
batch that opens the gate sends what is held with its own, each key once. `SettlingOutlet` (`emit:
{settle: …}`) sends at most one document per key in the time a key settles: it leaves once its key
has not changed for that long, and after ten times that at the latest, so a key that never rests is
still seen. A thread flushes what is due, also while no batch comes; a flush goes out as what is
sent after the last batch of which documents were held.

Invariant: what the opening batch sends is forgotten only when a later batch begins, so it sends
the same when it runs again. A flush is forgotten only once it was written.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from joinery.delivery.hold import OPENED, Hold
from joinery.delivery.outlet import Delaying, Outlet, SinkResult
from joinery.sinks.protocol import StagedBatch


def _none_begun() -> int:
    """Return the last batch that was begun where none was."""
    return -1


class HoldingOutlet:
    """An outlet in front of another, whose documents wait in a hold meanwhile.

    Args:
        inner: Where the documents go.
        hold: Where they wait until then.
        begun: Returns the last batch whose lines may not know what sinks hold, such as the last
            that was begun before this run; asked for at its start.
    """

    def __init__(self, inner: Outlet, hold: Hold, begun: Callable[[], int] = _none_begun) -> None:
        self._inner = inner
        self._hold = hold
        self._begun = begun
        self._last_begun = -1

    def open(self) -> None:
        """Open the hold, then all sinks."""
        self._last_begun = self._begun()
        self._hold.open()
        self._inner.open()

    def close(self) -> None:
        """Close all sinks and the hold."""
        try:
            self._inner.close()
        finally:
            self._hold.close()


class GatedOutlet(HoldingOutlet):
    """Holds the documents of a product back until `reached`.

    Args:
        inner: Where the documents go once the gate is open.
        hold: Where they wait until then.
        reached: Tells whether a batch, by its id, ends at or behind all the ends.
        begun: See `HoldingOutlet`.
        hashed: `inner` holds documents, too, and takes lines that say what they replace.
    """

    def __init__(
        self,
        inner: Outlet,
        hold: Hold,
        reached: Callable[[int], bool],
        *,
        begun: Callable[[], int] = _none_begun,
        hashed: bool = False,
    ) -> None:
        super().__init__(inner, hold, begun)
        self._reached = reached
        self._hashed = hashed

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Hold `batch`, or write it with all that was held."""
        opened = self._hold.number(OPENED)
        if opened is not None and batch.batch_id > opened:
            self._hold.forget_held()
            return self._inner.write(batch)
        self._hold.put(batch, time.time(), begun=self._last_begun)
        if not self._reached(batch.batch_id):
            return ()
        self._hold.remember(OPENED, batch.batch_id)
        return self._send_held(batch)

    def drain(self) -> Sequence[SinkResult]:
        """Let the inner outlet drain; what waits for readiness goes on waiting."""
        return self._inner.drain()

    def _send_held(self, batch: StagedBatch) -> Sequence[SinkResult]:
        with tempfile.TemporaryDirectory(prefix="joinery-ready-") as folder:
            whole = Path(folder, "part-00000.jsonl")
            held = self._hold.write_held(whole, hashed=self._hashed)
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
        begun: See `HoldingOutlet`.
        sending: Held while a flush uses the sinks.
    """

    def __init__(
        self,
        inner: Outlet,
        hold: Hold,
        *,
        settle_s: float,
        delaying: Delaying,
        begun: Callable[[], int] = _none_begun,
        sending: threading.Lock | None = None,
    ) -> None:
        super().__init__(inner, hold, begun)
        self._settle_s = settle_s
        self._longest_s = settle_s * _LONGEST
        self._delaying = delaying
        self._mutex = threading.Lock() if sending is None else sending
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
            self._hold.put(batch, time.time(), begun=self._last_begun)
        self._changed.set()
        return ()

    def drain(self) -> Sequence[SinkResult]:
        """Send all that waits, without waiting for quiet."""
        self._flush(quiet=time.time())
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
                self._flush(quiet=time.time() - self._settle_s)
                wait = self._wait()
            except Exception as error:
                self._delaying.on_error(error)
                return
            self._changed.wait(wait)
            self._changed.clear()

    def _wait(self) -> float:
        with self._mutex:
            due = self._hold.next_due(settle=self._settle_s, longest=self._longest_s)
        if due is None:
            return _IDLE_S
        return min(max(due - time.time(), 0.001), self._settle_s)  # The clock may be set back.

    def _flush(self, *, quiet: float) -> None:
        """Send what is quiet since then or held too long, and what an earlier flush left."""
        with self._mutex:
            now = time.time()
            while self._hold.leave(now, quiet=quiet, old=now - self._longest_s):
                self._send_leaving()
                self._hold.forget_leaving()

    def _send_leaving(self) -> None:
        with tempfile.TemporaryDirectory(prefix="joinery-settle-") as folder:
            part = Path(folder, "part-00000.jsonl")
            place = self._hold.write_leaving(part)
            batch = self._delaying.make(
                query_id=place.query_id, batch_id=place.batch_id, files=(part,)
            )
            self._delaying.tell(self._inner.write(replace(batch, after=place.after)))
