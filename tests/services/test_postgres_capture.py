"""What a capture refuses, with the SQL that mends it; what it waits for, and what it gives up."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import psycopg
import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.mysql_captured import kill_process
from tests.services.postgres_captured import TABLE, capturing, database, lines

from joinery.capture.capture import Capture
from joinery.capture.gone_columns import TableColumns
from joinery.capture.joining import Joining
from joinery.capture.keep import SpoolKeep
from joinery.capture.postgres import prepare, settings
from joinery.capture.server import ServerAwayError
from joinery.capture.spool import CaptureError, CaptureLostError, SpoolFolder
from joinery.capture.state import drop_source, state_of
from joinery.capture.tending import Tending, TooMuchLogError
from joinery.dev.postgres import postgres as postgres_service
from joinery.dev.service import Service
from joinery.errors import JoineryError
from joinery.model.warning import RunWarning
from joinery.project.postgres import Beyond, WalLimit

pytestmark = pytest.mark.services
server, link, spool = (
    postgres_captured.server,
    postgres_captured.link,
    postgres_captured.spool,
)


@pytest.fixture
def follower(link: Connection) -> Iterator[str]:
    """A user that may replicate, read `customer`, and change no publication."""
    link.execute("create role follower login replication")
    link.execute("grant select on customer to follower")
    link.execute("create publication joinery_t for table customer")
    yield "follower"
    link.execute("drop owned by follower")
    link.execute("drop role follower")


def told(error: JoineryError) -> tuple[str, str]:
    return error.message, error.hint


def test_a_server_without_logical_decoding_is_refused(tmp_path: Path, spool: SpoolFolder) -> None:
    settings = {"wal_level": "replica"}
    with (
        postgres_service(tmp_path / "server", settings=settings).started() as server,
        pytest.raises(CaptureError) as refused,
    ):
        prepare(database(server), spool)

    assert told(refused.value) == (
        "the server's wal_level is replica; changes can be captured only with logical",
        "alter system set wal_level = 'logical'; then restart the server.",
    )


def test_a_heartbeat_logs_a_snapshot_where_the_user_may(
    server: Service, link: Connection, follower: str
) -> None:
    captured = database(server, follower)

    def beats() -> bool:
        with closing(captured.connect()) as its:
            statement = settings(its, captured)["heartbeat.action.query"]
            its.execute(statement.encode())
        return "pg_log_standby_snapshot" in statement

    assert not beats()

    link.execute("grant execute on function pg_log_standby_snapshot() to follower")

    assert beats()


def test_each_lack_is_told_with_the_sql_that_mends_it(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("drop role if exists reader")
    link.execute("create role reader login")
    link.execute("alter table customer drop constraint customer_pkey")
    found = []

    for _ in range(4):
        with pytest.raises(CaptureError) as refused:
            prepare(database(server, "reader"), spool)
        found.append(told(refused.value))
        mend = refused.value.hint.partition("; or: ")[0].replace("(…)", "(id)")
        link.execute(mend.removeprefix("Run as the owner of the tables: ").encode())

    prepare(database(server, "reader"), spool)
    assert found == [
        ("user reader may not replicate", "alter role reader replication;"),
        (
            "table public.customer has no primary key, so its updates and deletes identify no row",
            'alter table "public"."customer" add primary key (…);'
            ' or: alter table "public"."customer" replica identity full',
        ),
        (
            "user reader may not read table public.customer",
            'grant select on "public"."customer" to reader;',
        ),
        (
            'publication "joinery_t" does not exist, and this user may not change that',
            'Run as the owner of the tables: create publication "joinery_t" for table'
            ' "public"."customer" with (publish_via_partition_root = true);',
        ),
    ]
    link.execute("drop owned by reader")


def test_a_table_that_names_no_row_of_its_changes_is_refused(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("alter table customer replica identity nothing")

    with pytest.raises(CaptureError) as refused:
        prepare(database(server), spool)

    assert told(refused.value) == (
        "table public.customer has replica identity nothing: its updates and deletes identify no"
        " row",
        'alter table "public"."customer" replica identity default;',
    )


def test_a_slot_of_somebody_else_is_refused(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("select pg_create_logical_replication_slot('joinery_t', 'pgoutput')")

    with pytest.raises(CaptureError, match='slot "joinery_t" exists already') as refused:
        prepare(database(server), spool)

    assert "select pg_drop_replication_slot('joinery_t');" in refused.value.hint


def test_a_slot_that_goes_under_a_capture_ends_it(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        until(lambda: gone(link))
        until(lambda: capture.error)

    assert isinstance(capture.error, CaptureLostError)
    # It was gone, or had been made anew by the connector just as it began to follow.
    assert capture.error.message in (
        'slot "joinery_t" is gone, and with it changes that were not captured yet',
        'slot "joinery_t" was moved past what was captured: changes are lost',
    )
    assert "joinery run --rebuild" in capture.error.hint


def gone(link: Connection) -> bool:
    link.execute("select pg_terminate_backend(active_pid) from pg_replication_slots where active")
    try:
        link.execute("select pg_drop_replication_slot('joinery_t')")
    except psycopg.errors.ObjectInUse:
        return False
    return True


def test_a_slot_that_was_made_anew_or_moved_on_is_refused(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
    link.execute("insert into customer values (1, 'lost')")
    link.execute("select pg_replication_slot_advance('joinery_t', pg_current_wal_lsn())")

    with pytest.raises(CaptureLostError, match="was moved past what was captured"):
        prepare(database(server), spool)


def test_another_database_under_the_same_url_is_refused(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
    spool.note_database("4711", "postgres")

    with pytest.raises(CaptureLostError, match="is not the database whose changes are in"):
        prepare(database(server), spool)


def test_a_server_that_goes_is_waited_for(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        server.stop()
        with pytest.raises(ServerAwayError):
            prepare(database(server), spool)
        server.start()
        with closing(psycopg.connect(server.address, autocommit=True)) as again:
            again.execute("insert into customer values (1, 'Ada')")
        capture.reach_end()
        files = list((spool.path / "files" / TABLE).glob("*.jsonl"))

    assert capture.error is None
    assert len(files) == 1


def test_a_source_tells_how_it_stands_and_is_given_up(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        state = state_of("t", database(server), spool)
        with pytest.raises(CaptureError, match="is being captured"):
            drop_source(database(server), spool)
    link.execute("drop table customer")
    gone = drop_source(database(server), spool)
    again = drop_source(database(server), spool)
    dropped = state_of("t", database(server), spool)

    assert (state.capturing, state.read, state.wal_status) == (True, True, "reserved")
    assert ("table", f"{TABLE}: read") in state.rows()
    assert gone == ('slot "joinery_t"', 'publication "joinery_t"', str(spool.path))
    assert again == ()
    assert (dropped.capturing, dropped.read, dropped.kept_bytes) == (False, False, None)
    assert ("table", f"{TABLE}: does not exist") in dropped.rows()
    assert not spool.path.exists()
    assert [] == link.execute("select pubname from pg_publication").fetchall()


def test_a_paused_capture_holds_no_slot_and_goes_on_where_it_was(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        paused = [spool.pause("ada@shop"), spool.pause("bob@shop")]
        until(lambda: not spool.held())
        link.execute("insert into customer values (1, 'Ada')")
        with pytest.raises(CaptureError, match='source "t" is paused') as refused:
            capture.reach_end()
        state = state_of("t", database(server), spool)
        resumed = [spool.resume(), spool.resume()]
        capture.reach_end()

    assert (paused, resumed) == ([True, False], [True, False])
    assert refused.value.hint == "Run joinery source resume t."
    assert ("capture", "paused by ada@shop") == (state.rows()[1][0], state.rows()[1][1][:18])
    assert capture.error is None
    assert len(list((spool.path / "files" / TABLE).glob("*.jsonl"))) == 1


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


def test_a_lock_on_a_table_that_is_to_be_published_is_waited_for_and_told(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.postgres._LOCK_TIMEOUT", "set lock_timeout = '0.5s'")
    waited: list[str] = []

    with closing(psycopg.connect(server.address)) as other:
        other.execute("lock table customer")
        with capturing(database(server), spool, waited=waited) as broken_off:
            until(lambda: waited or broken_off.error, 10)
        with capturing(database(server), spool) as capture:
            other.rollback()
            capture.reach_end()

    assert (broken_off.error, capture.error) == (None, None)
    assert "canceling statement due to lock timeout" in waited[0]


def test_a_server_without_a_connection_for_the_log_is_waited_for(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.restarts._VAIN_ENDS", 1)
    waited: list[str] = []
    link.execute("create role lonely login replication connection limit 1")
    link.execute("alter table customer owner to lonely")
    link.execute("grant create on database postgres to lonely")

    with capturing(database(server, "lonely"), spool, waited=waited) as capture:
        until(lambda: "too many connections" in "".join(waited) or capture.error)
        link.execute("alter role lonely connection limit -1")
        until(lambda: waited[-1:] == ["back"] or capture.error)
        capture.reach_end()

    assert capture.error is None
    link.execute("reassign owned by lonely to joinery")
    link.execute("drop owned by lonely")
    link.execute("drop role lonely")


def test_what_becomes_personal_is_not_captured_in_clear(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        SpoolFolder.claim(spool.path, slot="joinery_t", tables=(TABLE,), sealed=(TABLE,))
        until(lambda: capture.error)

    assert capture.error is not None
    assert capture.error.message == (
        f"table {TABLE} has personal columns now, but this capture was started without them"
    )


def test_a_declared_column_that_is_renamed_is_warned_of(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.tending._TABLES_S", 0.2)
    link.execute("insert into customer values (1, 'Ada')")
    warned, columns = list[RunWarning](), {TABLE: ("id", "name"), "public.gone": ("id",)}

    with capturing(database(server), spool, warned=warned, columns=columns) as capture:
        capture.reach_end()
        before = list(warned)
        link.execute("alter table customer rename name to full_name")
        until(lambda: warned or capture.error)

    assert [] == before
    assert ("WARN_COLUMN_GONE", f'column "name" of table {TABLE}') == (
        warned[0].code,
        warned[0].about,
    )
    assert "It has full_name, which no relation declares." in warned[0].detail


def test_a_date_that_a_relation_declares_as_a_moment_is_refused(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("alter table customer add born date, add opens time, add at timestamp")

    with capturing(database(server), spool, moments={TABLE: ("at", "born")}) as capture:
        until(lambda: capture.error)

    assert capture.error is not None
    assert told(capture.error) == (
        f'column "born" of table {TABLE} is of type date, and a relation declares it as timestamp',
        "Declare it as date in the relation; derive can cast it.",
    )
    (found,) = database(server).columns_of((TABLE,)).values()
    assert {"born": "date", "opens": "time without time zone"} == found.no_moments


def test_the_columns_that_the_log_leaves_out_are_told_apart(
    server: Service, link: Connection
) -> None:
    link.execute("alter table customer add length int generated always as (length(name)) stored")

    found = database(server).columns_of((TABLE, "public.nowhere"))

    assert {TABLE: TableColumns(frozenset(("id", "name")), frozenset(("length",)))} == found


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


def joined(spool: SpoolFolder) -> bool:
    return spool.identity is not None and not spool.identity.joining


def until_raised(capture: Capture, limit_s: float = 60) -> None:
    """Ask for the end until that is refused, or it takes too long."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        capture.reach_end(lambda: time.monotonic() >= deadline)


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


@pytest.mark.parametrize("way", ["chunks", "bulk", "connector"])
def test_a_reading_that_would_lack_rows_is_refused(
    server: Service, link: Connection, follower: str, spool: SpoolFolder, way: str
) -> None:
    link.execute("create policy part on customer using (id = 1)")
    link.execute("alter table customer enable row level security")
    link.execute("insert into customer values (1, 'seen'), (2, 'hidden')")
    bulk, once = way == "bulk", way == "connector"

    with (
        capturing(database(server, follower), spool, bulk=bulk, once=once) as capture,
        pytest.raises(CaptureError) as refused,
    ):
        capture.reach_end()

    assert told(refused.value) == (
        f"user follower may not see all rows of table {TABLE}, which has row-level security",
        "alter role follower bypassrls;",
    )


def test_a_table_that_is_dropped_and_made_anew_ends_the_capture(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.tending._TABLES_S", 0.5)
    link.execute("insert into customer values (1, 'old')")

    with capturing(database(server), spool) as capture:
        capture.reach_end()
        link.execute("drop table customer")
        link.execute("create table customer (id bigint primary key, name text)")
        link.execute("insert into customer values (2, 'new')")
        until(lambda: capture.error)
    with pytest.raises(CaptureLostError) as again:
        prepare(database(server), spool)

    assert isinstance(capture.error, CaptureLostError)
    assert (
        told(capture.error)
        == told(again.value)
        == (
            f"table {TABLE} was dropped or renamed",
            "Run joinery source drop, then joinery run --rebuild, which reads the tables again.",
        )
    )
    assert [1] == [each["after"]["id"] for each in lines(spool.path / "files" / TABLE)]


@pytest.mark.parametrize("bulk", [False, True], ids=["connector", "bulk"])
def test_no_record_is_told_twice_where_each_counts(
    server: Service, link: Connection, spool: SpoolFolder, bulk: bool
) -> None:
    link.execute("insert into customer select i, 'n' from generate_series(1, 20000) as i")
    over = threading.Event()

    def insert() -> None:
        with closing(psycopg.connect(server.address, autocommit=True)) as other:
            for key in count(20_001):
                other.execute("insert into customer values (%s, 'n')", (key,))
                if over.is_set():
                    return

    inserts = threading.Thread(target=insert, daemon=True)
    inserts.start()
    with capturing(database(server), spool, bulk=bulk, once=True) as capture:
        capture.reach_end()
        over.set()
        inserts.join()
        capture.reach_end()

    told = [each["after"]["id"] for each in lines(spool.path / "files" / TABLE)]
    assert [*range(1, len(told) + 1)] == sorted(told)
    assert len(told) > 20_000


def test_what_is_left_of_a_reading_that_was_broken_off_is_not_told(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("insert into customer values (1, 'Ada')")
    stale = '{"op": "r", "source": {"lsn": 1}, "after": {"id": 2, "name": "gone"}}\n'
    for each in (".snapshot", ".held", ".rows"):
        file = spool.path / each / TABLE / f"{1:016d}.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text(stale)

    with capturing(database(server), spool) as capture:
        capture.reach_end()

    assert [1] == [each["after"]["id"] for each in lines(spool.path / "files" / TABLE)]


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


def test_what_others_write_moves_the_slot_on_while_the_tables_are_idle(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    confirmed = "select confirmed_flush_lsn from pg_replication_slots where active"
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        link.execute("create table if not exists other as select generate_series(1, 1000)")
        (written,) = link.execute("select pg_current_wal_lsn()").fetchone() or (None,)

        until(lambda: moved(link, confirmed, written))

    assert capture.error is None


def moved(link: Connection, confirmed: str, written: object) -> bool:
    found = link.execute(f"select ({confirmed}) >= %s::pg_lsn".encode(), (written,)).fetchone()
    return bool(found and found[0])


def is_seen(seen: list[tuple[str, str]], tail: Path) -> bool:
    seen.append(in_sight(tail))
    return bool(seen[-1][1])


def test_what_was_in_sight_of_a_capture_that_is_killed_begins_the_complete_file(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    tail, files = spool.path / "tail" / TABLE, spool.path / "files" / TABLE
    seen: list[tuple[str, str]] = []
    with capturing(database(server), spool, followed=True) as capture:
        capture.reach_end()
        link.execute("insert into customer values (1, 'one')")
        until(lambda: is_seen(seen, tail))
        kill_process()
        link.execute("insert into customer values (2, 'two')")
        capture.reach_end()

    (name, text), rows = seen[-1], lines(files)
    assert (files / f"{name[:16]}.jsonl").read_text().startswith(text)
    assert [1, 2] == sorted({each["after"]["id"] for each in rows})
    assert not tail.exists() or [] == [*tail.iterdir()]


def in_sight(tail: Path) -> tuple[str, str]:
    """Return the name and the whole lines of the file that is being written; empty for none."""
    for each in tail.glob("*.jsonl"):
        with suppress(FileNotFoundError):
            if text := each.read_text():
                return each.name, text[: text.rfind("\n") + 1]
    return "", ""


def test_a_line_that_was_broken_off_is_in_no_complete_file(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    tail, files = spool.path / "tail" / TABLE, spool.path / "files" / TABLE
    with capturing(database(server), spool, followed=True) as capture:
        link.execute("insert into customer values (1, 'one')")
        capture.reach_end()
    last = max((int(each.stem) for each in files.glob("*.jsonl")), default=0)
    tail.mkdir(parents=True, exist_ok=True)
    (tail / f"{last + 1:016d}.{last:016d}.jsonl").write_text('{"op": "r"}\n{"op": "')
    (tail / f"{last + 2:016d}.{last + 1:016d}.jsonl").write_bytes(bytes(100))

    with capturing(database(server), spool, followed=True) as capture:
        link.execute("insert into customer values (2, 'two')")
        capture.reach_end()

    assert '{"op": "r"}\n' == (files / f"{last + 1:016d}.jsonl").read_text()
    assert 2 == lines(files)[-1]["after"]["id"]
