"""Real-time mode straight from a PostgreSQL database: commits become documents in Kafka."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.services.captured import Connection, new_database
from tests.services.live_run import Topic, live_run
from tests.services.live_shop import PROJECT, TABLES, capture_of, documents, go_live

from joinery.capture.spool import SpoolFolder
from joinery.dev.service import Service

pytestmark = [pytest.mark.services, pytest.mark.spark]


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    with new_database(postgres, "live", *TABLES) as url:
        yield url


@pytest.fixture
def topic(kafka: Service) -> Topic:
    return Topic(kafka.address, f"rt-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def folder(tmp_path: Path, database: str, topic: Topic) -> Path:
    text = PROJECT.format(url=database, topic=topic.name, kafka=topic.bootstrap)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def truth(link: Connection) -> Mapping[int, Any]:
    """Return the documents by SQL; `city` is a column that comes later."""
    rows = link.execute(
        "select c.id, jsonb_build_object('id', c.id, 'name', c.name,"
        " 'city', to_jsonb(c) ->> 'city', 'items', coalesce((select"
        " jsonb_agg(jsonb_build_object('id', p.id, 'item', p.item) order by p.id)"
        " from purchase as p where p.customer_id = c.id), '[]')) from customer as c"
    )
    return dict(rows.fetchall())


def same(topic: Topic, link: Connection) -> Callable[[], bool]:
    return lambda: documents(topic) == truth(link)


def missing(topic: Topic, link: Connection) -> Callable[[], str]:
    def told() -> str:
        sent, wanted = documents(topic), truth(link)
        wrong = [each for each in {*sent, *wanted} if sent.get(each) != wanted.get(each)]
        return "\n".join(f"{each}: {sent.get(each)} not {wanted.get(each)}" for each in wrong[:5])

    return told


def joinery(folder: Path, *arguments: str) -> str:
    """Return what a command says about the project in a folder."""
    command = [sys.executable, "-m", "joinery.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def change(link: Connection, chance: Random, first: int) -> None:
    """Make a transaction of a few changes of all kinds."""
    one, other = chance.sample(range(1, 21), 2)
    with link.transaction():
        link.execute("insert into purchase values (%s, %s, 'new')", (first, one))
        link.execute("update purchase set customer_id = %s where id = %s", (other, first - 3))
        link.execute("update purchase set id = %s where id = %s", (first + 1, first - 6))
        link.execute("delete from purchase where id = %s", (first - 9,))
        link.execute("update customer set name = %s where id = %s", (f"n{first}", one))


def test_each_kind_of_change_reaches_its_documents_and_none_is_lost_with_a_run_or_a_capture(
    folder: Path, link: Connection, topic: Topic
) -> None:
    spool = SpoolFolder(folder / ".joinery" / "spool" / "db")
    chance, numbers = Random(5), iter(range(1000, 9000, 3))

    def some(count: int) -> None:
        for _ in range(count):
            change(link, chance, next(numbers))

    with live_run(folder, "--real-time") as run:
        go_live(run)
        run.until(same(topic, link), missing(topic, link))

        some(10)
        run.until(same(topic, link), missing(topic, link))
        link.execute("alter table customer add column city text")
        link.execute("update customer set city = 'Rome' where id < 4")
        run.until(same(topic, link), missing(topic, link))
        link.execute("delete from customer where id = 20")
        link.execute("insert into customer values (21, 'Zoe')")
        run.until(same(topic, link), missing(topic, link))
        assert "public.purchase: read" in joinery(folder, "source", "status")
        joinery(folder, "source", "pause", "db")
        run.until(lambda: not spool.held(), "the capture to pause")
        some(1)
        joinery(folder, "source", "resume", "db")
        run.until(same(topic, link), missing(topic, link))

        before = len(topic.read())
        some(20)
        run.until(lambda: len(topic.read()) > before, "some documents")
        capture_of(run).kill()
        some(20)
        run.until(same(topic, link), missing(topic, link))
        at = confirmed(link)
        run.until(lambda: confirmed(link) > at, "the slot's log to be confirmed")
        before = len(topic.read())
        some(40)
        run.until(lambda: len(topic.read()) > before, "some documents")
        run.kill()
    some(10)
    with live_run(folder, "--real-time") as run:
        go_live(run)
        some(10)
        run.until(same(topic, link), missing(topic, link))
        link.execute("truncate purchase")
        dead = Topic(topic.bootstrap, f"{topic.name}-dead")
        run.until(lambda: any(dead.read()), "the letter of a truncate")
        assert 0 == run.stop(), run.said()

    topic.check_versions()


def confirmed(link: Connection) -> int:
    """Return up to where the database need not keep its log."""
    [(at,)] = link.execute(
        "select (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint from pg_replication_slots"
        " where database = current_database()"
    ).fetchall()
    return int(at)
