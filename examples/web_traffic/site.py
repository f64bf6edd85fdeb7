"""The site that is viewed: visitors come and go, some views arrive late, some clocks are wrong."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from examples.log import Log

PAGES = ("home", "search", "article", "cart", "pay")
_WEIGHTS = (8, 5, 9, 2, 1)
_AHEAD = timedelta(hours=8)
_TICK_S = 0.2
TOPIC = "view"


@dataclass(slots=True)
class Site:
    """Writes the views of its visitors to a log, and remembers what is true of them.

    Attributes:
        log: Where views go.
        present: About how many visitors are there at once; each stays for some seconds.
        late: The share of views that arrive up to `held_s` later.
        wrong: One visitor in so many has a clock that is hours ahead.
        held_s: How long a straggler is on its way at most.
        views: How many were written, by second of their event time.
        visitors: Who was there, by ten seconds.
    """

    log: Log
    present: int = 40
    late: float = 0.04
    wrong: int = 50
    held_s: float = 8.0
    seed: int = 7
    written: int = 0
    stragglers: int = 0
    wrong_clocks: int = 0
    views: Counter[int] = field(default_factory=Counter)
    visitors: dict[int, set[int]] = field(default_factory=dict)
    _there: dict[int, float] = field(default_factory=dict)
    _came: int = 0
    _held: list[tuple[float, dict[str, Any], datetime]] = field(default_factory=list)
    _pick: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._pick = random.Random(self.seed)

    def work(self, stop: threading.Event, *, per_second: float) -> None:
        """Write views until it is time to stop, then what is still on its way."""
        due, began = 0.0, time.monotonic()
        last = began
        while not stop.wait(_TICK_S):
            now = time.monotonic()
            tide = 1 + math.sin((now - began) / 5) / 2
            due, last = due + (now - last) * per_second * tide, now
            self._write(int(due))
            due -= int(due)
        self._write(0, all_held=True)

    def _write(self, count: int, *, all_held: bool = False) -> None:
        now, rows = datetime.now(UTC), list[dict[str, Any]]()
        self._come_and_go()
        for _ in range(count):
            at = now - timedelta(seconds=self._pick.uniform(0, _TICK_S))
            row = self._view(at)
            if self._pick.random() < self.late:
                until = time.monotonic() + self._pick.uniform(1, self.held_s)
                self._held.append((until, row, at))
                self.stragglers += 1
            else:
                rows.append(self._received(row, at, now))
        ready = [each for each in self._held if all_held or each[0] <= time.monotonic()]
        self._held = [each for each in self._held if each not in ready]
        rows += [self._received(row, at, now) for _, row, at in ready]
        self.log.write(TOPIC, rows)

    def _come_and_go(self) -> None:
        now = time.monotonic()
        self._there = {each: until for each, until in self._there.items() if until > now}
        while len(self._there) < self.present * self._pick.uniform(0.6, 1):
            self._came += 1
            self._there[self._came] = now + self._pick.uniform(3, 25)

    def _view(self, at: datetime) -> dict[str, Any]:
        visitor = self._pick.choice(list(self._there))
        (page,) = self._pick.choices(PAGES, _WEIGHTS)
        ms = round(self._pick.lognormvariate(4, 0.8)) + (150 if page == "pay" else 0)
        wrong = visitor % self.wrong == 0
        clock = at + _AHEAD if wrong else at
        self.wrong_clocks += wrong
        self.written += 1
        return {
            "id": self.written,
            "visitor": visitor,
            "page": page,
            "ms": ms,
            "clock": _text(clock),
        }

    def _received(self, row: dict[str, Any], at: datetime, now: datetime) -> dict[str, Any]:
        """Return a view as the server writes it down, counted where it belongs."""
        counted = now if row["visitor"] % self.wrong == 0 else at
        second = int(counted.timestamp())
        self.views[second] += 1
        self.visitors.setdefault(second // 10 * 10, set()).add(row["visitor"])
        return {**row, "received": _text(now)}


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
