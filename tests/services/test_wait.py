"""Who waits for a position in the log reads what they wrote, in every sink."""

from __future__ import annotations

import json
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import psycopg
import pytest
from tests.services.captured import new_database, until
from tests.services.log import Log
from tests.session_run import going
from tests.sqlite_file import sqlite_file

import joinery as jn
from joinery.dev.port import HOST, free_port
from joinery.dev.service import Service
from joinery.observe.connector import lsn_of
from joinery.observe.frontier import WaitError
from joinery.observe.status_text import frontier_lines
from joinery.observe.wait import WaitTimeoutError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.audit.verdict import DiffReport

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: shop
sources:
  changes: {{files: {{path: data}}}}
  log: {{kafka: {{bootstrap: "{bootstrap}", connector: shop, connect_offsets: {topic}-offsets}}}}
relations:
  customer: {{source: changes, key: [id], fields: {{id: long, name: string}}}}
  orders:
    source: log
    topic: {topic}
    format: json
    key: [id]
    fields: {{id: long, customer_id: long}}
products:
  profile:
    root: customer
    embed: {{orders: {{many: orders, on: {{customer_id: id}}, fields: [id]}}}}
    sink: [{{files: {{path: out}}}}, {{sqlite: {{path: out.db}}}}]
  order: {{root: orders, sink: {{files: {{path: out}}}}}}
run: {{http: "{http}"}}
"""


def shown(folder: Path) -> list[list[Any]]:
    """Return what both sinks hold of the one customer."""
    lines = [
        json.loads(line)["value"]
        for each in sorted((folder / "out" / "profile").glob("*.jsonl"))
        for line in each.read_text().splitlines()
    ]
    with sqlite_file(folder / "out.db") as database:
        [(held,)] = database.execute("SELECT document FROM profile").fetchall()
    return [[each["id"] for each in found["orders"]] for found in (lines[-1], json.loads(held))]


def keep(log: Log, topic: str, commit: int, **more: str) -> None:
    """Keep how far the connector has come, as Kafka Connect does."""
    key = json.dumps(["shop", {"server": "shop"}])
    log.put(topic, {"lsn": commit + 5, "lsn_commit": commit, "ts_usec": 1_500_000, **more}, key=key)


def reached(file: Path, product: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return, by source, how far a product is said to be: how sure, where, what was read."""
    [status] = jn.status(file, product).products
    return [
        (each.sure, each.place, tuple(one for read in each.read.values() for one in read))
        for each in status.frontiers
    ]


def spoil(folder: Path) -> None:
    with sqlite_file(folder / "out.db") as database:
        database.execute("UPDATE profile SET document = '{}'")


def causes(report: DiffReport) -> list[tuple[str, list[str], list[str]]]:
    """Return of each sink whether verdicts are proofs, their causes, and what is open."""
    return [
        (
            each.frontier,
            [one.cause for one in each.differences],
            [one.why for one in each.unsettled],
        )
        for each in report.parts
    ]


@pytest.fixture
def tables(postgres: Service) -> str:
    """A database whose tables are those of the log, and of the files."""
    name = f"wait_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.address, autocommit=True) as server:
        server.execute(f'create database "{name}"'.encode())
    return postgres.address.rpartition("/")[0] + f"/{name}"


def fill(url: str, topic: str) -> None:
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("create table customer (id bigint primary key, name text)")
        link.execute(f'create table "{topic}" (id int primary key, customer_id int)'.encode())
        link.execute("insert into customer values (7, 'Ada')")
        link.execute(f'insert into "{topic}" select n, 7 from generate_series(0, 2) n'.encode())


def test_what_was_written_is_read_after_waiting_for_it(
    kafka_spark: SparkSession, kafka: Service, tables: str, tmp_path: Path
) -> None:
    topic, log = f"orders-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic)
    file, data = tmp_path / "joinery.yaml", tmp_path / "data" / "customer"
    http = f"{HOST}:{free_port()}"
    text = PROJECT.format(bootstrap=log.bootstrap, topic=topic, http=http)
    file.write_text(text, encoding="utf-8")
    data.mkdir(parents=True)
    (data / "1.jsonl").write_text('{"id":7,"name":"Ada"}\n', encoding="utf-8")
    found = []

    with going(kafka_spark, tmp_path):
        jn.wait(file, "profile", "customer/1.jsonl", "customer/1.jsonl/1", timeout="5m")
        with pytest.raises(WaitError, match="which is read: it had 1 line"):
            jn.wait(file, "profile", "customer/1.jsonl/2", timeout="1s")
        for number in range(3):
            log.put(topic, {"id": number, "customer_id": 7})
            asked = f"product=profile&position={topic}/0/{number}&timeout=5m"
            with urlopen(f"http://{http}/wait?{asked}", timeout=320) as answer:
                assert 200 == answer.status
            found.append(shown(tmp_path))
        begun = time.monotonic()
        with pytest.raises(WaitTimeoutError, match="has not reached"):
            jn.wait(file, "profile", f"{topic}/0/3", timeout="1s")
        assert time.monotonic() - begun >= 1
        with pytest.raises(WaitTimeoutError, match="has not reached 0/10 within"):
            jn.wait(file, "order", "0/10", timeout="1s")
        keep(log, f"{topic}-offsets", 0x10)
        jn.wait(file, "order", "0/10", timeout="5m")
        with pytest.raises(WaitTimeoutError, match="has not reached 0/11 within"):
            jn.wait(file, "order", "0/11", timeout="1s")
        until(lambda: reached(file, "order")[0][:2] == ("sound", "0/10"))
        assert ("read", "", ("customer/1.jsonl",)) == reached(file, "profile")[0]
        assert (f"{topic}/0/2",) == reached(file, "order")[0][2]
        with urlopen(f"http://{http}/metrics") as answer:
            assert 'frontier_committed_timestamp_seconds{query="order"' in answer.read().decode()
        keep(log, f"{topic}-offsets", 0x20, snapshot="INITIAL")
        with pytest.raises(WaitTimeoutError, match="has not reached 0/11 within"):
            jn.wait(file, "order", "0/11", timeout="1s")
        right = causes(jn.diff(file, "profile"))
        spoil(tmp_path)
        wrong = causes(jn.diff(file, "profile"))
        repaired = causes(jn.diff(file, "profile", repair=True))
        mended = shown(tmp_path)
        spoil(tmp_path)
        fill(tables, topic)
        database = causes(jn.diff(file, "profile", database=tables))

    assert [[[0]] * 2, [[0, 1]] * 2, [[0, 1, 2]] * 2] == found
    assert [("exact", [], []), ("exact", [], [])] == right == repaired
    assert [("exact", [], []), ("exact", ["sink"], [])] == wrong
    assert [[0, 1, 2], [0, 1, 2]] == mended
    assert [("probable", [], []), ("probable", ["sink"], [])] == database


CAPTURED = """\
name: shop
sources: {{db: {{postgres: {{url: "{url}"}}}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  orders: {{key: [id], fields: {{id: long, customer_id: long}}}}
products:
  profile:
    root: customer
    embed: {{orders: {{many: orders, on: {{customer_id: id}}, fields: [id]}}}}
    sink: [{{files: {{path: out}}}}, {{sqlite: {{path: out.db}}}}]
"""


def has_reached(file: Path, place: str) -> bool:
    """Return whether the product is said to show all up to a place, and when that was committed."""
    [status] = jn.status(file).products
    return any(
        each.sure == "exact"
        and (lsn_of(each.place) or 0) >= (lsn_of(place) or 1)
        and abs((each.committed_at or 0.0) - time.time()) < 600
        for each in status.frontiers
    )


def test_a_commit_of_a_captured_database_is_read_after_waiting_for_it(
    spark: SparkSession, postgres: Service, tmp_path: Path
) -> None:
    file = tmp_path / "joinery.yaml"
    tables = "create table customer (id bigint primary key, name text)"
    orders = "create table orders (id bigint primary key, customer_id bigint)"
    rows = "insert into customer values (7, 'Ada')"
    found = []

    with new_database(postgres, "wait", tables, orders, rows) as url:
        file.write_text(CAPTURED.format(url=url), encoding="utf-8")
        with going(spark, tmp_path), psycopg.connect(url, autocommit=True) as link:
            for number in range(3):
                link.execute("insert into orders values (%s, 7)", (number,))
                [place] = link.execute("select pg_current_wal_insert_lsn()::text").fetchone() or ()
                jn.wait(file, "profile", place, timeout="5m")
                found.append(shown(tmp_path))
                until(partial(has_reached, file, place))
            with pytest.raises(WaitTimeoutError, match="has not reached FFFF/0 within"):
                jn.wait(file, "profile", "FFFF/0", timeout="1s")

    assert [[[0]] * 2, [[0, 1]] * 2, [[0, 1, 2]] * 2] == found


BEATING = """\
name: shop
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}", heartbeat: {topic}-beats}}}}}}
relations: {{orders: {{topic: {topic}, format: json, key: [id], fields: {{id: long}}}}}}
products: {{order: {{root: orders, sink: {{files: {{path: out}}}}}}}}
"""


def test_a_heartbeat_tells_up_to_when_a_product_probably_shows_all(
    kafka_spark: SparkSession, kafka: Service, tmp_path: Path
) -> None:
    topic, log = f"orders-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic, 2)
    log.create(f"{topic}-beats")
    file = tmp_path / "joinery.yaml"
    file.write_text(BEATING.format(bootstrap=log.bootstrap, topic=topic), encoding="utf-8")
    begun = time.time()

    with going(kafka_spark, tmp_path):
        log.put(topic, {"id": 1})
        until(lambda: [1] == [len(read) for *_, read in reached(file, "order")])
        before = reached(file, "order")[0]
        log.put(f"{topic}-beats", {"ts_ms": 1})
        until(lambda: reached(file, "order")[0][0] == "probable")
        [status] = jn.status(file).products

    assert ("read", "") == before[:2]
    assert begun - 1 <= (status.frontiers[0].committed_at or 0.0) <= time.time()
    assert "the heartbeat of" in "\n".join(frontier_lines(status))
