"""An outlet that waits for quiet: at most one document a key in the time a key settles.

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
from collections.abc import Sequence
from pathlib import Path

from joinery.connect.hold import Hold
from joinery.connect.outlet import Delaying, Outcome, Outlet
from joinery.connect.protocol import StagedBatch

_LONGEST = 10
_IDLE_S = 1.0


class SettlingOutlet:
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
        self._inner = inner
        self._hold = hold
        self._settle_s = settle_s
        self._longest_s = settle_s * _LONGEST
        self._delaying = delaying
        self._mutex = threading.Lock()
        self._changed = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Open the hold and all sinks, and begin to flush what is due."""
        self._hold.open()
        self._inner.open()
        self._closing.clear()
        self._thread = threading.Thread(target=self._flush_on_time, name="settle", daemon=True)
        self._thread.start()

    def write(self, batch: StagedBatch) -> Sequence[Outcome]:
        """Hold the documents of `batch`, replacing older ones that wait."""
        with self._mutex:
            self._hold.note(query_id=batch.query_id)
            self._hold.put(batch.files, time.time())
        self._changed.set()
        return ()

    def drain(self) -> Sequence[Outcome]:
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
        try:
            self._inner.close()
        finally:
            self._hold.close()

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
