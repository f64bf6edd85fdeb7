"""A log of PostgreSQL that grows beyond its limit, and the looks that notice it."""

from __future__ import annotations

import shutil

import psycopg
import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.postgres_captured import capturing, database

from joinery.capture.postgres import prepare
from joinery.capture.spool import SpoolFolder
from joinery.capture.tending import Tending, TooMuchLogError
from joinery.dev.service import Service
from joinery.model.warning import RunWarning
from joinery.project.postgres import Beyond, WalLimit

pytestmark = pytest.mark.services
server = postgres_captured.server
link = postgres_captured.link
spool = postgres_captured.spool


@pytest.mark.parametrize("then", ["warn", "stop", "drop"])
def test_a_log_above_its_limit_is_warned_of_or_ends_the_capture(
    server: Service, link: Connection, spool: SpoolFolder, then: Beyond
) -> None:
    prepare(database(server), spool)
    link.execute("select pg_create_logical_replication_slot('joinery_t', 'pgoutput')")
    warned: list[RunWarning] = []

    tending = tended(server, spool, WalLimit(bytes=1, then=then), warned)
    goes_on = tending.look()

    assert goes_on == (then == "warn")
    assert ["WARN_WAL"] * (then == "warn") == [each.code for each in warned]
    assert tending.error is None or tending.error.drops == (then == "drop")


def test_a_server_that_lets_nobody_in_is_asked_again_at_the_next_look(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    prepare(database(server), spool)
    tending = tended(server, spool, WalLimit(bytes=1), [], user="nobody")

    assert tending.look()


def test_a_spool_that_is_emptied_under_a_capture_ends_it(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    prepare(database(server), spool)
    tending = tended(server, spool, WalLimit(bytes=1 << 40), [])
    shutil.rmtree(spool.path)
    spool.path.mkdir()
    (spool.path / "position.json").write_text('{"lsn": 1, "written_at_ms": 1, "file": 0}')

    goes_on = tending.look()

    assert not goes_on
    assert tending.lost is not None
    assert f"the spool {spool.path} was removed, at least in part" in tending.lost.message


def tended(
    server: Service,
    spool: SpoolFolder,
    limit: WalLimit,
    warned: list[RunWarning],
    *,
    user: str = "joinery",
) -> Tending:
    return Tending(
        database(server, user),
        spool,
        name="t",
        keep_s=1.0,
        applied=lambda reader: {},
        max_wal=limit,
        columns={},
        on_warning=warned.append,
    )


def test_a_log_above_its_limit_is_let_go_of_before_the_capture_ends(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    limit = WalLimit(bytes=1, then="drop")
    with capturing(database(server), spool, limit) as capture:
        until(lambda: capture.error)

    assert isinstance(capture.error, TooMuchLogError)
    assert "more than max_wal" in capture.error.message
    assert [] == link.execute("select slot_name from pg_replication_slots").fetchall()


@pytest.mark.parametrize("bulk", [False, True], ids=["chunks", "bulk"])
@pytest.mark.parametrize("then", ["warn", "stop", "drop"])
def test_a_log_above_its_limit_is_told_of_before_the_tables_are_read(
    server: Service, link: Connection, spool: SpoolFolder, then: Beyond, bulk: bool
) -> None:
    warned: list[RunWarning] = []
    limit = WalLimit(bytes=1 << 20, then=then)

    with psycopg.connect(server.address) as before:
        before.execute("insert into customer values (1, 'open')")  # The slot waits for its end.
        with capturing(database(server), spool, limit, warned=warned, bulk=bulk) as capture:
            until(lambda: link.execute("select 1 from pg_replication_slots").fetchone())
            link.execute(
                "create table log as select repeat(i::text, 99) from generate_series(1, 9999) i"
            )
            until(lambda: capture.error or warned)
            read = spool.position

    assert read is None
    assert ["WARN_WAL"] * (then == "warn") == [each.code for each in warned]
    assert isinstance(capture.error, TooMuchLogError) == (then != "warn")
    left = link.execute("select 1 from pg_replication_slots").fetchall()
    assert then != "drop" or left == []
    link.execute("drop table log")
