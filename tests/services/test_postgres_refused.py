"""What a capture of PostgreSQL refuses, with the SQL that mends it, and what ends it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, message_and_hint, until
from tests.services.postgres_captured import TABLE, capturing, database, lines

from joinery.capture.gone_columns import TableColumns
from joinery.capture.postgres import prepare, settings
from joinery.capture.spool import CaptureError, CaptureLostError, SpoolFolder
from joinery.dev.postgres import postgres as postgres_service
from joinery.dev.service import Service
from joinery.model.warning import RunWarning

pytestmark = pytest.mark.services
server = postgres_captured.server
link = postgres_captured.link
follower = postgres_captured.follower
spool = postgres_captured.spool


def test_a_server_without_logical_decoding_is_refused(tmp_path: Path, spool: SpoolFolder) -> None:
    settings = {"wal_level": "replica"}
    with (
        postgres_service(tmp_path / "server", settings=settings).started() as server,
        pytest.raises(CaptureError) as refused,
    ):
        prepare(database(server), spool)

    assert message_and_hint(refused.value) == (
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
        found.append(message_and_hint(refused.value))
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

    assert message_and_hint(refused.value) == (
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
        'slot "joinery_t" was dropped, or moved past what was captured: changes are lost',
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

    with pytest.raises(CaptureLostError, match="was dropped, or moved past what was captured"):
        prepare(database(server), spool)


def test_another_database_under_the_same_url_is_refused(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
    spool.note_database("4711", "postgres")

    with pytest.raises(CaptureLostError, match="is not the database whose changes are in"):
        prepare(database(server), spool)


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
    assert message_and_hint(capture.error) == (
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

    assert message_and_hint(refused.value) == (
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
        message_and_hint(capture.error)
        == message_and_hint(again.value)
        == (
            f"table {TABLE} was dropped or renamed",
            "Run joinery source drop, then joinery run --rebuild, which reads the tables again.",
        )
    )
    assert [1] == [each["after"]["id"] for each in lines(spool.path / "files" / TABLE)]
