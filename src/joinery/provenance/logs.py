"""The records of several logs in one order, as near to that of a run as they tell.

Each log keeps its own order. Between logs the positions of one database decide where all of them
have some, else the times at which files were written. What nothing tells stands in the order of
the relations.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Literal

from joinery.model.change import Change

Ordered = Literal["position", "time"]
"""What orders the records of different logs."""


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
    changes: Sequence[Change],
    log_of: Callable[[Change], Hashable],
    written_at: Callable[[Change], float],
    *,
    one_database: bool,
    until: Bound | None = None,
) -> tuple[Ordered, Iterator[Change]]:
    """Return changes in the order in which their logs were written, and what orders them.

    Args:
        changes: Those of one log in its order.
        log_of: Names the log of a change.
        written_at: When a change's file was written, or its log took it.
        one_database: Whether all positions are of one database.
        until: Only the changes up to it; None for all.

    Raises:
        BoundError: It is of the other kind than what orders the changes.
    """
    logs: dict[Hashable, list[Change]] = {}
    for each in changes:
        logs.setdefault(log_of(each), []).append(each)
    placed = all(any(each.position is not None for each in log) for log in logs.values())
    by: Ordered = "position" if one_database and placed else "time"
    keys: Callable[[Change], float] = _position if by == "position" else written_at
    if until is not None and until.by != by:
        raise BoundError(by)
    return by, _merged([*logs.values()], keys, math.inf if until is None else until.value)


def _merged(
    logs: Sequence[Sequence[Change]], key: Callable[[Change], float], last: float
) -> Iterator[Change]:
    """Merge logs by keys; one that is below an earlier one of its log counts as that."""
    told = [
        zip(accumulate(map(key, log), max), [place] * len(log), range(len(log)), log, strict=True)
        for place, log in enumerate(logs)
    ]
    return (change for *_, change in takewhile(lambda each: each[0] <= last, heapq.merge(*told)))


def _position(change: Change) -> float:
    return float("-inf") if change.position is None else change.position
