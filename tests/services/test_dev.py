"""`joinery dev` on real servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import psycopg
import pytest
from confluent_kafka import Consumer

pytestmark = pytest.mark.services


def dev(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "joinery.cli.main", "dev", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def states(folder: Path) -> dict[str, str]:
    rows = json.loads(dev(folder, "status", "--json").stdout)
    return {row["service"]: row["state"] for row in rows}


def test_servers_come_up_stay_up_and_go_down(tmp_path: Path) -> None:
    try:
        first = dev(tmp_path, "up", "postgres", "redis")
        again = dev(tmp_path, "up")
        env = (tmp_path / ".joinery/dev/env").read_text(encoding="utf-8")
        rows = json.loads(dev(tmp_path, "status", "--json").stdout)
        with psycopg.connect(dict(line.split("=", 1) for line in env.split())["POSTGRES"]) as link:
            link.execute("CREATE TABLE kept AS SELECT 1 AS one")

        psutil.Process(next(row["pid"] for row in rows if row["service"] == "redis")).kill()
        after_kill = states(tmp_path)
        healed = dev(tmp_path, "up")
        env_after = (tmp_path / ".joinery/dev/env").read_text(encoding="utf-8")
    finally:
        stopped = dev(tmp_path, "down")

    assert (first.returncode, first.stderr) == (0, "")
    assert "starting" not in again.stdout
    assert after_kill == {"postgres": "ready", "redis": "ended by itself"}
    assert "starting redis" in healed.stdout
    assert "starting postgres" not in healed.stdout
    assert env_after == env
    assert stopped.stdout == "stopping redis\nstopping postgres\n"
    assert states(tmp_path) == {"postgres": "stopped", "redis": "stopped"}
    assert [row["pid"] for row in rows if psutil.pid_exists(row["pid"])] == []


def test_captured_tables_are_read_into_their_topics_and_more_are_added(tmp_path: Path) -> None:
    try:
        started = dev(tmp_path, "up")
        addresses = dict(line.split("=", 1) for line in started.stdout.split() if "=" in line)
        with psycopg.connect(addresses["POSTGRES"], autocommit=True) as link:
            for table in ("first", "second"):
                link.execute(f"CREATE TABLE {table} (id int PRIMARY KEY)")
                link.execute(f"INSERT INTO {table} VALUES (1)")

            told = dev(tmp_path, "capture", "shop", "public.first")
            first = ids(addresses["KAFKA"], "shop.public.first", 1)
            link.execute("INSERT INTO first VALUES (2)")
            link.execute("INSERT INTO second VALUES (2)")
            added = dev(tmp_path, "capture", "shop", "public.second")
            link.execute("INSERT INTO first VALUES (3)")
            link.execute("INSERT INTO second VALUES (3)")

            firsts = ids(addresses["KAFKA"], "shop.public.first", 3)
            seconds = ids(addresses["KAFKA"], "shop.public.second", 3)
        again = dev(tmp_path, "capture", "shop", "second")
        missing = dev(tmp_path, "capture", "shop", "public.secnd")
        other = dev(tmp_path, "capture", "shop", "public.first", "--database", another(addresses))
    finally:
        dev(tmp_path, "down")
    assert ("shop.public.first\n", "") == (told.stdout, told.stderr)
    assert ("shop.public.second\n", "") == (added.stdout, added.stderr)
    assert [1] == first
    assert [1, 2, 3] == firsts
    assert {1, 2, 3} == set(seconds)
    assert "shop.public.second was captured before\n" == again.stdout
    assert 2 == missing.returncode
    assert 'has no table "public.secnd". It has public.first, public.second.' in missing.stderr
    assert 'Use "public.second".' in missing.stderr
    assert 1 == other.returncode
    assert 'connector "shop" captures another database' in other.stderr


def another(addresses: dict[str, str]) -> str:
    """Return another database of the same server, with the same tables."""
    url = addresses["POSTGRES"]
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("CREATE DATABASE other")
    other = url.rpartition("/")[0] + "/other"
    with psycopg.connect(other, autocommit=True) as link:
        link.execute("CREATE TABLE first (id int PRIMARY KEY)")
    return other


def ids(bootstrap: str, topic: str, count: int) -> list[int]:
    """Return the ids of a topic's first changes, in the order of the log."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    found: list[int] = []
    deadline = time.monotonic() + 300
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(json.loads(message.value() or b"")["after"]["id"])
    consumer.close()
    return found


def test_wiping_leaves_nothing_of_a_server(tmp_path: Path) -> None:
    dev(tmp_path, "up", "redis")

    dev(tmp_path, "down", "--wipe")

    assert states(tmp_path) == {}
    assert not (tmp_path / ".joinery/dev/redis").exists()


def test_a_server_that_cannot_start_is_one_line_and_the_end_of_its_log(tmp_path: Path) -> None:
    dev(tmp_path, "up", "postgres")
    dev(tmp_path, "down")
    version = tmp_path / ".joinery/dev/postgres/data/PG_VERSION"
    version.write_text("9.6\n", encoding="utf-8")

    failed = dev(tmp_path, "up")

    line, *tail = failed.stderr.splitlines()
    assert failed.returncode == 1
    assert line.startswith("error: postgres ended while it started. Its log is ")
    assert line.endswith("[RUN_SERVICE]")
    assert any("9.6" in each for each in tail)
    assert states(tmp_path) == {"postgres": "stopped"}


def test_a_name_that_is_no_service_is_a_wrong_argument(tmp_path: Path) -> None:
    refused = dev(tmp_path, "up", "kafak")

    assert refused.returncode == 2
    assert "postgres, kafka, connect" in refused.stderr
