"""A capture of MySQL and MariaDB as it runs: killed, joined by tables, altered, paused, idle."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.services import mysql_captured
from tests.services.captured import message_and_hint, until
from tests.services.mysql_captured import (
    CUSTOMER,
    OF_MARIADB,
    SERVER_ID,
    Changes,
    alter,
    capture_runs,
    capturing,
    changes_of,
    claimed,
    connected,
    database_of,
    has_read,
    kill_process,
    numbers,
    rows_of,
    stands,
)

from joinery.capture.capture import Capture
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import CaptureError, CaptureLostError, CapturePosition, SpoolFolder
from joinery.capture.state import drop_source, state_of
from joinery.dev.service import Service
from joinery.model.warning import RunWarning

pytestmark = pytest.mark.services
_KILLS = 2
server, url = mysql_captured.server, mysql_captured.url


@OF_MARIADB
def test_a_capture_killed_at_any_moment_loses_nothing_and_brings_nothing_back(
    url: str, tmp_path: Path
) -> None:
    database = database_of(url, "customer", "purchase")
    with closing(connected(url)) as link:
        link.rows(f"insert into customer select n, 'n' from ({numbers(1, 2000)}) as each_one")
        link.rows(
            "insert into purchase select n, n, 1, '2026-01-31 12:00', '2026-01-31'"
            f" from ({numbers(1, 2000)}) as each_one"
        )

    with (
        Changes(url, seed=7) as changes,
        capturing(database, spool := claimed(tmp_path, database)) as capture,
    ):
        until(lambda: (spool.path / "schema-history.jsonl").exists() or capture.error)
        kill_process()
        until(lambda: spool.position is not None or capture.error)
        for _ in range(_KILLS):
            before = spool.position
            changes.more()
            until(partial(gone_on, capture, spool, before))
            kill_process()
    with capturing(database, spool) as capture:
        capture.reach_end()

    assert rows_of(spool, "customer") == stands(url, "customer", "name")
    found = {
        key: (row["customer_id"], row["amount"]) for key, row in rows_of(spool, "purchase").items()
    }
    assert found == {
        key: (row["customer_id"], row["amount"])
        for key, row in stands(url, "purchase", "customer_id", "amount").items()
    }


def gone_on(capture: Capture, spool: SpoolFolder, before: CapturePosition | None) -> bool:
    """Return whether the log is beyond a position, or the capture has failed."""
    return spool.position != before or capture.error is not None


@OF_MARIADB
def test_a_table_joins_a_spool_while_rows_change_and_is_read_again(
    url: str, tmp_path: Path
) -> None:
    database = database_of(url, "customer")
    both = database_of(url, "customer", "purchase").tables
    with closing(connected(url)) as link:
        link.rows(f"insert into customer select n, 'n' from ({numbers(1, 1000)}) as each_one")
        link.rows(
            f"insert into purchase select n, n, 1, null, null from ({numbers(1, 2000)}) as each_one"
        )
    spool = claimed(tmp_path, database)

    def joined() -> bool:
        return spool.identity is not None and not spool.identity.joining

    with Changes(url, seed=7) as changes, capturing(database, spool) as capture:
        until(lambda: has_read(spool) or capture.error)
        type(spool).claim(spool.path, slot=database.slot, tables=both)
        until(lambda: joined() or capture.error)
        changes.more()
        spool.read_again()
        until(lambda: joined() or capture.error)
        changes.more()
    with capturing(database, spool) as capture:
        capture.reach_end()

    assert rows_of(spool, "customer") == stands(url, "customer", "name")
    assert {key: row["amount"] for key, row in rows_of(spool, "purchase").items()} == {
        key: row["amount"] for key, row in stands(url, "purchase", "amount").items()
    }


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (("drop table customer", CUSTOMER), "dropped"),
        pytest.param(
            ("rename table customer to old", CUSTOMER), "renamed", marks=pytest.mark.exhaustive
        ),
        (
            ("create table new like customer", "rename table customer to old, new to customer"),
            "renamed",
        ),
        pytest.param(
            (CUSTOMER.replace("create", "create or replace"),),
            "replaced",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
@OF_MARIADB
def test_a_table_that_is_no_longer_the_one_that_was_read_ends_the_capture(
    server: Service,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    statements: tuple[str, ...],
    what: str,
) -> None:
    if what == "replaced" and server.name != "mariadb":
        pytest.skip("create or replace table is of MariaDB alone")
    monkeypatch.setattr("joinery.capture.tending._TABLES_S", 0.5)
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with closing(connected(url)) as link:
        with capturing(database, spool) as capture:
            until(lambda: has_read(spool) or capture.error)
            link.rows("drop table purchase")  # It is nobody's.
            capture.reach_end()
        with pytest.raises(CaptureLostError) as lost, capturing(database, spool) as capture:
            alter(link, capture, *statements)
    with pytest.raises(CaptureLostError) as again, capturing(database, spool) as capture:
        until(lambda: capture.error)

    assert (
        message_and_hint(lost.value)
        == message_and_hint(again.value)
        == (
            f"table {database.tables[0]} was {what} while it was being captured",
            "Run joinery source drop, then joinery run --rebuild, which reads the tables again.",
        )
    )


@OF_MARIADB
def test_rows_that_go_with_a_partition_are_warned_of(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.tending._TABLES_S", 0.2)
    database, warned = database_of(url, "customer"), list[RunWarning]()
    spool = claimed(tmp_path, database)
    with closing(connected(url)) as link:
        link.rows(
            "alter table customer partition by range (id)"
            " (partition low values less than (10), partition high values less than maxvalue)"
        )
        with capturing(database, spool, on_warning=warned.append) as capture:
            until(lambda: has_read(spool) or capture.error)
            link.rows("alter table customer truncate partition low")
            until(lambda: warned or capture.error)

    assert [("WARN_TRUNCATED", f"table {database.tables[0]}")] == [
        (each.code, each.about) for each in warned
    ]
    assert "lost rows by truncate partition" in warned[0].message


@OF_MARIADB
def test_rows_that_are_swapped_with_a_partition_are_warned_of_at_both_tables(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.tending._TABLES_S", 0.2)
    database, warned = database_of(url, "customer", "old"), list[RunWarning]()
    with closing(connected(url)) as link:
        link.rows("create table old like customer")
        link.rows(
            "alter table customer partition by range (id)"
            " (partition low values less than (10), partition high values less than maxvalue)"
        )
        spool = claimed(tmp_path, database)
        with capturing(database, spool, on_warning=warned.append) as capture:
            until(lambda: has_read(spool) or capture.error)
            link.rows("alter table customer exchange partition low with table `old`")
            until(lambda: len(warned) >= 2 or capture.error)

    assert [
        (
            f"table {each}",
            f"exchange partition swapped rows of table {each}, and the log does not say which",
        )
        for each in database.tables
    ] == [(each.about, each.message) for each in warned]


@OF_MARIADB
def test_two_captures_that_the_server_takes_for_one_replica_are_told_how_to_differ(
    url: str, tmp_path: Path
) -> None:
    database = database_of(url, "customer")
    first, second = (claimed(tmp_path / each, database) for each in "ab")
    with pytest.raises(CaptureError) as refused, capturing(database, first) as earlier:
        follow_beside(database, second, earlier, first)

    assert message_and_hint(refused.value) == (
        f"another client reads the log of {database.shown} as replica {SERVER_ID}",
        "Give one of them another number, next to url: server_id: N.",
    )


def follow_beside(
    database: MysqlDatabase, spool: SpoolFolder, earlier: Capture, its: SpoolFolder
) -> None:
    """Capture a log that another capture follows, until that one fails."""
    until(lambda: has_read(its) or earlier.error)
    with capturing(database, spool):
        until(lambda: earlier.error)


@OF_MARIADB
def test_a_server_that_goes_is_waited_for(server: Service, url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with capturing(database, spool) as capture:
        until(lambda: has_read(spool) or capture.error)
        server.kill()
        try:
            until(lambda: not capture_runs())
        finally:  # the tests after this one need it
            server.start()
        with closing(connected(url)) as link:
            link.rows("insert into customer values (1, 'Ada')")
        capture.reach_end()

    assert rows_of(spool, "customer") == {1: {"id": 1, "name": "Ada"}}


@OF_MARIADB
def test_a_source_tells_how_it_stands_pauses_and_is_given_up(url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with capturing(database, spool) as capture:
        until(lambda: has_read(spool) or capture.error)
        running = state_of("db", database, spool)
        with pytest.raises(CaptureError, match='"joinery_t" is being captured'):
            drop_source(database, spool)
        spool.pause("ada@home")
        until(lambda: not capture_runs())
        with closing(connected(url)) as link:
            link.rows("insert into customer values (1, 'Ada')")
        paused = state_of("db", database, spool)
        spool.resume()
        capture.reach_end()
    shown = dict(running.rows())

    assert (running.capturing, running.read, paused.paused_by) == (True, True, "ada@home")
    assert (paused.behind_bytes or 0) > 0
    assert shown["capture"].startswith("running, ")
    assert shown["log"].startswith("keeps ")
    assert rows_of(spool, "customer") == {1: {"id": 1, "name": "Ada"}}
    assert drop_source(database, spool) == (str(spool.path),)


@OF_MARIADB
def test_an_idle_log_is_heard_of(url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with capturing(database, spool) as capture:
        until(lambda: has_read(spool) or capture.error)
        since = time.time() * 1000
        until(lambda: capture.error or ((at := spool.position) and at.written_at_ms > since))

    assert changes_of(spool, "customer") == []
