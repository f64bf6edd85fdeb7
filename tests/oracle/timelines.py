"""Timelines that outgrow one value of state, and what DuckDB makes of the rows that stand.

One author has thousands of followers, about as many as make him hot; posts are long; all sides
change: posts, whom they are by, follows, users.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.duck import emptied

from joinery.testing.changes import RowChange, delete, insert, update

LIMIT, HOT_ABOVE = 20, 2600
PROJECT = f"""
relations:
  user: {{key: [id], fields: {{id: long}}}}
  follow: {{key: [id], fields: {{id: long, who: long, whom: long}}}}
  post: {{key: [id], fields: {{id: long, author: long, posted: long, text: string}}}}
products:
  timeline:
    root: user
    fields: []
    embed:
      posts:
        many: post
        through: {{follow: {{who: id}}}}
        on: {{author: follow.whom}}
        fields: [id, text]
        order: [-posted]
        limit: {LIMIT}
        hot: {{above: {HOT_ABOVE}}}
"""
_TABLES = {
    "user": ("id",),
    "follow": ("id", "who", "whom"),
    "post": ("id", "author", "posted", "text"),
}
_LISTED = f"""
WITH heat AS (SELECT whom, count(*) AS n FROM follow WHERE whom IS NOT NULL GROUP BY whom),
  named AS (SELECT DISTINCT who, whom, n > {HOT_ABOVE} AS hot FROM follow JOIN heat USING (whom)),
  listed AS (
    SELECT who, post.id, text, count(*) OVER (PARTITION BY who) AS total,
      row_number() OVER (PARTITION BY who ORDER BY posted DESC NULLS LAST, post.id) AS place
    FROM named JOIN post ON author = whom WHERE NOT hot)
SELECT "user".id,
  (SELECT list([listed.id::text, text] ORDER BY place) FROM listed
     WHERE who = "user".id AND place <= {LIMIT}),
  (SELECT coalesce(max(total), 0) FROM listed WHERE who = "user".id),
  (SELECT list(whom ORDER BY whom) FROM named WHERE who = "user".id AND hot)
FROM "user"
"""


@dataclass(slots=True)
class Writer:
    """Writes changes, and knows the rows that stand."""

    pick: random.Random
    rows: dict[str, dict[int, dict[str, Any]]] = field(
        default_factory=lambda: {name: {} for name in _TABLES}
    )
    number: int = 0

    def put(self, relation: str, key: int, **row: Any) -> RowChange:
        """Insert a row, or change columns of one that stands."""
        known = self.rows[relation].get(key)
        self.rows[relation][key] = {**(known or {}), "id": key, **row}
        return (insert if known is None else update)(relation, id=key, **row)

    def take(self, relation: str) -> list[RowChange]:
        """Delete some row."""
        if not self.rows[relation]:
            return []
        key = self.pick.choice(sorted(self.rows[relation]))
        del self.rows[relation][key]
        return [delete(relation, id=key)]

    def follow(self, who: int | None, whom: int | None) -> RowChange:
        """Insert a follow."""
        self.number += 1
        return self.put("follow", self.number, who=who, whom=whom)

    def post(self) -> RowChange:
        """Insert a post, long enough that a timeline has several pages."""
        self.number += 1
        text = f"{self.number} " + "x" * 250
        return self.put("post", self.number, author=self.author(), posted=self.time(), text=text)

    def _some(self, most: int) -> int | None:
        return self.pick.randint(1, most) if self.pick.random() < 0.97 else None

    def author(self) -> int | None:
        return self._some(12)

    def time(self) -> int | None:
        return self._some(500)

    def somebody(self) -> int | None:
        return self._some(60)

    def edit(self) -> list[RowChange]:
        """Change a post, in one of its columns."""
        key = self.pick.choice(sorted(self.rows["post"]))
        changed: dict[str, Any] = self.pick.choice(
            [{"author": self.author()}, {"posted": self.time()}, {"text": f"edited {self.number}"}]
        )
        return [self.put("post", key, **changed)]

    def move(self) -> list[RowChange]:
        """Change a follow, on one of its sides."""
        key = self.pick.choice(sorted(self.rows["follow"]))
        side: dict[str, Any] = self.pick.choice([{"who": self.somebody()}, {"whom": self.author()}])
        return [self.put("follow", key, **side)]

    def user(self) -> list[RowChange]:
        return [self.put("user", self.pick.randrange(1, 61))]


@dataclass(frozen=True, slots=True)
class Moment:
    """A batch, and the documents that DuckDB makes of the rows after it."""

    changes: tuple[RowChange, ...]
    documents: Mapping[int, Any]


def make_timelines(seed: int, *, followers: int, steps: int, batches: int = 6) -> list[Moment]:
    """Return batches of changes, the first of which is the largest.

    Args:
        seed: Another history for each.
        followers: Of the first author, in the first batch; of users that mostly never come.
        steps: Changes a batch.
        batches: How many.
    """
    writer = Writer(random.Random(f"timelines {seed}"))
    first = [writer.follow(100 + number, 1) for number in range(followers)]
    first += [writer.follow(writer.somebody(), writer.author()) for _ in range(250)]
    first += [writer.post() for _ in range(steps * 2)]
    moments = [_moment(writer, [*first, *writer.user()])]
    for number in range(1, batches):
        changes = _steps(writer, steps)
        # The first author becomes hot in the third batch, and is cold again after the fourth.
        more = {2: HOT_ABOVE, 4: -HOT_ABOVE}.get(number, 0) * (followers > HOT_ABOVE // 2)
        changes += [writer.follow(5000 + each, 1) for each in range(max(0, more) // 10)]
        changes += [each for _ in range(max(0, -more) // 8) for each in writer.take("follow")]
        moments.append(_moment(writer, changes))
    return moments


def _steps(writer: Writer, count: int) -> list[RowChange]:
    acts = (
        lambda: [writer.post()],
        lambda: [writer.post()],
        writer.edit,
        writer.edit,
        writer.move,
        writer.user,
        writer.user,
        lambda: writer.take("post"),
        lambda: [writer.follow(writer.somebody(), writer.author())],
        lambda: writer.take("follow"),
        lambda: writer.take("user") if writer.pick.random() < 0.2 else [],
    )
    return [each for _ in range(count) for each in writer.pick.choice(acts)()]


def _moment(writer: Writer, changes: Iterable[RowChange]) -> Moment:
    return Moment(tuple(changes), documents_of(writer.rows))


def documents_of(rows: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> dict[int, Any]:
    """Return the timelines of standing rows by user, as DuckDB finds them."""
    database = emptied()
    for name, columns in _TABLES.items():
        types = json.dumps([dict.fromkeys(columns, "BIGINT") | {"text": "VARCHAR"}])
        told = json.dumps(list(rows[name].values()))
        database.execute(
            f'CREATE TABLE "{name}" AS SELECT unnest(from_json(?, ?), recursive := true)',
            [told, types],
        )
    found = database.execute(_LISTED).fetchall()
    return {
        user: {
            "posts": [{"id": int(number), "text": text} for number, text in posts or []],
            "posts_total": total,
            "posts_hot": hot or [],
        }
        for user, posts, total, hot in found
    }
