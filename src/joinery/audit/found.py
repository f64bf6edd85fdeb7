"""How a comparison goes, and what it has found so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from joinery.audit.verdict import Difference, Open

_LOOKS = 5


@dataclass(slots=True)
class Found:
    """What was found so far; it can be written down, and gone on from.

    Attributes:
        after: The last root key that was compared at the first look; None before all.
        all_seen: Whether all keys were compared once.
        doubtful: Keys that differed at their first look, to be looked at again.
    """

    after: str | None = None
    all_seen: bool = False
    compared: int = 0
    again: int = 0
    position: int | None = None
    doubtful: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    unsettled: list[Open] = field(default_factory=list)
    unreadable: list[Open] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a comparison goes.

    Attributes:
        share: Of the keys that are compared, from 0 to 1.
        per_second: Documents at most; None for no bound.
        looks: How often a doubtful document is looked at.
        pause: Waits.
        clock: In seconds.
        now_us: The time of day, in which versions are: microseconds since 1970.
    """

    share: float = 1.0
    per_second: float | None = None
    looks: int = _LOOKS
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000
