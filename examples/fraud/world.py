"""Cards, accounts and machines: what happens to them, written to a log."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from examples.log import Log

PEOPLE = "Ada Bo Cy Dee Eli Fay Gus Hal".split()
COUNTRIES = ("BR", "DE", "FR", "JP", "US")
CARDS, MACHINES = 10, 4
TROUBLES = ("stolen_card", "guessed_password", "overheating")
_TICK_MS, _READING_MS = 200, 500
_DEEDS = (
    ("pay", 8),
    ("log_in", 6),
    ("slip", 1),
    ("call_off", 2),
    *((each, 1) for each in TROUBLES),
)
_LATE_MS = (0, 0, 0, 0, 0, 3_000)
_CALLED_OFF_MS = 4_000

Row = dict[str, Any]


@dataclass(slots=True)
class World:
    """Writes what happens to a log, and keeps the rows that stand.

    Attributes:
        log: Where rows go; some go there seconds after they happened.
        clock: Returns the time, in milliseconds.
        written: How many rows were written.
        rows: Those that stand by their ids, of each relation.
    """

    log: Log
    seed: int = 7
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    written: int = 0
    rows: dict[str, dict[int, Row]] = field(default_factory=lambda: defaultdict(dict))
    _due: list[tuple[int, int, str, Row]] = field(default_factory=list)
    _celsius: dict[int, int] = field(default_factory=dict)
    _steps: dict[int, list[int]] = field(default_factory=dict)
    _read_ms: int = 0
    _last: int = 0
    _pick: random.Random = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._pick = random.Random(self.seed)
        self._celsius = dict.fromkeys(range(1, MACHINES + 1), 60)

    def work(self, stop: threading.Event, *, per_second: float) -> None:
        """Let things happen until it is time to stop."""
        due = 0.0
        while not stop.wait(_TICK_MS / 1000):
            due += per_second * _TICK_MS / 1000
            self.act(int(due))
            due -= int(due)

    def act(self, count: int) -> None:
        """Let a number of things happen, and write what is due."""
        names, weights = zip(*_DEEDS, strict=True)
        for deed in self._pick.choices(names, weights, k=count):
            self.do(deed)
        with self._lock:
            now = self.clock()
            if now - self._read_ms >= _READING_MS:
                self._read_ms = now
                self._read(now)
            self._write(now)

    def do(self, deed: str) -> None:
        """Let one thing happen; what takes seconds goes on by itself."""
        deeds: dict[str, Callable[[int], None]] = {
            "pay": self._pay,
            "call_off": self._call_off,
            "stolen_card": self._steal,
            "log_in": lambda now: self._log_in(now, self._pick.choice(PEOPLE), ok=True),
            "slip": self._slip,
            "guessed_password": self._guess,
            "overheating": self._overheat,
        }
        with self._lock:
            deeds[deed](self.clock())

    def rest(self) -> None:
        """Write all that is due later, and a reading that tells no more than the time."""
        with self._lock:
            now = self.clock()
            self._add("reading", now, {"machine": 0, "celsius": 20})
            self._write(now + 60_000)

    def _pay(self, now: int) -> None:
        card, cents = self._pick.randint(1, CARDS), [150, 250, 900, 2_400, 7_000, 45_000]
        late = self._pick.choice(_LATE_MS)
        self._charge(now, card, self._pick.choice(cents), late=late)

    def _steal(self, now: int) -> None:
        """Somebody tries a card with small payments, and then makes a large one."""
        card, tries = self._pick.randint(1, CARDS), self._pick.randint(2, 4)
        for number in range(tries):
            self._charge(now + 400 * number, card, self._pick.randint(50, 250))
        self._charge(now + 400 * tries, card, 10 * self._pick.randint(2_600, 9_000))

    def _charge(self, at: int, card: int, cents: int, *, late: int = 0) -> None:
        self._add("payment", at, {"card": card, "cents": cents, "gone": False}, late=late)

    def _call_off(self, now: int) -> None:
        """Call off one of the last payments, once it was surely written."""
        if known := list(self.rows["payment"])[-12:]:
            row = self.rows["payment"].pop(self._pick.choice(known))
            self._push(now + _CALLED_OFF_MS, "payment", row | {"gone": True})

    def _slip(self, now: int) -> None:
        """Somebody mistypes a password, once or a few times."""
        person, tries = self._pick.choice(PEOPLE), self._pick.randint(1, 4)
        for number in range(tries):
            self._log_in(now + 500 * number, person, ok=False)
        self._log_in(now + 500 * tries, person, ok=True)

    def _guess(self, now: int) -> None:
        """Somebody guesses another's password, and uses it from elsewhere."""
        person, tries = self._pick.choice(PEOPLE), self._pick.randint(3, 6)
        there, elsewhere = self._pick.sample(COUNTRIES, 2)
        for number in range(tries):
            self._log_in(now + 300 * number, person, ok=False, country=there)
        self._log_in(now + 300 * tries, person, ok=True, country=elsewhere)

    def _log_in(self, at: int, person: str, *, ok: bool, country: str = "") -> None:
        home = COUNTRIES[PEOPLE.index(person) % len(COUNTRIES)]
        row = {"person": person, "ok": ok, "country": country or home}
        self._add("login", at, row, late=self._pick.choice(_LATE_MS))

    def _overheat(self, now: int) -> None:
        """A machine gets hot; three times in five nobody cools it for a while."""
        hot, ignored = [8] * self._pick.randint(5, 7), self._pick.random() < 0.6
        self._steps[self._pick.randint(1, MACHINES)] = [*hot, *[0] * (12 * ignored), -40]

    def _read(self, now: int) -> None:
        for machine, celsius in self._celsius.items():
            if steps := self._steps.get(machine):
                read = celsius + steps.pop(0)
            else:
                read = min(max(celsius + self._pick.choice((-2, 0, 2)), 50), 72)
            self._celsius[machine] = read
            self._add("reading", now, {"machine": machine, "celsius": read})

    def _add(self, topic: str, at: int, row: Row, *, late: int = 0) -> None:
        self._last += 1
        told = {"id": self._last, **row, "at": _text(at)}
        self.rows[topic][self._last] = told
        self._push(at + late, topic, told)

    def _push(self, due: int, topic: str, row: Row) -> None:
        self._last += 1
        heapq.heappush(self._due, (due, self._last, topic, row))

    def _write(self, until: int) -> None:
        by_topic = defaultdict(list)
        while self._due and self._due[0][0] <= until:
            _, _, topic, row = heapq.heappop(self._due)
            by_topic[topic].append(row)
        for topic, rows in by_topic.items():
            self.written += len(rows)
            self.log.write(topic, rows)


def _text(at: int) -> str:
    told = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")
