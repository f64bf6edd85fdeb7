"""The outlet of a rebuild: all documents at once, in place of those another run had sent.

Until its sources are read to the ends they had at the start, a rebuild holds its documents
back. Then it takes the lease of the run that it replaces, waits for that run's end, and sends
everything under versions above all that run gave, with a tombstone for each document that
the target has and the rebuild has not.

Invariant: nothing is sent before the lease is taken, and a rebuild that was cut off in
sending sends all of it again. It is sent as what goes out after its last batch, which may run
again in the query's own run, and then takes the place of nothing.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from joinery.delivery.held_outlet import HoldingOutlet
from joinery.delivery.hold import Hold, write_rows
from joinery.delivery.lease import Lease
from joinery.delivery.outlet import DirectOutlet, SinkResult
from joinery.delivery.sweep import Sweep
from joinery.model.warning import RunWarning
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Sink, StagedBatch

_SENT_AT = "sent_at"


class Swap:
    """The moment at which one query's rebuild takes the place of the run before.

    Args:
        lease: That of the query, which the run before may hold.
        products: How many products the query has.
        ended: True once the rebuild is to end; waiting for the run before ends then.
        on_done: Called once every product was sent.
    """

    def __init__(
        self,
        lease: Lease,
        products: int,
        *,
        ended: Callable[[], bool],
        on_done: Callable[[], None],
    ) -> None:
        self._lease = lease
        self._left = products
        self._ended = ended
        self._on_done = on_done

    def begin(self, batch: StagedBatch) -> StagedBatch:
        """Return the batch as one of the query's own run, which nobody else runs any more."""
        if not self._lease.epoch:
            self._lease.take_over(self._ended)
        return replace(batch, epoch=self._lease.epoch, check=self._lease.check)

    def end(self) -> None:
        """Note that one product was sent."""
        self._left -= 1
        if self._left == 0:
            self._on_done()

    def close(self) -> None:
        """Give the lease back."""
        self._lease.release()


class RebuildOutlet(HoldingOutlet):
    """Holds a product's documents back until `reached`, then swaps.

    Args:
        sinks: Where the documents go.
        hold: Where they wait.
        reached: Tells whether a batch, by its id, ends at or behind all the ends.
        swap: Shared by the products of the query.
        warn: Takes what someone should look at.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        hold: Hold,
        reached: Callable[[int], bool],
        swap: Swap,
        warn: Callable[[RunWarning], None],
    ) -> None:
        super().__init__(DirectOutlet(sinks), hold)
        self._sweep = Sweep(sinks, warn)
        self._reached = reached
        self._swap = swap

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Hold `batch`, or send all that was held."""
        if not self._reached(batch.batch_id):
            self._hold.put(batch, time.time())
            return ()
        ours = self._swap.begin(batch)
        with tempfile.TemporaryDirectory(prefix="joinery-rebuild-") as folder:
            whole = Path(folder, "part-00000.jsonl")
            write_rows(whole, self._renewed(ours))
            outcomes = self._inner.write(replace(ours, files=(whole,), after=self._sent_at()))
            later = replace(ours, after=self._sent_at())
            foreign = self._sweep.send_foreign(later, Path(folder), time.time_ns() // 1000)
        self._swap.end()
        return [*outcomes, *foreign]

    def drain(self) -> Sequence[SinkResult]:
        """Nothing may go out before the swap."""
        return ()

    def close(self) -> None:
        """Close all sinks and the hold, and give the lease back."""
        try:
            super().close()
        finally:
            self._swap.close()

    def _sent_at(self) -> int:
        """Return when this is sent, in milliseconds since 1970, later than all that was before."""
        at = max(round(time.time() * 1000), (self._hold.number(_SENT_AT) or 0) + 1)
        self._hold.remember(_SENT_AT, at)
        return at

    def _renewed(self, batch: StagedBatch) -> Iterator[StagedRow]:
        """Yield all documents under one new version, then tombstones of those that vanished."""
        listed = self._sweep.keys(batch)
        first = next(listed, None)
        vanished = [] if first is None else self._vanished(batch, chain((first,), listed))
        version = time.time_ns() // 1000
        for row in self._hold.rows_with(batch.files):
            yield row._replace(version=version)
        for key in vanished:
            yield StagedRow(key, None, version)

    def _vanished(self, batch: StagedBatch, listed: Iterator[str]) -> Sequence[str]:
        """Return those keys that targets hold and the rebuild does not."""
        self._hold.put(batch, time.time())
        return sorted(set(self._hold.missing(listed)))
