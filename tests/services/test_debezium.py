"""What a real connector tells of real tables, from PostgreSQL to documents."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.services.project_folder import ProjectFolder

from joinery.dev.connect import create, delete
from joinery.dev.debezium import capture
from joinery.dev.http import ask
from joinery.dev.service import Service
from joinery.observe.connector import committed_in, lsn_of
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import Run, run
from joinery.spark.jar import kafka_jars
from joinery.spark.jvm import add_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: captured
sources: {{changes: {{kafka: {{bootstrap: "{kafka}"}}}}}}
defaults: {{source: changes, format: debezium-json}}
relations:
  by_key: {{topic: {at}.{at}.by_key, key: [id], fields: {{id: int, name: string, big: string}}}}
  by_row: {{topic: {at}.{at}.by_row, key: [id], fields: {{id: int, name: string, big: string}}}}
products:
  keyed: {{root: by_key, fields: [id, name, big: length(big)], sink: {{files: {{path: out}}}}}}
  whole: {{root: by_row, fields: [id, name, big: length(big)], sink: {{files: {{path: out}}}}}}
"""
TABLES = """\
CREATE SCHEMA {at};
CREATE TABLE {at}.by_key (id int PRIMARY KEY, name text, big text);
ALTER TABLE {at}.by_key ALTER big SET STORAGE EXTERNAL;
CREATE TABLE {at}.by_row (LIKE {at}.by_key INCLUDING ALL);
ALTER TABLE {at}.by_row REPLICA IDENTITY FULL;
CREATE TABLE {at}.signal (id varchar(64) PRIMARY KEY, type varchar(32), data varchar(2048));
INSERT INTO {at}.by_key SELECT n, 'snap' || n, repeat('x', 9000) FROM generate_series(1, 3) n;
INSERT INTO {at}.by_row TABLE {at}.by_key;
"""
LARGE = 9000


@dataclass(frozen=True, slots=True)
class Captured(ProjectFolder):
    """Two tables, captured by a connector, and the project that keeps their rows."""

    spark: SparkSession
    database: str
    at: str

    def sql(self, statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        with psycopg.connect(self.database, autocommit=True) as link:
            for statement in statements.split(";"):
                if statement.strip():
                    link.execute(statement.format(at=self.at))

    def both(self, statement: str) -> None:
        """Run a statement on each of the tables, `{t}`."""
        for table in ("by_key", "by_row"):
            self.sql(statement.replace("{t}", f"{self.at}.{table}"))

    def sent(self, product: str) -> list[tuple[int, str | None, int | None]]:
        """Return all that was sent of a product: id, name, the length of the large value."""
        files = sorted((self.folder / "out" / product).glob("*.jsonl"))
        rows = [(each.key_values()["id"], each.value) for each in read_rows(files)]
        return [_told(int(str(number)), value) for number, value in rows]

    def newest(self, product: str) -> dict[int, tuple[str | None, int | None]]:
        """Return the newest document by id, without those that went."""
        found = {number: (name, big) for number, name, big in self.sent(product)}
        return {number: told for number, told in sorted(found.items()) if told[0] is not None}

    def letters(self) -> list[Any]:
        """Return the dead letters."""
        files = sorted((self.folder / ".joinery/dead_letters").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _told(number: int, value: str | None) -> tuple[int, str | None, int | None]:
    row = json.loads(value) if value else {"name": None, "big": None}
    return number, row["name"], row["big"]


def wait_until(holds: Callable[[], bool], within_s: float = 300) -> None:
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.fixture
def captured(
    spark: SparkSession, kafka: Service, postgres: Service, connect: Service, tmp_path: Path
) -> Iterator[Captured]:
    """The tables with three rows each, and their connector, still in its snapshot."""
    add_jars(spark, kafka_jars())
    at = f"t{uuid.uuid4().hex[:8]}"
    text = PROJECT.format(kafka=kafka.address, at=at)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    made = Captured(tmp_path, spark, postgres.address, at)
    made.sql(TABLES)
    config = capture(
        at,
        database=postgres.address,
        tables=[f"{at}.by_key", f"{at}.by_row"],
        settings={
            "signal.data.collection": f"{at}.signal",
            "provide.transaction.metadata": "true",
            "skipped.operations": "none",
            "heartbeat.interval.ms": "500",
        },
    )
    create(connect, at, config)
    yield made
    delete(connect, at)
    with psycopg.connect(postgres.address, autocommit=True) as link:
        drop = (
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
            " WHERE slot_name = %s AND active"
        )
        link.execute(drop, [at])
        wait_until(lambda: _dropped(link, at))


def _dropped(link: psycopg.Connection[Any], slot: str) -> bool:
    try:
        link.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
            " WHERE slot_name = %s",
            [slot],
        )
    except psycopg.errors.ObjectInUse:
        return False
    return True


def kept(connect: Service, connector: str) -> int | None:
    """Return up to which commit a connector has come, by the position that Connect keeps."""
    told: Any = ask(f"{connect.address}/connectors/{connector}/offsets")
    offsets = [json.dumps(each["offset"]).encode() for each in told["offsets"]]
    return committed_in(offsets[0]) if offsets else None


def test_what_connect_keeps_tells_up_to_which_commit_its_connector_has_come(
    captured: Captured, connect: Service
) -> None:
    captured.sql("INSERT INTO {at}.by_key VALUES (7, 'late', '')")
    with psycopg.connect(captured.database) as link:
        [(text,)] = link.execute("SELECT pg_current_wal_insert_lsn()::text").fetchall()
    place = lsn_of(text)
    assert place is not None
    assert (kept(connect, captured.at) or 0) < place

    captured.sql("INSERT INTO {at}.by_row VALUES (7, 'later', '')")

    wait_until(lambda: (kept(connect, captured.at) or 0) >= place)


@pytest.fixture
def running(captured: Captured) -> Iterator[Run]:
    """The project, running."""
    started = run(captured.spark, captured)
    yield started
    started.stop()


def test_documents_follow_the_tables_through_all_that_debezium_tells(
    captured: Captured, running: Run
) -> None:
    snapshot = {n: (f"snap{n}", LARGE) for n in (1, 2, 3)}
    wait_until(lambda: captured.newest("keyed") == captured.newest("whole") == snapshot)

    # The large values do not change, so that under the default identity they are left out.
    captured.both("UPDATE {t} SET name = 'new' WHERE id = 1")
    captured.both("DELETE FROM {t} WHERE id = 2")
    captured.both("ALTER TABLE {t} ADD COLUMN extra int DEFAULT 7")
    captured.both("UPDATE {t} SET id = 30 WHERE id = 3")
    captured.sql("SELECT pg_logical_emit_message(true, 'joinery', 'nothing')")
    whole = {1: ("new", LARGE), 30: ("snap3", LARGE)}
    keyed = {1: ("new", LARGE), 30: ("snap3", None)}
    wait_until(lambda: captured.newest("whole") == whole and captured.newest("keyed") == keyed)
    wait_until(lambda: running.progress.relations["by_key"].get("unavailable_values") == 1)

    # An incremental snapshot brings back what the change of the key had lost, and no more.
    before = len(captured.sent("keyed"))
    signal = '{{"data-collections":["{at}.by_key"],"type":"incremental"}}'
    captured.sql(f"INSERT INTO {{at}}.signal VALUES ('one', 'execute-snapshot', '{signal}')")
    wait_until(lambda: captured.newest("keyed") == whole)
    captured.both("INSERT INTO {t} VALUES (4, 'last', 'z')")
    wait_until(lambda: 4 in captured.newest("keyed"))
    assert [(30, "snap3", LARGE), (4, "last", 1)] == captured.sent("keyed")[before:]
    assert [] == captured.letters()

    captured.sql("TRUNCATE {at}.by_row")
    captured.sql("INSERT INTO {at}.by_row VALUES (5, 'after', 'z')")
    wait_until(lambda: 5 in captured.newest("whole"))
    assert {1, 4, 5, 30} == captured.newest("whole").keys()
    wait_until(lambda: ["truncate"] == [each["reason"] for each in captured.letters()])
