"""The people: they follow and unfollow, write, correct and delete; and what is true of them."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from examples.log import Log

LIMIT, HOT_ABOVE = 8, 25
NAMES = (
    "Ada Bo Cy Dee Eli Fay Gus Hal Ida Jo Kim Lou Max Ned Ora Pat Quin Ray Sue Ted"
    " Una Val Wim Xia Yan Zoe Abe Bea Cal Dot Eve Flo Gil Hue Ian Jan Kit Lea Mel Nan"
).split()
_TICK_S = 0.2
_DEEDS = {"post": 10, "follow": 5, "unfollow": 4, "correct": 2, "delete": 4}
_WORDS = "rain sun snow wind tea coffee train bridge river garden music chess bread stars".split()

Row = dict[str, Any]


@dataclass(slots=True)
class Network:
    """Writes what people do to a log, and keeps the rows that stand.

    Attributes:
        log: Where changes go.
        follows: Those that stand, by id.
        posts: Those that stand, by id.
        written: How many changes were written.
    """

    log: Log
    seed: int = 7
    follows: dict[int, Row] = field(default_factory=dict)
    posts: dict[int, Row] = field(default_factory=dict)
    written: int = 0
    _last: int = 0
    _pick: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._pick = random.Random(self.seed)

    def begin(self) -> None:
        """Write the users and their first follows and posts."""
        self._write("user", [{"id": i, "name": name} for i, name in enumerate(NAMES, 1)])
        self._write("follow", [self._followed() for _ in range(120)])
        self._write("post", [self._posted() for _ in range(30)])

    def work(self, stop: threading.Event, *, per_second: float) -> None:
        """Do what people do until it is time to stop."""
        due, last = 0.0, time.monotonic()
        while not stop.wait(_TICK_S):
            now = time.monotonic()
            due, last = due + (now - last) * per_second, now
            self.act(int(due))
            due -= int(due)

    def act(self, count: int) -> None:
        """Write a number of deeds."""
        follows, posts = list[Row](), list[Row]()
        for deed in self._pick.choices([*_DEEDS], [*_DEEDS.values()], k=count):
            if deed == "post":
                posts.append(self._posted())
            elif deed == "follow":
                follows.append(self._followed())
            elif deed == "unfollow":
                follows += self._gone(self.follows)
            elif deed == "delete":
                posts += self._gone(self.posts)
            else:
                posts += self._corrected()
        self._write("follow", follows)
        self._write("post", posts)

    def timeline(self, user: int) -> Row:
        """Return a user's timeline, found plainly: all posts of all whom they follow."""
        named = {
            each["followee_id"] for each in self.follows.values() if each["follower_id"] == user
        }
        hot = sorted(each for each in named if self.followers()[each] > HOT_ABOVE)
        posts = [each for each in self.posts.values() if each["author_id"] in named - {*hot}]
        posts.sort(key=lambda each: (each["at"], -each["id"]), reverse=True)
        shown = [
            {"id": each["id"], "text": each["text"], "by": NAMES[each["author_id"] - 1]}
            for each in posts[:LIMIT]
        ]
        told = {"name": NAMES[user - 1], "posts": shown, "posts_total": len(posts)}
        return {**told, "posts_hot": hot}

    def followers(self) -> Counter[int]:
        """Return how many rows name each user."""
        return Counter(each["followee_id"] for each in self.follows.values())

    def _posted(self) -> Row:
        text = " and ".join(self._pick.sample(_WORDS, 2))
        author = self._pick.randint(1, len(NAMES))
        row: Row = {"id": self._next(), "author_id": author, "at": _now()}
        row |= {"text": text, "gone": False}
        self.posts[row["id"]] = row
        return row

    def _followed(self) -> Row:
        """Follow somebody; the first are the most liked."""
        likes = [1 / place for place in range(1, len(NAMES) + 1)]
        (followee,) = self._pick.choices(range(1, len(NAMES) + 1), likes)
        follower = self._pick.randint(1, len(NAMES))
        row = {"id": self._next(), "follower_id": follower, "followee_id": followee, "gone": False}
        self.follows[row["id"]] = row
        return row

    def _gone(self, rows: dict[int, Row]) -> list[Row]:
        if not rows:
            return []
        return [{**rows.pop(self._pick.choice(list(rows))), "gone": True}]

    def _corrected(self) -> list[Row]:
        if not self.posts:
            return []
        row = self.posts[self._pick.choice(list(self.posts))]
        row["text"] = row["text"].removesuffix(" (corrected)") + " (corrected)"
        return [dict(row)]

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _write(self, topic: str, rows: list[Row]) -> None:
        self.written += len(rows)
        self.log.write(topic, rows)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
