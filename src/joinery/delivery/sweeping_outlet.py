"""Sends a product that one batch builds again: what it sent before and no longer has is deleted.

Targets are asked what they hold, since the state of the product as it was is read by nobody. Of
each document that they hold and the batch does not have, a tombstone goes with the batch.

Invariant: a batch that runs again sends the same tombstones, though targets list the keys no more:
they are noted before they are sent, until the next batch.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from joinery.delivery.hold import Hold, write_rows
from joinery.delivery.outlet import Outlet, SinkResult
from joinery.delivery.sweep import Sweep
from joinery.files import write_whole
from joinery.model.warning import RunWarning
from joinery.place.place import Place
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Sink, StagedBatch


@dataclass(frozen=True, slots=True)
class Building:
    """The batch that builds a product again.

    Attributes:
        batch: Returns its number; None where there is none to come. Called once it is known.
        version: Returns the version of its documents. Called within it.
        note: Where the keys are kept of which it sends tombstones.
        sending: Held while it asks the sinks or writes to them by itself; whoever sends between
            batches holds it, too.
    """

    batch: Callable[[], int | None]
    version: Callable[[int], int]
    note: Place
    sending: threading.Lock = field(default_factory=threading.Lock)


class SweepingOutlet:
    """Passes batches on, that which builds the product again with tombstones of what is no more.

    Args:
        inner: Where they go.
        sinks: Those at its end.
        building: The batch.
        warn: Takes what someone should look at.
    """

    def __init__(
        self,
        inner: Outlet,
        sinks: Sequence[Sink],
        building: Building,
        warn: Callable[[RunWarning], None],
    ) -> None:
        self._inner = inner
        self._sweep = Sweep(sinks, warn)
        self._building = building
        self._batch: int | None = None

    def open(self) -> None:
        """Open all sinks."""
        self._inner.open()
        self._batch = self._building.batch()

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Take a batch; see `Outlet.write`."""
        if batch.batch_id != self._batch or batch.after:
            if self._batch is not None and batch.batch_id > self._batch:
                self._building.note.unlink(missing_ok=True)
                self._batch = None
            return self._inner.write(batch)
        with tempfile.TemporaryDirectory(prefix="joinery-anew-") as folder:
            # It has to know what there is, so all of it is here.
            whole = replace(batch, files=_here(batch, Path(folder)), apart=(), by_driver=True)
            gone = Path(folder, "part-gone.jsonl")
            version = self._building.version(batch.batch_id)
            rows = (StagedRow(key, None, version) for key in self._gone(whole, Path(folder)))
            if write_rows(gone, rows):
                whole = replace(whole, files=(*whole.files, gone))
            outcomes = self._inner.write(whole)
            later = replace(whole, after=round(time.time() * 1000))
            with self._building.sending:
                return [*outcomes, *self._sweep.send_foreign(later, Path(folder), version)]

    def drain(self) -> Sequence[SinkResult]:
        """Send what may be sent now."""
        return self._inner.drain()

    def close(self) -> None:
        """Close all sinks."""
        self._inner.close()

    def _gone(self, batch: StagedBatch, folder: Path) -> Sequence[str]:
        """Return the keys that targets hold and a batch does not have."""
        hold = Hold(folder / "sent.sqlite")
        hold.open()
        try:
            hold.put(batch, time.time())
            with self._building.sending:
                gone = sorted({*self._noted(batch), *hold.missing(self._sweep.keys(batch))})
        finally:
            hold.close()
        batch.check()
        told = json.dumps({"batch": batch.batch_id, "keys": gone}, ensure_ascii=False)
        write_whole(self._building.note, told, synced=True)
        return gone

    def _noted(self, batch: StagedBatch) -> Sequence[str]:
        """Return the keys that an earlier attempt of a batch found."""
        if not self._building.note.is_file():
            return ()
        told = json.loads(self._building.note.read_text(encoding="utf-8"))
        keys: Sequence[str] = told["keys"] if told["batch"] == batch.batch_id else ()
        return keys


def _here(batch: StagedBatch, folder: Path) -> tuple[Path, ...]:
    """Return the parts of a batch on this machine, fetched where only tasks were to read them."""
    if not batch.apart:
        return batch.files
    files = []
    for number, place in batch.apart:
        files.append(folder / f"part-{number:05}.jsonl")
        place.fetch(files[-1])
    return tuple(files)
