"""Readers that ask a store side by side, and how long they waited.

Limits: readers are threads of one process; beyond some ten thousand answers a second it is
the interpreter that is measured, so a faster store shows less than it can.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import chain

Ask = Callable[[int], object]
"""Asks once; its argument counts the reader's questions."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the readers saw.

    Attributes:
        readers: How many asked at once.
        seconds: For how long.
        waits_ms: How long each question took, in rising order.
    """

    readers: int
    seconds: float
    waits_ms: tuple[float, ...]

    @property
    def per_second(self) -> float:
        """The answers a second, of all readers."""
        return len(self.waits_ms) / self.seconds

    def quantile_ms(self, share: float) -> float:
        """Return the wait that `share` of the questions did not exceed.

        Example:
            >>> Load(1, 1.0, (1.0, 2.0, 3.0, 9.0)).quantile_ms(0.5)
            2.0
        """
        return quantile(self.waits_ms, share)


def quantile(rising: Sequence[float], share: float) -> float:
    """Return the value that `share` of `rising` does not exceed; 0 of nothing.

    Example:
        >>> quantile([1, 2, 3, 4], 0.99)
        4
    """
    if not rising:
        return 0.0
    return rising[max(0, min(len(rising) - 1, -int(-share * len(rising) // 1) - 1))]


def measure(
    readers: int, seconds: float, opened: Callable[[], AbstractContextManager[Ask]]
) -> Load:
    """Let `readers` ask for `seconds`, all beginning at once.

    Args:
        readers: Each has a thread and what `opened` gives it.
        seconds: How long they ask.
        opened: Opens what one reader asks with.

    Raises:
        Exception: What the first failing question raised.
    """
    ready = threading.Barrier(readers + 1)
    waits: list[list[float]] = [[] for _ in range(readers)]
    failures: list[Exception] = []

    def read(place: int) -> None:
        try:
            with opened() as ask:
                ready.wait()
                _ask_until(time.perf_counter() + seconds, ask, waits[place])
        except Exception as error:
            failures.append(error)
            ready.abort()

    threads = [threading.Thread(target=read, args=(place,)) for place in range(readers)]
    for each in threads:
        each.start()
    with suppress(threading.BrokenBarrierError):
        ready.wait()
    started = time.perf_counter()
    for each in threads:
        each.join()
    spent = time.perf_counter() - started
    if failures:
        raise next(
            (each for each in failures if not isinstance(each, threading.BrokenBarrierError)),
            failures[0],
        )
    return Load(readers, spent, tuple(sorted(chain.from_iterable(waits))))


def _ask_until(end: float, ask: Ask, waits_ms: list[float]) -> None:
    begun = time.perf_counter()
    while begun < end:
        ask(len(waits_ms))
        ended = time.perf_counter()
        waits_ms.append((ended - begun) * 1000)
        begun = ended
