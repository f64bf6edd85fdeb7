"""The code-hosting company as a real database."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from joinery.dev.service import Service
from joinery.testing.github import RELATIONS, History
from joinery.testing.github_database import KEYS, WORKDAY, GithubDatabase

pytestmark = pytest.mark.services


@pytest.fixture
def url(postgres: Service) -> Iterator[str]:
    name = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(postgres.address, autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name}")
    yield postgres.address.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(postgres.address, autocommit=True) as link:
        link.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_tables_hold_what_the_history_ended_with(url: str) -> None:
    lines = list(History(3000, seed=3).lines(3000))
    newest: dict[str, dict[tuple[object, ...], object]] = {name: {} for name in RELATIONS}
    for relation, _, before, after, _ in lines:
        rows, key = newest[RELATIONS[relation]], KEYS[RELATIONS[relation]]
        for image, kept in ((before, False), (after, True)):
            if image is not None:
                row = json.loads(image)
                rows.pop(tuple(row[each] for each in key), None)
                if kept:
                    rows[tuple(row[each] for each in key)] = row

    with GithubDatabase(url) as database:
        database.create()
        database.fill(lines)

    with psycopg.connect(url) as link:
        counts = {
            name: link.execute(f'SELECT count(*) FROM "{name}"').fetchone() for name in RELATIONS
        }
        emails = {row[0] for row in link.execute('SELECT email FROM "user"')}
    assert counts == {name: (len(rows),) for name, rows in newest.items()}
    assert emails == {key[0] for key in newest["user"]}


def test_a_history_is_played_until_it_is_stopped(url: str) -> None:
    history, stop = History(500, seed=3), threading.Event()
    with GithubDatabase(url) as database:
        database.create()
        database.fill(history.lines(500))
        threading.Timer(0.3, stop.set).start()

        count = database.play(history.lines(1_000_000, WORKDAY), per_s=100, stop=stop)

    assert 0 < count < 1_000


def test_a_profile_is_the_join_of_the_five_tables(url: str) -> None:
    with GithubDatabase(url) as database:
        database.create()
        with psycopg.connect(url) as link:
            link.execute(
                """
                INSERT INTO "user" VALUES (1, 'a@x', 'ann', now()), (2, 'b@x', 'bob', now());
                INSERT INTO star VALUES ('ann', 'r', 'o', now()), ('ann', 'q', 'o', now());
                INSERT INTO repo VALUES ('r', 'o', 'fast', 0, 0, now(), now());
                INSERT INTO pull_request VALUES
                  ('Fix', 'r', 'o', 1, 'ann', 'open', '2026-01-01T00:00:00Z');
                INSERT INTO payment_info VALUES (1, 1, true);
                """
            )

        profiles = database.profiles()

    pull = {"repo": "r", "index": 1, "title": "Fix", "status": "open"}
    assert profiles == {
        "a@x": {
            "email": "a@x",
            "username": "ann",
            "starred_repos": [
                {"repo": "q", "description": None},
                {"repo": "r", "description": "fast"},
            ],
            "pull_requests": [{**pull, "created_at": "2026-01-01T00:00:00.000000Z"}],
            "payment_verified": True,
        },
        "b@x": {
            "email": "b@x",
            "username": "bob",
            "starred_repos": [],
            "pull_requests": [],
            "payment_verified": None,
        },
    }


def test_a_released_slot_is_gone_and_releasing_it_again_is_no_error(url: str) -> None:
    slot = f"t_{uuid.uuid4().hex}"
    with GithubDatabase(url) as database, psycopg.connect(url, autocommit=True) as link:
        link.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))

        database.release(slot)
        database.release(slot)

        found = link.execute(
            "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", (slot,)
        ).fetchone()
    assert found is None
