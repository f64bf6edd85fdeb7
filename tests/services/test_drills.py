"""The drills of docs/drills: a night with three incidents, and one more, as the pages tell."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.services.captured import Connection, new_database, until
from tests.services.command import Command, joinery_run
from tests.unit.drill import Drill
from tests.unit.page import Page

from joinery.capture.spool import SpoolFolder
from joinery.delivery.control import who
from joinery.dev.postgres import postgres as postgres_service
from joinery.dev.service import Service

pytestmark = [pytest.mark.services, pytest.mark.spark]
NAMED_S = 60.0
LIMIT_BYTES = 48 << 20
MUCH_ELSE = (
    b"create table much as select repeat(md5(n::text), 30) from generate_series(1, 60000) as n"
)
TABLES = (
    "create table customer (id bigint primary key, name text)",
    "create table purchase (id bigint primary key, customer_id bigint, amount numeric(10,2))",
    "insert into customer values (1, 'Ada'), (2, 'Bob'), (3, 'Cy')",
    "insert into purchase values (10, 1, 9.50), (11, 1, 1.25), (12, 2, 7)",
)
TRUTH = """
select c.id, jsonb_build_object('id', c.id, 'name', c.name, 'purchases', coalesce(
  (select jsonb_agg(jsonb_build_object('id', p.id, 'amount', p.amount) order by p.id)
   from purchase as p where p.customer_id = c.id), '[]')) from customer as c
"""


@dataclass(slots=True)
class Night:
    """A project of two PostgreSQL servers, and the run of it that goes on."""

    folder: Path
    source: Connection
    target: Service
    names: Mapping[str, str]
    runs: ExitStack = field(default_factory=ExitStack)

    def run(self, line: str) -> Command:
        """Begin the run that a page has typed."""
        command, *arguments = shlex.split(line)
        assert command == "run"
        return self.runs.enter_context(joinery_run(self.folder, *arguments))

    def right(self) -> bool:
        """Return whether the sink has the documents that the tables give."""
        with closing(psycopg.connect(self.target.address)) as link:
            if link.execute("select to_regclass('profile')").fetchone() == (None,):
                return False
            held = link.execute("select id, document from profile").fetchall()
        given = self.source.execute(TRUTH.encode()).fetchall()
        return sorted(held, key=str) == sorted(given, key=str)

    def drill(self, name: str) -> Drill:
        """Return the drill of a page."""
        return Drill(name, self.names)


@pytest.fixture
def night(postgres: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    with (
        new_database(postgres, "drill", *TABLES) as url,
        postgres_service(tmp_path / "target").started() as target,
        closing(psycopg.connect(url, autocommit=True)) as link,
    ):
        folder = tmp_path / "shop"
        folder.mkdir()
        Page("drills/README.md").written(folder)
        monkeypatch.setenv("SOURCE", url)
        monkeypatch.setenv("TARGET", target.address)
        monkeypatch.chdir(folder)
        names = {
            url.rpartition("@")[2]: "127.0.0.1:5432/shop",
            target.address.rpartition("@")[2]: "127.0.0.1:5433/shop",
            f"port {target.ports['client']} ": "port 5433 ",
            f"{folder}/": "",
            who(): "ada@ops-1",
        }
        made = Night(folder, link, target, names)
        with made.runs:
            yield made


def standing() -> dict[str, Any]:
    """Return how the product stands, as `joinery status --json` tells."""
    import joinery as jn

    return jn.status("joinery.yaml").products[0].to_json()


def named(state: str, because: str) -> None:
    """Require that the status says so soon."""
    begun = time.monotonic()
    until(lambda: standing()["state"] == state and because in standing()["because"], NAMED_S)
    assert time.monotonic() - begun < NAMED_S


def live(sent: int) -> bool:
    """Return whether the product is live, after so many documents were sent."""
    found = standing()
    return (found["state"], found["documents"]) == ("live", sent)


def committed(run: Command) -> int:
    """Return how many documents were sent in committed batches, which no later run sends again."""
    sent = (each["documents"].get("profile", {}) for each in run.told("batch"))
    return sum(each.get("upserts", 0) for each in sent)


def test_a_night_of_incidents_goes_as_the_drills_tell(night: Night) -> None:
    run = night.run("run")
    run.wait_for(lambda: night.right() and live(3) and committed(run) == 3)

    run = killed(night, run)
    run = slot_dropped(night, run)
    sink_stopped(night, run)

    assert 0 == run.end()[0]


def test_a_slot_that_fills_a_disk_is_dealt_with_as_the_drill_tells(night: Night) -> None:
    drill = night.drill("full_log")
    file = night.folder / "joinery.yaml"
    lines = file.read_text().splitlines(keepends=True)
    limited = [drill.page.blocks["yaml"] if each.startswith("sources:") else each for each in lines]
    file.write_text("".join(limited))
    run = night.run("run")
    run.wait_for(lambda: night.right() and live(3))

    drill.type()
    spool = SpoolFolder(night.folder / ".joinery/spool/db")
    until(lambda: not spool.held())
    night.source.execute("update customer set name = 'Bea' where id = 2")
    night.source.execute(MUCH_ELSE)
    assert 1 == run.ended()[0]
    drill.type()
    drill.type()
    assert kept_bytes(night) > LIMIT_BYTES
    drill.type()
    line, _ = drill.next()
    again = night.run(line)
    again.wait_for(lambda: night.right() and live(1) and kept_bytes(night) < LIMIT_BYTES)
    drill.type()
    drill.type()

    assert drill.over()
    assert 0 == again.end()[0]


def kept_bytes(night: Night) -> int:
    """Return how much of the log the server keeps for the slot."""
    kept = "select (pg_current_wal_lsn() - restart_lsn)::bigint from pg_replication_slots"
    [(found,)] = night.source.execute(f"{kept} where slot_name = 'joinery_shop_db'".encode())
    return int(found)


def killed(night: Night, run: Command) -> Command:
    drill = night.drill("killed_run")
    run.process.send_signal(signal.SIGKILL)
    named("gone", "start the run again")
    drill.type()
    drill.type()
    night.source.execute("update customer set name = 'Bea' where id = 2")
    night.source.execute("insert into purchase values (13, 3, 4.75)")
    line, _ = drill.next()
    again = night.run(line)
    again.wait_for(lambda: night.right() and live(2) and committed(again) == 2)
    drill.type()
    drill.type()
    assert drill.over()
    return again


def slot_dropped(night: Night, run: Command) -> Command:
    drill = night.drill("dropped_slot")
    night.source.execute(drill.page.blocks["sql"].encode())
    named("failed", "slot")
    assert 1 == run.ended()[0]
    night.source.execute("delete from customer where id = 1")
    drill.type()
    drill.type()
    drill.type()
    line, _ = drill.next()
    again = night.run(line)
    again.wait_for(lambda: night.right() and live(0) and again.told("caught up"))
    drill.type()
    drill.type()
    assert drill.over()
    return again


def sink_stopped(night: Night, run: Command) -> None:
    drill = night.drill("dead_sink")
    night.target.stop()
    night.source.execute("update customer set name = 'Ben' where id = 2")
    named("behind", "it waits for postgres table profile")
    run.wait_for(lambda: standing()["state"] == "waiting")
    drill.type()
    night.target.start()
    run.wait_for(lambda: night.right() and live(1))
    drill.type()
    assert drill.over()
