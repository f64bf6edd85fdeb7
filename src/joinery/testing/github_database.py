"""The code-hosting company as a PostgreSQL database that is written to, for real captures.

Plays a `History` into five tables: as fast as it goes (`fill`), or at a rate with a commit a
change (`play`), as an application would. A new email is one update of the row's key.

Limits: no foreign keys, since in the history children often come before their parents.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple, Self

from joinery.clients.postgres import open_link
from joinery.errors import RunError
from joinery.testing.github import RELATIONS, USER, History, Line, Mix

if TYPE_CHECKING:
    from psycopg.sql import Composed

TABLES: Mapping[str, Mapping[str, LiteralString]] = {
    "user": {
        "id": "bigint NOT NULL",
        "email": "text",
        "username": "text NOT NULL",
        "registered_at": "timestamptz NOT NULL",
    },
    "repo": {
        "name": "text",
        "owner": "text",
        "description": "text",
        "star_count": "bigint NOT NULL DEFAULT 0",
        "fork_count": "bigint NOT NULL DEFAULT 0",
        "created_at": "timestamptz NOT NULL",
        "updated_at": "timestamptz NOT NULL",
    },
    "star": {
        "username": "text",
        "repo_name": "text",
        "repo_owner": "text",
        "created_at": "timestamptz NOT NULL",
    },
    "pull_request": {
        "title": "text NOT NULL",
        "repo": "text",
        "repo_owner": "text",
        "index": "bigint",
        "author": "text NOT NULL",
        "status": "text NOT NULL",
        "created_at": "timestamptz NOT NULL",
    },
    "payment_info": {
        "id": "bigint",
        "user_id": "bigint NOT NULL",
        "verified": "boolean NOT NULL",
    },
}
"""Each table's columns with their types."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "user": ("email",),
    "repo": ("owner", "name"),
    "star": ("username", "repo_name", "repo_owner"),
    "pull_request": ("repo", "repo_owner", "index"),
    "payment_info": ("id",),
}
"""Each table's primary key."""

CAPTURED = tuple(f"public.{name}" for name in TABLES)
"""The tables as a connector names them."""


_SLOT = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s"
_DROP_IDLE_SLOT = (
    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
    " WHERE slot_name = %s AND NOT active"
)
_KEPT = "SELECT email, document FROM user_profile"
_PROFILES = """
SELECT u.email, json_build_object(
  'email', u.email,
  'username', u.username,
  'starred_repos', coalesce((
    SELECT json_agg(
      json_build_object('repo', s.repo_name, 'description', r.description)
      ORDER BY s.repo_name COLLATE "C", s.repo_owner COLLATE "C")
    FROM star AS s LEFT JOIN repo AS r ON r.owner = s.repo_owner AND r.name = s.repo_name
    WHERE s.username = u.username), '[]'),
  'pull_requests', coalesce((
    SELECT json_agg(
      json_build_object(
        'repo', p.repo, 'index', p.index, 'title', p.title,
        'created_at', to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'status', p.status)
      ORDER BY p.created_at, p.repo COLLATE "C", p.index, p.repo_owner COLLATE "C")
    FROM pull_request AS p WHERE p.author = u.username), '[]'),
  'payment_verified', (SELECT i.verified FROM payment_info AS i WHERE i.user_id = u.id
    ORDER BY i.id LIMIT 1))
FROM "user" AS u
"""

WORKDAY = Mix(updates=(0.5, 0.9, 0.0, 0.6, 0.7), deletes=(0.02, 0.01, 0.46, 0.05, 0.02))
"""A company at work: most changes are updates, and it grows so slowly that it can go on."""


class Act(NamedTuple):
    """One statement to run: what is done to a table, with the rows' JSON text as parameters."""

    table: str
    verb: str
    rows: tuple[str, ...]


def acts(lines: Iterable[Line]) -> Iterator[Act]:
    """Return what the changes of a history do to the tables.

    A user that is deleted and comes back at once under another email is one update.

    Example:
        >>> old, new = '{"id":1,"email":"a"}', '{"id":1,"email":"b"}'
        >>> list(acts([(0, "d", old, None, 1), (0, "c", None, new, 2)]))
        [Act(table='user', verb='update', rows=('{"id":1,"email":"b"}', '{"id":1,"email":"a"}'))]
    """
    gone: str | None = None
    for relation, op, before, after, _ in lines:
        if gone is not None and relation == USER and op == "c" and _same_user(gone, after):
            yield Act("user", "update", (after or "", gone))
            gone = None
            continue
        if gone is not None:
            yield Act("user", "delete", (gone,))
        gone = before if relation == USER and op == "d" else None
        if gone is None:
            yield _act(RELATIONS[relation], op, before or "", after or "")
    if gone is not None:
        yield Act("user", "delete", (gone,))


def _act(table: str, op: str, before: str, after: str) -> Act:
    if op == "d":
        return Act(table, "delete", (before,))
    return Act(table, "insert", (after,)) if op == "c" else Act(table, "update", (after, before))


def _same_user(gone: str, after: str | None) -> bool:
    return after is not None and bool(json.loads(gone)["id"] == json.loads(after)["id"])


class GithubDatabase:
    """A connection to the company's database.

    Args:
        url: Of the database.
    """

    def __init__(self, url: str) -> None:
        self._link = open_link(url)
        self._statements = {
            (table, verb): text for table in TABLES for verb, text in _statements(table).items()
        }

    def create(self) -> None:
        """Create the five tables, empty; those that stand are dropped."""
        for table in TABLES:
            self._link.execute(_drop("TABLE", table))
            self._link.execute(_create(table))

    def fill(self, lines: Iterable[Line]) -> int:
        """Play a history in one transaction and return the number of statements."""
        return self.commit(acts(lines))

    def commit(self, statements: Iterable[Act]) -> int:
        """Run statements in one transaction and return their number."""
        count = 0
        with self._link.transaction(), self._link.pipeline():
            for act in statements:
                self._run(act)
                count += 1
        return count

    def play(self, lines: Iterable[Line], *, per_s: float, stop: threading.Event) -> int:
        """Play a history at a rate, each change committed by itself, until it ends or `stop`.

        Returns:
            The number of statements. A database that is too slow for the rate is not pressed:
            what was not written in time follows as fast as it goes.
        """
        began_at = time.monotonic()
        count = 0
        for count, act in enumerate(acts(lines), 1):
            if stop.wait(max(0.0, began_at + count / per_s - time.monotonic())):
                return count - 1
            self._run(act)
        return count

    def release(self, name: str, *, within_s: float = 20.0) -> None:
        """Drop a connector's slot and publication, so that no log is held back for them.

        What is not there is no error. A slot that is in use is waited for.
        """
        until = time.monotonic() + within_s
        while self._link.execute(_SLOT, (name,)).fetchone():
            self._link.execute(_DROP_IDLE_SLOT, (name,))
            if time.monotonic() > until:
                raise RunError(
                    f'replication slot "{name}" is still in use',
                    hint="End its connector, then run: SELECT pg_drop_replication_slot(…).",
                )
        self._link.execute(_drop("PUBLICATION", name))

    def profiles(self) -> dict[str, dict[str, Any]]:
        """Return the documents that one query over the five tables gives, by email."""
        return {row[0]: row[1] for row in self._link.execute(_PROFILES).fetchall()}

    def kept_profiles(self) -> dict[str, dict[str, Any]]:
        """Return the documents that a sink keeps in table `user_profile`, by email."""
        return {row[0]: row[1] for row in self._link.execute(_KEPT).fetchall()}

    def close(self) -> None:
        """Release the connection."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, act: Act) -> None:
        self._link.execute(self._statements[act.table, act.verb], act.rows)


def _drop(kind: LiteralString, name: str) -> Composed:
    from psycopg.sql import SQL, Identifier

    return SQL("DROP {} IF EXISTS {}").format(SQL(kind), Identifier(name))


def _create(table: str) -> Composed:
    from psycopg.sql import SQL, Identifier

    columns = [
        SQL("{} {}").format(Identifier(name), SQL(kind)) for name, kind in TABLES[table].items()
    ]
    key = SQL("PRIMARY KEY ({})").format(SQL(", ").join(map(Identifier, KEYS[table])))
    return SQL("CREATE TABLE {} ({})").format(Identifier(table), SQL(", ").join([*columns, key]))


def _statements(table: str) -> dict[str, Composed]:
    """Return what inserts, updates and deletes a row that is given as JSON text."""
    from psycopg.sql import SQL, Identifier

    name = Identifier(table)
    record = SQL("json_populate_record(NULL::{}, %s::json)").format(name)
    columns = SQL(", ").join(map(Identifier, TABLES[table]))
    taken = SQL(", ").join(SQL("n.{}").format(Identifier(each)) for each in TABLES[table])
    same = SQL(" AND ").join(SQL("t.{0} = o.{0}").format(Identifier(each)) for each in KEYS[table])
    insert = SQL("INSERT INTO {} SELECT * FROM {}").format(name, record)
    update = SQL("UPDATE {} AS t SET ({}) = ROW ({}) FROM {} AS n, {} AS o WHERE {}")
    delete = SQL("DELETE FROM {} AS t USING {} AS o WHERE {}")
    return {
        "insert": insert,
        "update": update.format(name, columns, taken, record, record, same),
        "delete": delete.format(name, record, same),
    }


def main() -> None:
    """Write to a database until it was told enough, or Ctrl-C."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", help="its URL")
    parser.add_argument("--fill", type=int, default=6000, help="changes to begin with")
    parser.add_argument("--play", type=int, default=0, help="changes to go on with")
    parser.add_argument("--rate", type=float, default=50.0, help="changes a second")
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    history = History(asked.fill + asked.play, seed=asked.seed)
    with GithubDatabase(asked.database) as database:
        database.create()
        print(f"{database.fill(history.lines(asked.fill))} changes written")
        lines = history.lines(asked.play, WORKDAY)
        try:
            database.play(lines, per_s=asked.rate, stop=threading.Event())
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
