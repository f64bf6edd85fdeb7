"""Tables of PostgreSQL that join a capture, and one that cannot be read holds up no other."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.postgres_captured import TABLE, capturing, database, joined, lines, until_raised

from joinery.capture.joining import Joining
from joinery.capture.keep import SpoolKeep
from joinery.capture.postgres import prepare
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.state import state_of
from joinery.dev.service import Service
from joinery.model.warning import RunWarning

pytestmark = pytest.mark.services
server = postgres_captured.server
link = postgres_captured.link
follower = postgres_captured.follower
spool = postgres_captured.spool


def test_a_reading_beside_the_log_waits_for_what_began_before_its_place(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    prepared = prepare(database(server), spool)
    spool.note_begun()
    spool.read_again()
    (spool.path / "position.json").write_text('{"lsn": 1, "written_at_ms": 1, "file": 0}')
    asked: list[str] = []
    joining = Joining(database(server), spool, prepared, ask=asked.append)

    with psycopg.connect(server.address) as before, psycopg.connect(server.address) as after:
        before.execute("insert into customer values (1, 'before')")
        joining.look()
        after.execute("insert into customer values (2, 'after')")
        (written,) = after.execute("select pg_current_wal_insert_lsn() - '0/0'").fetchone() or (0,)
        joining.look()
        waiting = list(asked)
        before.commit()
        joining.look()
    (request,) = map(json.loads, asked)
    (row,) = lines(Path(request["rows"]))
    joining.answered("placed")
    joining.look()

    assert waiting == []
    assert row["after"] == {"id": 1, "name": "before"}
    assert row["source"]["lsn"] < written
    assert SpoolKeep(spool).whole
    assert spool.identity is not None
    assert spool.identity.joining == ()


def test_a_table_that_cannot_join_holds_up_no_other(
    server: Service, link: Connection, follower: str, spool: SpoolFolder
) -> None:
    link.execute("drop table if exists purchase")
    link.execute("create table purchase (id bigint primary key, name text)")
    link.execute("insert into purchase values (1, 'before'), (2, 'goes')")
    warned: list[RunWarning] = []
    told: list[str] = []

    with capturing(database(server, follower), spool, warned=warned) as capture:
        capture.reach_end()
        both = (TABLE, "public.purchase")
        SpoolFolder.claim(spool.path, slot="joinery_t", tables=both)
        for mend in (
            "grant select on purchase to follower",
            "alter publication joinery_t add table purchase",
        ):
            until(lambda: len({each.message for each in warned}) > len(told))
            told.append(warned[-1].message)
            state = state_of("t", replace(database(server), tables=both), spool)
            reason = state.rows()[-1]
            assert ("table", "public.purchase: not read yet: ") == (reason[0], reason[1][:31])
            with pytest.raises(CaptureError, match="may not"):
                until_raised(capture)
            link.execute(f"insert into customer values ({len(told)}, 'goes on')".encode())
            until(lambda: len(lines(spool.path / "files" / TABLE)) == len(told))
            link.execute("delete from purchase where id = 2")
            link.execute(mend.encode())
        until(lambda: joined(spool))
        link.execute("insert into purchase values (3, 'after')")
        capture.reach_end()
        rows = lines(spool.path / "files" / "public.purchase")

    assert capture.error is None
    assert told == [
        "table public.purchase is not read yet: user follower may not read table public.purchase",
        'table public.purchase is not read yet: publication "joinery_t" lacks table'
        " public.purchase, and this user may not change that",
    ]
    assert [(1, "before"), (3, "after")] == [(e["after"]["id"], e["after"]["name"]) for e in rows]
    link.execute("drop table purchase")


@pytest.mark.parametrize(
    ("hinders", "mends"),
    [
        ("alter table purchase set unlogged", "alter table purchase set logged"),
        ("begin; lock table purchase", "commit"),
    ],
    ids=["unlogged", "locked"],
)
def test_a_server_that_refuses_a_table_holds_up_no_other(
    server: Service, link: Connection, spool: SpoolFolder, hinders: str, mends: str
) -> None:
    link.execute("drop table if exists purchase")
    link.execute("create table purchase (id bigint primary key)")
    warned: list[RunWarning] = []

    with (
        capturing(database(server), spool, warned=warned) as capture,
        closing(psycopg.connect(server.address, autocommit=True)) as other,
    ):
        capture.reach_end()
        other.execute(hinders.encode())
        SpoolFolder.claim(spool.path, slot="joinery_t", tables=(TABLE, "public.purchase"))
        until(lambda: warned or capture.error)
        link.execute("insert into customer values (1, 'goes on')")
        until(lambda: lines(spool.path / "files" / TABLE) or capture.error)
        other.execute(mends.encode())
        until(lambda: joined(spool) or capture.error)

    assert capture.error is None
    assert "table public.purchase is not read yet" in warned[0].message
    link.execute("drop table purchase")


def test_a_table_is_not_read_before_it_is_followed(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    prepared = prepare(database(server), spool)
    spool.note_begun()
    (spool.path / "position.json").write_text('{"lsn": 1, "written_at_ms": 1, "file": 0}')
    link.execute("create table purchase (id bigint primary key)")
    SpoolFolder.claim(spool.path, slot="joinery_t", tables=(TABLE, "public.purchase"))
    asked: list[str] = []

    Joining(database(server), spool, prepared, ask=asked.append).look()

    assert (asked, spool.rows("public.purchase").exists()) == ([], False)
    link.execute("drop table purchase")


def test_a_reading_without_a_connection_holds_up_no_log(
    server: Service, link: Connection, follower: str, spool: SpoolFolder
) -> None:
    link.execute("insert into customer values (1, 'Ada')")
    warned: list[RunWarning] = []

    with capturing(database(server, follower), spool, warned=warned) as capture:
        capture.reach_end()
        link.execute("alter role follower connection limit 0")
        spool.read_again()
        until(lambda: "too many connections" in spool.unreadable.get(TABLE, ""))
        with pytest.raises(CaptureError, match="too many connections"):
            until_raised(capture)
        link.execute("insert into customer values (2, 'Bob')")
        until(lambda: len(lines(spool.path / "files" / TABLE)) == 2)
        joining = not joined(spool)
        link.execute("alter role follower connection limit -1")
        until(lambda: joined(spool))
        rows = lines(spool.path / "files" / TABLE)

    assert joining
    assert capture.error is None
    assert ["WARN_UNREAD"] == [each.code for each in warned]
    assert spool.unreadable == {}
    assert [1, 2, 1, 2] == [each["after"]["id"] for each in rows]


def test_a_reading_by_a_connector_that_fails_is_made_again(
    server: Service, link: Connection, follower: str, spool: SpoolFolder
) -> None:
    link.execute("alter table customer add wait interval")  # A value that only a connector tells.
    link.execute("create policy part on customer using (id = 1)")
    link.execute("insert into customer values (1, 'Ada', '1 hour')")

    with capturing(database(server, follower), spool) as capture:
        capture.reach_end()
        with psycopg.connect(server.address) as open_one:
            open_one.execute("select pg_current_xact_id()")  # The reading waits for its end.
            spool.read_again()
            until((spool.rows(TABLE) / "progress.json").exists)
            link.execute("alter table customer enable row level security")
        until(lambda: "row-level security" in spool.unreadable.get(TABLE, ""))
        link.execute("insert into customer values (2, 'Bob', '2 hours')")
        until(lambda: len(lines(spool.path / "files" / TABLE)) == 2)
        link.execute("alter table customer disable row level security")
        until(lambda: joined(spool))
        rows = lines(spool.path / "files" / TABLE)

    assert capture.error is None
    assert ["r", "c", "r", "r"] == [each["op"] for each in rows]
    assert [1, 2, 1, 2] == [each["after"]["id"] for each in rows]


def test_changes_of_a_table_that_joins_follow_its_rows(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("drop table if exists paper")
    link.execute("create table paper (id bigint primary key, text text, title text)")
    link.execute("alter table paper alter text set storage external")
    link.execute("insert into paper values (1, repeat('long', 9999), 'old')")
    paper = spool.path / "files" / "public.paper"

    with capturing(database(server), spool) as capture:
        capture.reach_end()
        with psycopg.connect(server.address) as open_one:
            open_one.execute("select pg_current_xact_id()")
            SpoolFolder.claim(spool.path, slot="joinery_t", tables=(TABLE, "public.paper"))
            until(lambda: list(spool.path.glob(".rows/public.paper/*")))
            link.execute("update paper set title = 'new' where id = 1")
            until(lambda: list(spool.path.glob(".held/public.paper/*.jsonl")))
            seen = list(paper.glob("*"))
        until(lambda: joined(spool))
        rows = lines(paper)

    assert seen == []
    assert ["r", "u"] == [each["op"] for each in rows]
    assert ["new", "new"] == [each["after"]["title"] for each in rows]
    assert [39_996, 28] == [len(each["after"]["text"]) for each in rows]
    assert rows[0]["source"]["lsn"] < rows[1]["source"]["lsn"]
    assert capture.error is None
    link.execute("drop table paper")
