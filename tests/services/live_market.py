"""Listings and stored searches over them, which change one by one, and the hits there must be."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from tests.services.live_run import Topic
from tests.services.log import Data, Log

Hit = tuple[int, int]
Listed = tuple[int, str]


class Market:
    """Writes listings and searches of which a search is for one city below a price."""

    def __init__(self, log: Log, at: str) -> None:
        self._log, self._at, self._pick = log, at, random.Random(5)
        self.listings: dict[int, tuple[str, int]] = {}
        self.searches: dict[int, tuple[str, int]] = {}
        self.saved: set[int] = set()

    def list(self, id: int, city: str, price: int) -> None:
        self.listings[id] = city, price
        self._put("listing", {"id": id, "city": city, "price": price})

    def search(self, id: int, city: str, price: int) -> None:
        self._log.put_all([self._wanted(id, city, price)])

    def search_at_once(self, count: int) -> None:
        """Write so many more searches, one directly after the other."""
        self._log.put_all(
            self._wanted(id, self._pick.choice("ABC"), self._pick.randrange(10))
            for id in range(1_000, 1_000 + count)
        )

    def broken(self, id: int) -> None:
        self.searches.pop(id, None)
        self.saved.add(id)
        self._put("saved", {"id": id, "condition": "prise < 5", "user": "ann"})

    def let(self, id: int) -> None:
        self.listings.pop(id, None)
        self._log.put(f"{self._at}.listing", None, key={"id": id})

    def some(self, count: int) -> None:
        pick = self._pick
        for _ in range(count):
            id, city, price = pick.randrange(20), pick.choice("ABC"), pick.randrange(10)
            deed = pick.choice([self.list, self.list, self.search])
            if pick.random() < 0.15:
                pick.choice([self.let, self.broken])(id)
            else:
                deed(id, city, price)

    def hits(self) -> dict[Hit, tuple[int, str]]:
        return {
            (query, id): (price, f"u{most}")
            for query, (wanted, most) in self.searches.items()
            for id, (city, price) in self.listings.items()
            if city == wanted and price < most
        }

    def priced(self) -> dict[int, set[Listed]]:
        """Return the listings whose price is the number of a search, where there are any."""
        return _by_price(
            (price, (id, city))
            for id, (city, price) in self.listings.items()
            if price in self.saved
        )

    def _wanted(self, id: int, city: str, price: int) -> tuple[str, Data, Data]:
        self.searches[id] = city, price
        self.saved.add(id)
        condition = f"city = '{city}' and price < {price}"
        return (
            f"{self._at}.saved",
            {"id": id},
            {"id": id, "condition": condition, "user": f"u{price}"},
        )

    def _put(self, relation: str, row: dict[str, Any]) -> None:
        self._log.put(f"{self._at}.{relation}", row, key={"id": row["id"]})


def held(topic: Topic) -> dict[Hit, tuple[int, str]]:
    return {
        (each["query"]["id"], each["document"]["id"]): (each["price"], each["user"])
        for each in topic.newest().values()
    }


def priced(topic: Topic) -> dict[int, set[Listed]]:
    return _by_price(
        (each["id"], (one["id"], one["city"]))
        for each in topic.newest().values()
        for one in each["listings"]
    )


def _by_price(listings: Iterable[tuple[int, Listed]]) -> dict[int, set[Listed]]:
    found: dict[int, set[Listed]] = {}
    for price, listed in listings:
        found.setdefault(price, set()).add(listed)
    return found
