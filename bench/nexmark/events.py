"""Nexmark's events, seeded: an auction house's new people, new auctions and bids.

Of each hundred events two are people, six are auctions and 92 are bids, in that order. A seller is
the same hot person in three of four auctions, an auction the same hot one in one of two bids, a
bidder the same hot person in three of four bids; which one is hot changes with every hundredth
person or auction. The others are drawn from the thousand newest people and the hundred newest
auctions, and ten that are still to come. These ratios, the ranges of prices, the lengths of texts
and of auctions are those of https://github.com/nexmark/nexmark. What differs: each event has a
millisecond of its own, so that queries that order by time have one answer; bids have an id; and the
same seed gives the same bytes.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 1, 6, tzinfo=UTC)
PEOPLE, AUCTIONS, EPOCH = 2, 6, 100
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1000, 10, 5
ACTIVE_PEOPLE, ACTIVE_AUCTIONS, TO_COME, HOT_EVERY = 1000, 100, 10, 100
SIDE_ROWS, CHANNELS = 10_000, 10_000
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Fresno", "Oakland", "Boise", "Portland", "Bend", "Seattle", "Kent", "Casper")
FIRST_NAMES = ("Ada", "Ben", "Carla", "Dora", "Emil", "Finn", "Gina", "Hugo", "Ines", "Jan", "Kim")
LAST_NAMES = ("Adler", "Brandt", "Curtis", "Dean", "Ellis", "Ford", "Green", "Hale", "Irving")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
Event = tuple[str, dict[str, Any]]
"""A relation and a row of it."""


class House:
    """Draws events, one after the other.

    Args:
        seed: Of all that is drawn.
        gap_ms: The time from an event to the next.
    """

    def __init__(self, seed: int, gap_ms: int = 1) -> None:
        self._dice, self._gap_ms = random.Random(seed), gap_ms
        self._letters = "".join(self._dice.choices(LETTERS, k=1 << 16))
        self._hot_urls = [self._url() for _ in HOT_CHANNELS]
        self._channels = [self._channel(number) for number in range(CHANNELS)]

    def events(self) -> Iterator[Event]:
        """Yield events without end."""
        number = 0
        while True:
            at = START + timedelta(milliseconds=number * self._gap_ms)
            if number % EPOCH < PEOPLE:
                yield "person", self._person(number, at)
            elif number % EPOCH < PEOPLE + AUCTIONS:
                yield "auction", self._auction(number, at)
            else:
                yield "bid", self._bid(number, at)
            number += 1

    def _person(self, number: int, at: datetime) -> dict[str, Any]:
        dice = self._dice
        row = {
            "id": FIRST_ID + newest_person(number),
            "name": f"{dice.choice(FIRST_NAMES)} {dice.choice(LAST_NAMES)}",
            "email": f"{self._text(7)}@{self._text(5)}.com",
            "card": " ".join(f"{dice.randrange(10_000):04}" for _ in range(4)),
            "city": dice.choice(CITIES),
            "state": dice.choice(STATES),
            "joined_at": _told(at),
        }
        return {**row, "extra": self._extra(200, row)}

    def _auction(self, number: int, at: datetime) -> dict[str, Any]:
        dice, initial = self._dice, self._price()
        # Twice the time in which as many auctions come as are active.
        longest = 2 * ACTIVE_AUCTIONS * EPOCH // AUCTIONS * self._gap_ms
        row = {
            "id": FIRST_ID + newest_auction(number),
            "item": self._text(20),
            "description": self._text(100),
            "initial_bid": initial,
            "reserve": initial + self._price(),
            "opened_at": _told(at),
            "expires_at": _told(at + timedelta(milliseconds=1 + dice.randrange(longest))),
            "seller": FIRST_ID + self._someone(number, hot=0),
            "category": FIRST_CATEGORY + dice.randrange(CATEGORIES),
        }
        return {**row, "extra": self._extra(500, row)}

    def _bid(self, number: int, at: datetime) -> dict[str, Any]:
        dice, newest = self._dice, newest_auction(number)
        auction = newest - newest % HOT_EVERY
        if dice.randrange(2) == 0:
            oldest = max(newest - ACTIVE_AUCTIONS, 0)
            auction = oldest + dice.randrange(newest - oldest + 1 + TO_COME)
        bidder = FIRST_ID + self._someone(number, hot=1)
        price = self._price()
        if dice.randrange(2):
            hot = dice.randrange(len(HOT_CHANNELS))
            channel, url = HOT_CHANNELS[hot], self._hot_urls[hot]
        else:
            channel, url = dice.choice(self._channels)
        return {
            "id": number,
            "auction": FIRST_ID + auction,
            "bidder": bidder,
            "price": price,
            "channel": channel,
            "url": url,
            "placed_at": _told(at),
            "extra": self._letters_of(dice.randrange(54, 82)),
        }

    def _someone(self, number: int, *, hot: int) -> int:
        """Return the hot person, or in one of four cases another; `hot` keeps two kinds apart."""
        newest = newest_person(number)
        if self._dice.randrange(4):
            return newest - newest % HOT_EVERY + hot
        active = min(newest + 1, ACTIVE_PEOPLE)
        return newest + 1 - active + self._dice.randrange(active + TO_COME)

    def _price(self) -> int:
        return round(100 * 10 ** (6 * self._dice.random()))

    def _text(self, longest: int) -> str:
        return self._letters_of(3 + self._dice.randrange(longest - 3))

    def _letters_of(self, length: int) -> str:
        at = self._dice.randrange(len(self._letters) - length)
        return self._letters[at : at + length]

    def _extra(self, size: int, row: dict[str, Any]) -> str:
        """Return letters that bring a row to about a size."""
        length = max(0, size - sum(len(str(each)) for each in row.values()))
        return self._letters_of(round(length * self._dice.uniform(0.8, 1.2)))

    def _url(self) -> str:
        folders = "/".join(self._text(5) for _ in range(3))
        return f"https://auctions.example/{folders}/item.htm?query=1"

    def _channel(self, number: int) -> tuple[str, str]:
        url = self._url()
        if self._dice.randrange(10):
            url = f"{url}&channel_id={self._dice.randrange(1 << 31)}"
        return f"channel-{number}", url


def newest_person(number: int) -> int:
    """Return the newest person when an event is drawn, from 0."""
    return number // EPOCH * PEOPLE + min(number % EPOCH, PEOPLE - 1)


def newest_auction(number: int) -> int:
    """Return the newest auction when an event is drawn, from 0."""
    return max(0, number // EPOCH * AUCTIONS + min(number % EPOCH - PEOPLE, AUCTIONS - 1))


def _told(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def write(folder: Path, events: int, *, files: int = 5, gap_ms: int = 1, seed: int = 7) -> Path:
    """Write events once, each relation in as many files as there are to be batches."""
    if (folder / ".ready").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for relation in ("person", "auction", "bid", "side"):
        (folder / relation).mkdir(parents=True)
    side = ({"id": number, "label": f"side {number}"} for number in range(SIDE_ROWS))
    _append(folder / "side" / "0000.jsonl", side)
    made = House(seed, gap_ms).events()
    each = -(-events // files)
    for file in range(files):
        batch = list(islice(made, min(each, events - file * each)))
        for relation in ("person", "auction", "bid"):
            rows = (row for name, row in batch if name == relation)
            _append(folder / relation / f"{file:04}.jsonl", rows)
    (folder / ".ready").touch()
    return folder


def _append(file: Path, rows: Iterator[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows)
