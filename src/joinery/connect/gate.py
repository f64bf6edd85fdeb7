"""An outlet that sends nothing until some relations have been read to their first end.

Until then documents wait in a `Hold`, the newest a key; the batch that opens the gate sends
them with its own, each key once.

Invariant: what the opening batch sends is forgotten only when a later batch begins, so it
sends the same when it runs again.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from joinery.connect.hold import Hold
from joinery.connect.outlet import Outcome, Outlet
from joinery.connect.protocol import StagedBatch

_OPENED = "opened_by_batch"


class GatedOutlet:
    """Holds the documents of a product back until `reached`.

    Args:
        inner: Where the documents go once the gate is open.
        hold: Where they wait until then.
        reached: Tells whether a batch, by its id, ends at or behind all the ends.
    """

    def __init__(self, inner: Outlet, hold: Hold, reached: Callable[[int], bool]) -> None:
        self._inner = inner
        self._hold = hold
        self._reached = reached

    def open(self) -> None:
        """Open the hold, then all sinks."""
        self._hold.open()
        self._inner.open()

    def write(self, batch: StagedBatch) -> Sequence[Outcome]:
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

    def drain(self) -> Sequence[Outcome]:
        """Let the inner outlet drain; what waits for readiness goes on waiting."""
        return self._inner.drain()

    def close(self) -> None:
        """Close all sinks and the hold."""
        try:
            self._inner.close()
        finally:
            self._hold.close()

    def _send_held(self, batch: StagedBatch) -> Sequence[Outcome]:
        with tempfile.TemporaryDirectory(prefix="joinery-ready-") as folder:
            whole = Path(folder, "part-00000.jsonl")
            held = self._hold.write_held(whole)
            return self._inner.write(replace(batch, files=(whole,) if held else ()))
