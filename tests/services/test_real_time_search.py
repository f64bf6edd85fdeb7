"""Stored queries in real-time mode: both sides change one by one, also after kills."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.services.live_run import Topic, live_run
from tests.services.log import Log

from joinery.dev.service import Service

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: {at}
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  listing: {{topic: {at}.listing, key: [id], fields: {{id: long, city: string, price: int}}}}
  saved: {{topic: {at}.saved, key: [id], fields: {{id: long, condition: string, user: string}}}}
products:
  hits:
    search: listing
    queries: saved
    query: condition
    fields: {{price: listing.price, user: saved.user}}
    sink: {{kafka: {{topic: {at}.hits}}}}
run:
  checkpoint_interval: 10s
"""
Hit = tuple[int, int]


class Market:
    """Writes listings and searches of which a search is for one city below a price."""

    def __init__(self, log: Log, at: str) -> None:
        self._log, self._at, self._pick = log, at, random.Random(5)
        self.listings: dict[int, tuple[str, int]] = {}
        self.searches: dict[int, tuple[str, int]] = {}

    def list(self, id: int, city: str, price: int) -> None:
        self.listings[id] = city, price
        self._put("listing", {"id": id, "city": city, "price": price})

    def search(self, id: int, city: str, price: int) -> None:
        self.searches[id] = city, price
        condition = f"city = '{city}' and price < {price}"
        self._put("saved", {"id": id, "condition": condition, "user": f"u{price}"})

    def broken(self, id: int) -> None:
        self.searches.pop(id, None)
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

    def _put(self, relation: str, row: dict[str, Any]) -> None:
        self._log.put(f"{self._at}.{relation}", row, key={"id": row["id"]})


def held(topic: Topic) -> dict[Hit, tuple[int, str]]:
    return {
        (each["query"]["id"], each["document"]["id"]): (each["price"], each["user"])
        for each in topic.newest().values()
    }


def test_matches_follow_single_changes_and_are_right_after_kills(
    tmp_path: Path, kafka: Service
) -> None:
    log, at = Log(kafka.address, {}), f"rs-{uuid.uuid4().hex[:8]}"
    for each in ("listing", "saved"):
        log.create(f"{at}.{each}")
    text = PROJECT.format(bootstrap=log.bootstrap, at=at)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    topic, market = Topic(log.bootstrap, f"{at}.hits"), Market(log, at)

    def right() -> bool:
        return held(topic) == market.hits()

    def differs() -> str:
        return json.dumps([str(held(topic)), str(market.hits())])

    market.list(1, "A", 5)
    with live_run(tmp_path, "--real-time") as run:
        run.until(run.is_live, "real time")
        market.search(2, "A", 9)
        run.until(right, differs)
        assert {(2, 1): (5, "u9")} == held(topic)
        market.list(1, "B", 5)
        run.until(right, differs)
        market.some(60)
        run.until(right, differs)
        market.some(30)
        run.kill()
    with live_run(tmp_path, "--real-time") as run:
        market.some(30)
        run.until(right, differs)
        assert 0 == run.stop(), run.said()
    topic.check_versions()
