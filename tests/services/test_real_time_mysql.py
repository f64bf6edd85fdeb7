"""Real-time mode straight from a database of MariaDB: commits become documents in Kafka."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.services.live_run import Topic, live_run
from tests.services.live_shop import PROJECT, capture_of, documents, go_live
from tests.services.mysql_captured import connected, new_database
from tests.services.mysql_server import SERVERS, started_server

from joinery.clients.mysql import MysqlLink
from joinery.dev.service import Service

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.chaos]


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    numbers = "with recursive s(seq) as (select 1 union all select seq + 1 from s where seq < {})"
    tables = (
        "create table customer (id bigint primary key, name text)",
        "create table purchase (id bigint primary key, customer_id bigint, item text)",
        f"insert into customer {numbers.format(20)} select seq, 'n' from s",
        f"insert into purchase {numbers.format(200)} select seq, seq % 20 + 1, 'first' from s",
    )
    with (
        started_server(request.param, tmp_path_factory.mktemp(request.param)) as server,
        new_database(server.address, *tables) as url,
    ):
        yield url


@pytest.fixture
def link(url: str) -> Iterator[MysqlLink]:
    with closing(connected(url)) as link:
        yield link


@pytest.fixture
def topic(kafka: Service) -> Topic:
    return Topic(kafka.address, f"rt-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def folder(tmp_path: Path, url: str, topic: Topic) -> Path:
    text = PROJECT.format(url=url, topic=topic.name, kafka=topic.bootstrap)
    (tmp_path / "joinery.yaml").write_text(text.replace("postgres:", "mysql:"), encoding="utf-8")
    return tmp_path


def truth(link: MysqlLink) -> Mapping[int, Any]:
    """Return the documents by SQL; `city` is a column that comes later."""
    named = [each[0] for each in link.rows("show columns from customer")]
    city = "city" if "city" in named else "null"
    found: dict[int, Any] = {
        key: {"id": key, "name": name, "city": city, "items": []}
        for key, name, city in link.rows(f"select id, name, {city} from customer")
    }
    for customer, key, item in link.rows("select customer_id, id, item from purchase order by id"):
        if customer in found:
            found[customer]["items"].append({"id": key, "item": item})
    return found


def same(topic: Topic, link: MysqlLink) -> Callable[[], bool]:
    return lambda: documents(topic) == truth(link)


def change(link: MysqlLink, chance: Random, first: int) -> None:
    """Make a transaction of a few changes of all kinds."""
    one, other = chance.sample(range(1, 21), 2)
    link.rows("begin")
    link.rows("insert into purchase values (%s, %s, 'new')", first, one)
    link.rows("update purchase set customer_id = %s where id = %s", other, first - 3)
    link.rows("update purchase set id = %s where id = %s", first + 1, first - 6)
    link.rows("delete from purchase where id = %s", first - 9)
    link.rows("update customer set name = %s where id = %s", f"n{first}", one)
    link.rows("commit")


def test_neither_a_run_nor_a_capture_that_is_killed_loses_a_change(
    folder: Path, link: MysqlLink, topic: Topic
) -> None:
    chance, numbers = Random(5), iter(range(1000, 9000, 3))

    def some(count: int) -> None:
        for _ in range(count):
            change(link, chance, next(numbers))

    with live_run(folder, "--real-time") as run:
        go_live(run)
        some(20)
        link.rows("alter table customer add column city text")
        link.rows("update customer set city = 'Rome' where id < 4")
        link.rows("update customer set id = 40 where id = 20")
        run.until(same(topic, link), "all kinds of changes")
        before = len(topic.read())
        some(20)
        run.until(lambda: len(topic.read()) > before, "some documents")
        capture_of(run).kill()
        some(20)
        run.until(same(topic, link), "the changes after the capture was killed")
        before = len(topic.read())
        some(40)
        run.until(lambda: len(topic.read()) > before, "some documents")
        run.kill()
    some(10)
    with live_run(folder, "--real-time") as run:
        go_live(run)
        some(10)
        run.until(same(topic, link), "the changes after the run was killed")
        assert 0 == run.stop(), run.said()

    topic.check_versions()
