"""Writes the batches of many products, those at a time whose sinks mostly wait for a disk.

A disk makes many files durable in about the time of one.

Invariant: no write goes on once it is known what became of all, or that one failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from joinery.delivery.outlet import DirectOutlet, Outlet, SinkResult
from joinery.sinks.protocol import StagedBatch

_AT_A_TIME = 8


def write_all(ways: Sequence[tuple[Outlet, StagedBatch]]) -> list[Sequence[SinkResult]]:
    """Write to each outlet its batch; return what became of them, in the same order.

    Raises:
        JoineryError: What the first of the outlets raised that failed.
    """
    waiting = [place for place, way in enumerate(ways) if _waits_for_disk(*way)]
    if len(waiting) < 2:
        return [outlet.write(batch) for outlet, batch in ways]
    with ThreadPoolExecutor(_AT_A_TIME, "joinery-sink") as pool:
        going = {place: pool.submit(ways[place][0].write, ways[place][1]) for place in waiting}
        try:
            return [
                going[place].result() if place in going else outlet.write(batch)
                for place, (outlet, batch) in enumerate(ways)
            ]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _waits_for_disk(outlet: Outlet, batch: StagedBatch) -> bool:
    """Return whether a batch has documents, and its sinks wait for a disk."""
    return isinstance(outlet, DirectOutlet) and outlet.waits_for_disk and not batch.is_empty
