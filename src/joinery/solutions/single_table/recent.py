"""Rows that were written a moment ago, which indexes may not show yet.

DynamoDB brings an index up to its table some time after a write, mostly within a second. What
a query of an index finds is therefore corrected by the rows that this writer, the only one,
wrote since.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from joinery.model.change import Row

Found = Mapping[tuple[str, ...], str]


class Recent:
    """The rows of one relation, by sort key.

    Args:
        lag_s: How far behind an index may be.
        clock: Tells seconds.
    """

    def __init__(self, lag_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lag_s = lag_s
        self._clock = clock
        self._rows: dict[str, tuple[Row | None, Found, float]] = {}
        self._finds: defaultdict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)

    def __contains__(self, sort: object) -> bool:
        return sort in self._rows

    def put(self, sort: str, row: Row | None, found: Found) -> None:
        """Note that a row was written; None where products do not see it."""
        self._drop(sort)
        self._rows[sort] = (row, found, self._clock())
        for side in found.items():
            self._finds[side].add(sort)

    def matching(self, columns: tuple[str, ...], value: str) -> Iterator[Row]:
        """Yield the rows that a slot's value finds."""
        for sort in self._finds.get((columns, value), ()):
            row = self._rows[sort][0]
            if row is not None:
                yield row

    def expire(self) -> None:
        """Drop what indexes show by now."""
        until = self._clock() - self._lag_s
        for sort in [each for each, (_, _, at) in self._rows.items() if at < until]:
            self._drop(sort)

    def clear(self) -> None:
        """Drop everything: indexes were waited for."""
        self._rows.clear()
        self._finds.clear()

    def _drop(self, sort: str) -> None:
        former = self._rows.pop(sort, None)
        for side in former[1].items() if former else ():
            self._finds[side].discard(sort)
            if not self._finds[side]:
                del self._finds[side]
