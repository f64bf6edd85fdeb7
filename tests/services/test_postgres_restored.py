"""A slot that does not go on: its database was put back, its standby took over, or it was idle."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.postgres_captured import TABLE, capturing, database, lines

from joinery.capture.postgres import prepare
from joinery.capture.spool import CaptureLostError, SpoolFolder
from joinery.dev.postgres import USER, postgres, programs
from joinery.dev.process import as_user
from joinery.dev.service import Service

pytestmark = pytest.mark.services
server, link, spool = (
    postgres_captured.server,
    postgres_captured.link,
    postgres_captured.spool,
)
_HAS_NOT = "does not have the changes that were captured last"


def run_sql(server: Service, *statements: str) -> None:
    with closing(psycopg.connect(server.address, autocommit=True)) as link:
        for each in statements:
            link.execute(each.encode())


def inserts(first: int, last: int) -> list[str]:
    """Return a transaction for each row."""
    return [f"insert into customer values ({each}, 'n')" for each in range(first, last + 1)]


def keys(spool: SpoolFolder) -> set[int]:
    return {each["after"]["id"] for each in lines(spool.path / "files" / TABLE)}


def has_row(spool: SpoolFolder, key: int) -> bool:
    return key in keys(spool)


def capture_all(server: Service, spool: SpoolFolder) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()


def test_a_slot_that_has_confirmed_less_than_was_captured_goes_on_in_the_same_log(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    capture_all(server, spool)
    link.execute("select pg_copy_logical_replication_slot('joinery_t', 'older')")
    for each in (1, 2):
        run_sql(server, *inserts(each, each))
        with capturing(database(server), spool) as capture:
            until(partial(has_row, spool, each))
            if each == 2:  # then the spool ends with a mark, else with a row
                capture.reach_end()
        link.execute("select pg_drop_replication_slot('joinery_t')")
        link.execute("select pg_copy_logical_replication_slot('older', 'joinery_t')")
    run_sql(server, *inserts(3, 3))
    capture_all(server, spool)

    assert keys(spool) == {1, 2, 3}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Service]:
    """A server of the test's own, with an empty table."""
    with postgres(tmp_path / "own").started() as service:
        run_sql(service, "create table customer (id bigint primary key, name text)")
        yield service


def test_a_database_that_was_put_back_is_refused_also_once_it_has_grown(
    own: Service, spool: SpoolFolder, tmp_path: Path
) -> None:
    data, backup = own.folder / "data", tmp_path / "backup"
    capture_all(own, spool)
    own.stop()
    copy(data, backup)
    own.start()
    run_sql(own, *inserts(1, 9))
    capture_all(own, spool)
    own.stop()
    shutil.rmtree(data)
    copy(backup, data)
    own.start()

    with pytest.raises(CaptureLostError, match="is behind what was captured from it"):
        prepare(database(own), spool)
    run_sql(own, *inserts(100, 200))
    with pytest.raises(CaptureLostError, match=_HAS_NOT):
        capture_all(own, spool)


def test_a_slot_that_was_idle_for_too_long_is_refused_as_such(
    own: Service, spool: SpoolFolder
) -> None:
    capture_all(own, spool)
    run_sql(own, "alter system set idle_replication_slot_timeout = '1s'")
    run_sql(own, "select pg_reload_conf()")
    until(partial(is_refused, own, spool))
    with pytest.raises(CaptureLostError, match="was invalidated by the server") as refused:
        prepare(database(own), spool)

    assert "longer than idle_replication_slot_timeout allows" in refused.value.detail


def is_refused(server: Service, spool: SpoolFolder) -> bool:
    run_sql(server, "checkpoint")  # at which slots are looked at
    try:
        prepare(database(server), spool)
    except CaptureLostError:
        return True
    return False


def copy(folder: Path, to: Path) -> None:
    subprocess.run(["cp", "-a", str(folder), str(to)], check=True)


@pytest.fixture
def standby(own: Service, spool: SpoolFolder, tmp_path: Path) -> Iterator[Service]:
    """A standby that has the capture's slot."""
    capture_all(own, spool)
    with closing(psycopg.connect(f"{own.address}?replication=database", autocommit=True)) as link:
        link.execute("ALTER_REPLICATION_SLOT joinery_t (FAILOVER)")
    folder = tmp_path / "standby"
    follow(own, folder / "data")
    with postgres(folder, settings={"hot_standby_feedback": "on"}).started() as service:
        with capturing(database(own), spool):  # the slot moves to where the standby has the log
            until(lambda: has_slot(own, service))
        yield service


def follow(primary: Service, data: Path) -> None:
    """Have a folder hold a copy of a server, which will follow it."""
    data.mkdir(parents=True, mode=0o700)
    user = "postgres"
    if os.geteuid() == 0:
        shutil.chown(data, user)
    address = primary.address.rpartition("/")[0].rpartition(":")
    taken = [str(programs() / "pg_basebackup"), "-h", "127.0.0.1", "-p", address[2], "-U", USER]
    to = ["-D", str(data), "-R", "-C", "-S", "standby", "-c", "fast", "-d", "dbname=postgres"]
    subprocess.run(as_user(user, (*taken, *to)), check=True, cwd=data)


def has_slot(primary: Service, standby: Service) -> bool:
    run_sql(primary, "select pg_log_standby_snapshot()")
    with closing(psycopg.connect(standby.address, autocommit=True)) as link:
        link.execute("select pg_sync_replication_slots()")
        synced = "select from pg_replication_slots where synced and not temporary"
        return link.execute(synced).fetchone() is not None


def receives(standby: Service) -> bool:
    with closing(psycopg.connect(standby.address, autocommit=True)) as link:
        return link.execute("select from pg_stat_wal_receiver").fetchone() is not None


@pytest.mark.exhaustive
def test_a_standby_that_has_the_slot_and_all_that_was_captured_is_followed_on(
    own: Service, standby: Service, spool: SpoolFolder
) -> None:
    run_sql(own, *inserts(1, 3))
    capture_all(own, spool)
    run_sql(own, *inserts(4, 6))
    own.stop()  # which waits for its standby
    run_sql(standby, "select pg_promote()", *inserts(7, 9))
    capture_all(standby, spool)

    assert keys(spool) == {*range(1, 10)}


@pytest.mark.exhaustive
def test_a_standby_that_lacks_what_was_captured_is_refused(
    own: Service, standby: Service, spool: SpoolFolder
) -> None:
    run_sql(standby, "alter system set primary_conninfo = ''", "select pg_reload_conf()")
    until(lambda: not receives(standby))
    run_sql(own, *inserts(1, 3))
    capture_all(own, spool)
    own.stop()
    run_sql(standby, "select pg_promote()", *inserts(7, 99))

    with pytest.raises(CaptureLostError, match=_HAS_NOT):
        capture_all(standby, spool)
