"""Documents in a sink against their database: planted differences are found, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.services.audited import (
    CUSTOMERS,
    PROJECT,
    ROWS,
    TABLES,
    Changes,
    documents,
    kinds,
    opened,
    running,
)
from tests.services.captured import Connection, new_database, until
from tests.unit.cli.command import joinery

import joinery as jn
from joinery.app.against import SlotLog
from joinery.audit.applied import SpoolApplied
from joinery.audit.database import SourceDatabase
from joinery.capture.spool import SpoolFolder
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
LIMIT_S = 300


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    """The URL of a database of the test's own, with three tables, beside one for the sink."""
    with new_database(postgres, "audited", TABLES, ROWS) as url:
        with closing(psycopg.connect(postgres.address, autocommit=True)) as server:
            server.execute(f'create database "{url.rpartition("/")[2]}_sink"'.encode())
        yield url


@pytest.fixture
def sink(database: str) -> Iterator[Connection]:
    with closing(psycopg.connect(f"{database}_sink", autocommit=True)) as link:
        yield link


@pytest.fixture
def folder(tmp_path: Path, database: str) -> Path:
    (tmp_path / "joinery.yaml").write_text(
        PROJECT.format(url=database, sink=f'{{postgres: {{url: "{database}_sink"}}}}')
    )
    return tmp_path


def test_planted_differences_are_found_and_no_others_while_changes_go_on(
    folder: Path,
    link: Connection,
    sink: Connection,
    database: str,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = jn.load(folder / "joinery.yaml")
    with running(spark, folder):
        until(lambda: documents(sink) == CUSTOMERS)
        still = jn.diff(project)
        with Changes(database, seed=3) as changes:
            moving = [jn.diff(project) for _ in range(3)]
        lose(link)
        forget_to_send(link, sink)
        plant(sink)
        planted = jn.diff(project)
        repaired = jn.diff(project, repair=True)
        link.execute("update customer set name = 'later' where id = 457")
        until(lambda: name_of(sink, 457) == "later")
        again = jn.diff(project)
        with hanging(database, "update customer set name = 'hangs' where id = 470"):
            until(lambda: name_of(sink, 470) == "hangs")
            link.execute("update purchase set amount = 5000 where id = 469")
            until(lambda: "5000" in document_of(sink, 470))
            hung = jn.diff(project)
        settled = jn.diff(project)
    plant(sink)
    kill_in_the_midst(folder)
    monkeypatch.chdir(folder)
    capsys.readouterr()
    resumed = joinery(monkeypatch, "diff", "--resume", "--json")
    [part] = json.loads(capsys.readouterr().out)["products"]
    commands = [joinery(monkeypatch, "diff", "--repair"), joinery(monkeypatch, "diff")]

    assert ({}, [], CUSTOMERS) == (kinds(still), opened(still), still.parts[0].compared)
    assert [{}] * 3 == [kinds(each) for each in moving]
    # On a slow machine a document may change at each look; it is said to, and not called wrong.
    whys = {each.why for report in moving for each in opened(report)}
    assert whys <= {"it changed at each of 5 looks"}
    assert changes.made > 0
    wrong = {**PLANTED, 455: "joinery differs", 480: "input differs"}
    assert (wrong, []) == (kinds(planted), opened(planted))
    assert ({}, [], 7) == (kinds(repaired), opened(repaired), repaired.parts[0].repaired)
    noted = [each.verb for each in jn.status(project).products[0].actions]
    assert ["diff --repair"] * 2 == noted
    assert ({}, []) == (kinds(again), opened(again))
    assert ({}, 1) == (kinds(hung), len(opened(hung)))
    assert ({}, []) == (kinds(settled), opened(settled))
    assert (3, 5) == (resumed, part["differ"])
    assert [0, 0] == commands


def test_a_place_is_in_the_spool_once_it_was_captured_or_nothing_came_since(
    folder: Path, link: Connection, database: str
) -> None:
    source = SourceDatabase(database, ())
    source.open()
    spool = SpoolFolder(folder / ".joinery" / "spool" / "db")
    log = SlotLog(source, "joinery_audited_db")
    applied = SpoolApplied("db", spool, [], folder / "none", log=log, wait_s=float(LIMIT_S))
    command = [sys.executable, "-m", "joinery.cli.main", "capture"]

    with subprocess.Popen(command, cwd=folder) as capture:
        until(lambda: (known := spool.identity) and spool.position and not known.joining)
        captured = []
        for name in ("one", "two", "three"):
            link.execute("update customer set name = %s where id = 1", (name,))
            captured.append((applied.reach(source.place), newest(spool, "customer")))
        capture.terminate()
    link.execute("create table other (id int); insert into other values (1)")
    silent = applied.reach(source.place)
    link.execute("update customer set name = 'four' where id = 1")
    changed = applied.reach(source.place)
    source.close()

    assert [(True, "one"), (True, "two"), (True, "three")] == captured
    assert (True, False) == (silent, changed)


def newest(spool: SpoolFolder, table: str) -> str:
    """Return the name that the last record of a spool tells."""
    last = max((spool.path / "files" / f"public.{table}").glob("*.jsonl"))
    told = json.loads(last.read_text().splitlines()[-1])
    return str(told["after"]["name"])


def lose(link: Connection) -> None:
    """Change a row while the publication tells no updates, too briefly for a capture to notice."""
    link.execute("alter publication joinery_audited_db set (publish = 'insert')")
    link.execute("update purchase set amount = 1234 where id = 979")
    link.execute("alter publication joinery_audited_db set (publish = 'insert, update, delete')")


def forget_to_send(link: Connection, sink: Connection) -> None:
    """Have the sink hold a document, and its version, from before the last change."""
    before = sink.execute("select document::text, version from profile where id = 455").fetchone()
    link.execute("update customer set name = 'fresh' where id = 455")
    until(lambda: name_of(sink, 455) == "fresh")
    sink.execute("update profile set document = %s, version = %s where id = 455", before)


@contextmanager
def hanging(url: str, statement: str) -> Iterator[None]:
    """Run a statement whose commit is in the log, and waits for a standby that is not there."""
    with closing(psycopg.connect(url, autocommit=True)) as server:
        server.execute("alter system set synchronous_commit = 'local'")
        server.execute("alter system set synchronous_standby_names = 'absent'")
        server.execute("select pg_reload_conf()")
        with closing(psycopg.connect(url, autocommit=True)) as link:
            link.execute("set synchronous_commit = 'on'")
            until(
                lambda: server.execute("show synchronous_standby_names").fetchone() == ("absent",)
            )
            thread = threading.Thread(target=link.execute, args=(statement,), daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.execute("alter system reset synchronous_standby_names")
                server.execute("alter system reset synchronous_commit")
                server.execute("select pg_reload_conf()")
                thread.join()


def kill_in_the_midst(folder: Path) -> None:
    """Kill a comparison that has seen some documents, but not all."""
    found = folder / ".joinery" / "checkpoint" / "_diff"
    for each in found.glob("*.json"):
        each.unlink()
    command = [sys.executable, "-m", "joinery.cli.main", "diff", "--rate", "50/s"]
    with subprocess.Popen(command, cwd=folder) as process:
        until(lambda: list(found.glob("*.json")))
        process.kill()
    [file] = found.glob("*.json")
    told = json.loads(file.read_text())
    assert ("going", False) == (told["state"], told["found"]["all_seen"])


def document_of(sink: Connection, id: int) -> str:
    found = sink.execute("select document::text from profile where id = %s", (id,)).fetchone()
    return str(found[0]) if found else ""


def name_of(sink: Connection, id: int) -> object:
    found = sink.execute("select document ->> 'name' from profile where id = %s", (id,)).fetchone()
    return found[0] if found else None


PLANTED = {
    457: "sink differs",
    461: "sink missing",
    462: "sink missing",
    467: "sink differs",
    9999: "sink extra",
}


def plant(sink: Connection) -> None:
    """Do what nobody should to the documents in a sink."""
    sink.execute('update profile set document = document || \'{"name": "Eve"}\' where id = 457')
    sink.execute("delete from profile where id in (461, 462)")
    sink.execute("update profile set document = '[]' where id = 467")
    sink.execute("insert into profile select 9999, document, version from profile where id = 463")
