"""What `latency.py` loads: rows that stand before, and changes that carry when they were sent."""

from __future__ import annotations

import datetime as dt
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from bench.compare.search_rows import listing, query

TIME = "2026-01-01T00:00:00.000000Z"
CHANGED_QUERIES = 0.01
EDITED = 0.25
Row = tuple[str, dict[str, Any], dict[str, Any]]


class World(Protocol):
    """Rows and changes of one project file.

    Attributes:
        project: The file, beside this module.
        topics: Where its rows go.
        sink: The topic that is read.
    """

    project: ClassVar[str]
    topics: ClassVar[tuple[str, ...]]
    sink: ClassVar[str]

    @property
    def standing(self) -> int:
        """How many documents the rows before the load give at least."""

    def base(self) -> Iterator[Row]:
        """Yield all rows as they stand before the load."""

    def load(self, seed: int) -> Iterator[Row]:
        """Yield changes without end."""

    def made_by(self, told: set[bytes]) -> set[bytes]:
        """Return when the changes were sent that a document follows, of all times it tells."""


@dataclass(frozen=True, slots=True)
class Profiles:
    """Users, repositories of which each has three stars, and pull requests."""

    users: int
    project: ClassVar = "latency.yaml"
    topics: ClassVar = ("user", "repo", "star", "github.public.pull_request", "payment_info")
    sink: ClassVar = "user_profile"

    @property
    def standing(self) -> int:
        """A profile for each user."""
        return self.users

    def base(self) -> Iterator[Row]:
        """Yield all rows as they stand before the load."""
        for user in range(self.users):
            yield "user", *keyed({"email": f"u{user}@x", "id": user, "username": f"u{user}"}, 1)
            yield "payment_info", *keyed({"id": user, "user_id": user, "verified": True}, 1)
            yield self.repo(user, "")
            for step in (1, 7, 31):
                other = (user + step) % self.users
                star = {"username": f"u{user}", "repo_name": f"r{other}", "repo_owner": f"u{other}"}
                yield "star", *keyed(star, 3)
            for index in (1, 2, 3):
                yield self.pull(user, index, "")

    def load(self, seed: int) -> Iterator[Row]:
        """Yield changes without end: three in four of a pull request, one of a repository."""
        draw = random.Random(seed)
        while True:
            user, sent = draw.randrange(self.users), sent_now()
            if draw.random() < 0.25:
                yield self.repo(user, sent)
            else:
                yield self.pull(user, draw.randint(1, 3), sent)

    def made_by(self, told: set[bytes]) -> set[bytes]:
        """Return all: a batch may bring several changes of a profile."""
        return told

    def repo(self, user: int, text: str) -> Row:
        """Return a repository whose description is `text`."""
        return "repo", *keyed({"owner": f"u{user}", "name": f"r{user}", "description": text}, 2)

    def pull(self, user: int, index: int, text: str) -> Row:
        """Return a pull request whose title is `text`."""
        row = {"repo": f"r{user}", "repo_owner": f"u{user}", "index": index}
        more = {"author": f"u{user}", "title": text, "status": "open", "created_at": TIME}
        return "github.public.pull_request", *keyed({**row, **more}, 3)


@dataclass(frozen=True, slots=True)
class Alerts:
    """Stored queries and listings: those of the rows `search-…`, three in four matches of one."""

    queries: int
    listings: int
    project: ClassVar = "latency_alerts.yaml"
    topics: ClassVar = ("listing", "saved")
    sink: ClassVar = "hits"

    @property
    def standing(self) -> int:
        """Some of them match."""
        return 1

    def base(self) -> Iterator[Row]:
        """Yield all rows as they stand before the load."""
        for id in range(self.queries):
            yield self.saved(id, id, "")
        for id in range(self.listings):
            yield self.listed(id, id, "")

    def load(self, seed: int) -> Iterator[Row]:
        """Yield new listings; one in four is another edit, one change in a hundred a query's."""
        draw = random.Random(seed)
        id = seed * 10_000_000
        while True:
            id += 1
            if draw.random() < CHANGED_QUERIES:
                yield self.saved(draw.randrange(self.queries), id, sent_now())
            elif draw.random() < EDITED:
                yield self.listed(draw.randrange(self.listings), id, sent_now())
            else:
                yield self.listed(id, id, sent_now())

    def stood(self, key: bytes) -> bool:
        """Return whether a match is of a query that is there before those of `more`."""
        return bool(json.loads(key)["query"]["id"] < self.queries)

    def more(self, count: int) -> Iterator[Row]:
        """Yield queries that nothing is timed of, which are not among those that stand."""
        for id in range(self.queries, self.queries + count):
            yield self.saved(id, id, "")

    def made_by(self, told: set[bytes]) -> set[bytes]:
        """Return the later one: a new match also tells when its other side came."""
        return {max(told, key=int)} if told else told

    def listed(self, id: int, like: int, text: str) -> Row:
        """Return a listing that has the columns of another, and says `text`."""
        return "listing", *keyed({**listing(like), "id": id, "note": text}, 1)

    def saved(self, id: int, like: int, text: str) -> Row:
        """Return a query that asks what another asks, and says `text`."""
        return "saved", *keyed({"id": id, "condition": query(like).text, "note": text}, 1)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Logins of which three that failed, then one that did not, are a match."""

    users: int
    project: ClassVar = "latency_patterns.yaml"
    topics: ClassVar = ("login",)
    sink: ClassVar = "guessed"

    @property
    def standing(self) -> int:
        """A match of each user."""
        return self.users

    def base(self) -> Iterator[Row]:
        """Yield a match of each user, and two logins of the next."""
        for number in range(6 * self.users):
            user, place = divmod(number, 6)
            yield self.login(number, user, place == 3, "")

    def load(self, seed: int) -> Iterator[Row]:
        """Yield logins without end, three in ten of which do not fail."""
        draw = random.Random(seed)
        id = seed * 10_000_000
        while True:
            id += 1
            yield self.login(id, draw.randrange(self.users), draw.random() < 0.3, sent_now())

    def made_by(self, told: set[bytes]) -> set[bytes]:
        """Return all: a match tells of its last row alone."""
        return told

    def login(self, id: int, user: int, ok: bool, text: str) -> Row:
        """Return a login at this moment that says `text`."""
        at = dt.datetime.now(dt.UTC).isoformat()
        return "login", *keyed({"id": id, "user": user, "ok": ok, "at": at, "note": text}, 1)


@dataclass(frozen=True, slots=True)
class Windows:
    """Views that are counted by user and minute; each shows at once in the count of its minute."""

    users: int
    project: ClassVar = "latency_windows.yaml"
    topics: ClassVar = ("view",)
    sink: ClassVar = "visits"

    @property
    def standing(self) -> int:
        """A minute of each user."""
        return self.users

    def base(self) -> Iterator[Row]:
        """Yield a view of each user."""
        for user in range(self.users):
            yield self.view(user, user, "")

    def load(self, seed: int) -> Iterator[Row]:
        """Yield views without end."""
        draw = random.Random(seed)
        id = seed * 10_000_000
        while True:
            id += 1
            yield self.view(id, draw.randrange(self.users), sent_now())

    def made_by(self, told: set[bytes]) -> set[bytes]:
        """Return all: a count tells of the newest view alone."""
        return told

    def view(self, id: int, user: int, text: str) -> Row:
        """Return a view at this moment that says `text`."""
        at = dt.datetime.now(dt.UTC).isoformat()
        return "view", *keyed({"id": id, "user": user, "at": at, "note": text}, 1)


def sent_now() -> str:
    """Return what tells the reader when a change was sent."""
    return f"sent={time.time_ns()}"


def keyed(row: dict[str, Any], columns: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the key, the first columns, and the row."""
    return dict(list(row.items())[:columns]), row
