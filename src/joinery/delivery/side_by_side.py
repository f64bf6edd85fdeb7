"""Writes the batches of many products, those at a time whose sinks mostly wait for a disk.

A disk makes many files durable in about the time of one.

Invariant: no write goes on once it is known what became of all, or that one failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from joinery.delivery.outlet import DirectOutlet, Outlet, SinkResult
from joinery.sinks.protocol import StagedBatch

_AT_A_TIME = 8

Way = tuple[Outlet, Callable[[], StagedBatch]]
"""An outlet, and what makes its batch right before it is written."""


def write_all(ways: Sequence[Way]) -> list[Sequence[SinkResult]]:
    """Write to each outlet its batch; return what became of them, in the same order.

    Raises:
        JoineryError: What the first of the outlets raised that failed.
    """
    with ThreadPoolExecutor(_AT_A_TIME, "joinery-sink") as pool:
        try:
            going = {place: _begin(pool, way) for place, way in enumerate(ways) if _on_disk(way[0])}
            return [
                going[place].result() if place in going else outlet.write(make())
                for place, (outlet, make) in enumerate(ways)
            ]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _begin(pool: ThreadPoolExecutor, way: Way) -> Future[Sequence[SinkResult]]:
    outlet, make = way
    return pool.submit(outlet.write, make())


def _on_disk(outlet: Outlet) -> bool:
    return isinstance(outlet, DirectOutlet) and outlet.waits_for_disk
