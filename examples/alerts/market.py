"""The market: flats are listed, changed and let, people save searches; and what is true of them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from examples.log import Log

YOU = "you"
CITIES = ("Ulm", "Bonn", "Jena", "Kiel", "Trier", "Worms")
KINDS = ("flat", "house", "studio", "loft")
NAMES = "Ada Bo Cy Dee Eli Fay Gus Hal Ida Jo Kim Lou Max Ned Ora Pat Quin Ray Sue Ted".split()
_TICK_S = 0.2
_DEEDS = (("list", 6), ("price", 7), ("let", 4), ("save", 2), ("change", 2), ("give_up", 1))
_SLIPS = (("'", ""), ("and", "und"))

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody looks for: the text that they save, and the same in Python."""

    text: str
    holds: Callable[[Row], bool]


@dataclass(slots=True)
class Market:
    """Writes what happens to a log, and keeps what stands.

    Attributes:
        log: Where changes go.
        listings: Those that stand, by id.
        searches: The rows of those that stand, by id.
        written: How many changes were written.
    """

    log: Log
    seed: int = 7
    listings: dict[int, Row] = field(default_factory=dict)
    searches: dict[int, Row] = field(default_factory=dict)
    written: int = 0
    _wishes: dict[int, Wish] = field(default_factory=dict)
    _people: dict[int, str] = field(default_factory=dict)
    _last: int = 0
    _pick: random.Random = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._pick = random.Random(self.seed)

    def begin(self) -> None:
        """Write the first listings and searches."""
        self._write("listing", [self._listed() for _ in range(60)])
        self._write("saved_search", [self._saved() for _ in NAMES])

    def work(self, stop: threading.Event, *, per_second: float) -> None:
        """Let things happen until it is time to stop."""
        due, last = 0.0, time.monotonic()
        while not stop.wait(_TICK_S):
            now = time.monotonic()
            due, last = due + (now - last) * per_second, now
            self.act(int(due))
            due -= int(due)

    def act(self, count: int) -> None:
        """Let a number of things happen."""
        names, weights = zip(*_DEEDS, strict=True)
        with self._lock:
            for deed in self._pick.choices(names, weights, k=count):
                self._act(deed)

    def _act(self, deed: str) -> None:
        theirs = list(self._wishes)
        if deed == "list":
            self._write("listing", [self._listed()])
        elif deed == "price" and self.listings:
            row = self._any(self.listings)
            row["price"] = max(200, row["price"] + self._pick.choice((-150, -100, -50, 100)))
            self._write("listing", [dict(row)])
        elif deed == "let" and self.listings:
            row = self._any(self.listings)
            self._write("listing", [self.listings.pop(row["id"]) | {"gone": True}])
        elif deed == "save" or not theirs:
            self._write("saved_search", [self._saved()])
        elif deed == "change":
            self._write("saved_search", [self._wished(self._pick.choice(theirs))])
        elif deed == "give_up":
            self._write("saved_search", [self._given_up(self._pick.choice(theirs))])

    def save(self, condition: str) -> int:
        """Save a search of yours; return its id."""
        with self._lock:
            id = self._next()
            self._write("saved_search", [self._row(id, YOU, condition)])
            return id

    def give_up(self, id: int) -> None:
        """Give up a search, if it stands."""
        with self._lock:
            if id in self.searches:
                self._write("saved_search", [self._given_up(id)])

    def standing(self) -> dict[int, Row]:
        """Return the searches that stand, as they are now."""
        with self._lock:
            return dict(self.searches)

    def matches(self) -> set[tuple[int, int]]:
        """Return who is to be told of what: each search tried on each listing, but for yours."""
        return {
            (search, listing)
            for search, wish in self._wishes.items()
            for listing, row in self.listings.items()
            if wish.holds(row)
        }

    def _listed(self) -> Row:
        pick, rooms = self._pick, self._pick.randint(1, 5)
        row: Row = {"id": self._next(), "city": pick.choice(CITIES), "kind": pick.choice(KINDS)}
        row |= {"price": 50 * pick.randint(6, 40), "rooms": rooms}
        row |= {"area": 18.5 * rooms + pick.randint(0, 20), "gone": False}
        self.listings[row["id"]] = row
        return dict(row)

    def _saved(self) -> Row:
        id = self._next()
        self._people[id] = self._pick.choice(NAMES)
        return self._wished(id)

    def _wished(self, id: int) -> Row:
        """Give a search another condition; a few have a slip of the pen in it."""
        wish = self._wish()
        if self._pick.random() < 0.08:
            wish = Wish(wish.text.replace(*self._pick.choice(_SLIPS)), lambda row: False)
        self._wishes[id] = wish
        return self._row(id, self._people[id], wish.text)

    def _row(self, id: int, person: str, condition: str) -> Row:
        self._people[id] = person
        row = {"id": id, "person": person, "condition": condition, "at": _now(), "gone": False}
        self.searches[id] = row
        return row

    def _wish(self) -> Wish:
        pick = self._pick
        city, kind, most = pick.choice(CITIES), pick.choice(KINDS), 50 * pick.randint(10, 34)
        rooms, area = pick.randint(1, 4), pick.randint(30, 80)
        return pick.choice(
            [
                Wish(
                    f"city = '{city}' and price < {most}",
                    lambda row: row["city"] == city and row["price"] < most,
                ),
                Wish(
                    f"kind = '{kind}' and price between {most - 300} and {most}",
                    lambda row: row["kind"] == kind and most - 300 <= row["price"] <= most,
                ),
                Wish(
                    f"city in ('{city}', 'Kiel') and rooms >= {rooms} and area > {area}",
                    lambda row: (
                        row["city"] in (city, "Kiel")
                        and row["rooms"] >= rooms
                        and row["area"] > area
                    ),
                ),
                Wish(
                    f"price / area < {most / 80} or lower(kind) like '{kind[:2]}%' and price < 500",
                    lambda row: (
                        row["price"] / row["area"] < most / 80
                        or (row["kind"].startswith(kind[:2]) and row["price"] < 500)
                    ),
                ),
            ]
        )

    def _given_up(self, id: int) -> Row:
        self._wishes.pop(id, None)
        return self.searches.pop(id) | {"gone": True}

    def _any(self, rows: dict[int, Row]) -> Row:
        return rows[self._pick.choice(list(rows))]

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _write(self, topic: str, rows: list[Row]) -> None:
        self.written += len(rows)
        self.log.write(topic, rows)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
