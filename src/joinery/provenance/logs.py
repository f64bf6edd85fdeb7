"""The records of several logs in one order, as near to that of a run as they tell.

Each log keeps its own order. Between logs the positions of one database decide where all of them
have some, else the times at which files were written. What nothing tells stands in the order of
the relations.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Literal

from joinery.provenance.live_rows import Record

Ordered = Literal["position", "time"]
"""What orders the records of different logs."""


_NONE = -(1 << 63)
"""Stands for no position."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A moment in some logs.

    Attributes:
        by: Whether it is a position or a time.
        value: The position; or seconds since 1970.
    """

    by: Ordered
    value: float


class BoundError(Exception):
    """A moment is told by what does not order the logs.

    Attributes:
        by: What orders them.
    """

    def __init__(self, by: Ordered) -> None:
        super().__init__(by)
        self.by = by


def in_order(
    records: Iterable[Record],
    log_of: Callable[[Record], Hashable],
    written_at: Callable[[Record], float],
    *,
    one_database: bool,
    until: Bound | None = None,
) -> tuple[Ordered, Iterator[int]]:
    """Return what orders records, and their places in the order in which logs were written.

    Args:
        records: Those of one log in its order.
        log_of: Names the log of a record.
        written_at: When a record's file was written, or its log took it.
        one_database: Whether all positions are of one database.
        until: Only the changes up to it; None for all.

    Raises:
        BoundError: It is of the other kind than what orders the records.
    """
    logs: dict[Hashable, _Log] = {}
    for number, each in enumerate(records):
        log = logs.setdefault(log_of(each), _Log())
        log.numbers.append(number)
        log.times.append(written_at(each))
        log.positions.append(_NONE if each.position is None else each.position)
    placed = all(max(each.positions) > _NONE for each in logs.values())
    by: Ordered = "position" if one_database and placed else "time"
    if until is not None and until.by != by:
        raise BoundError(by)
    placed_by = by == "position"
    told = [(e.numbers, e.positions if placed_by else e.times) for e in logs.values()]
    return by, _merged(told, math.inf if until is None else until.value)


@dataclass(frozen=True, slots=True)
class _Log:
    """What orders the records of one log, and which they are: some bytes a record."""

    numbers: array[int] = field(default_factory=lambda: array("Q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    positions: array[int] = field(default_factory=lambda: array("q"))


def _merged(logs: Sequence[tuple[array[int], Sequence[float]]], last: float) -> Iterator[int]:
    """Merge logs by keys; one that is below an earlier one of its log counts as that."""
    told = [
        zip(accumulate(keys, max), [place] * len(keys), numbers, strict=True)
        for place, (numbers, keys) in enumerate(logs)
    ]
    return (number for *_, number in takewhile(lambda each: each[0] <= last, heapq.merge(*told)))
