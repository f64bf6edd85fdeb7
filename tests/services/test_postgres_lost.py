"""Changes that a server's log no longer tells, since somebody altered what tells them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.postgres_captured import TABLE, capturing, database

from joinery.capture.postgres import PostgresDatabase, prepare
from joinery.capture.spool import CaptureError, CaptureLostError, SpoolFolder
from joinery.dev.service import Service

pytestmark = pytest.mark.services
server, link, spool = (
    postgres_captured.server,
    postgres_captured.link,
    postgres_captured.spool,
)
_ANEW = "create publication joinery_t for table customer"
_WITHOUT = (
    ("drop table customer", "add table customer"),
    ("set (publish = 'insert, update')", "set (publish = 'insert, update, delete')"),
    ("set table customer where (id > 1)", "set table customer"),
    ("set table customer (id)", "set table customer"),
)
_AGAIN = (
    'alter publication "joinery_t" drop table "public"."customer";'
    ' alter publication "joinery_t" add table "public"."customer";'
)
_LEFT_OUT = f'publication "joinery_t" left out changes of table {TABLE}'


@pytest.mark.parametrize(
    ("alters", "mends"),
    [
        *([f"alter publication joinery_t {sql}" for sql in each] for each in _WITHOUT),
        ("drop publication joinery_t", _ANEW),
    ],
    ids=["table", "kind", "rows", "columns", "all"],
)
def test_a_publication_that_leaves_out_changes_ends_the_capture_for_good(
    server: Service,
    link: Connection,
    spool: SpoolFolder,
    monkeypatch: pytest.MonkeyPatch,
    alters: str,
    mends: str,
) -> None:
    monkeypatch.setattr("joinery.capture.tending._TABLES_S", 0.5)
    link.execute("insert into customer values (1, 'goes')")

    with capturing(database(server), spool) as capture:
        capture.reach_end()
        until(lambda: TABLE in spool.published)
        link.execute(alters.encode())
        link.execute("delete from customer")
        until(lambda: capture.error)
    link.execute(mends.encode())
    with pytest.raises(CaptureLostError) as again:
        prepare(database(server), spool)

    assert isinstance(capture.error, CaptureLostError)
    assert capture.error.message == again.value.message == _LEFT_OUT
    assert "joinery run --rebuild" in capture.error.hint


def test_a_publication_that_lost_a_table_while_nobody_captured_is_refused(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        until(lambda: TABLE in spool.published)
    link.execute("alter publication joinery_t drop table customer")
    link.execute("insert into customer values (1, 'lost')")

    for _ in range(2):
        with pytest.raises(CaptureLostError, match=_LEFT_OUT):
            prepare(database(server), spool)
        link.execute("drop publication joinery_t")
        link.execute(_ANEW)


@pytest.mark.parametrize(
    ("made", "mends"),
    [
        (
            "for table customer with (publish = 'insert')",
            "alter publication \"joinery_t\" set (publish = 'insert, update, delete, truncate',"
            " publish_via_partition_root = true);",
        ),
        (
            "for table customer where (id > 1)",
            _AGAIN,
        ),
        ("for table customer (id)", _AGAIN),
    ],
    ids=["kinds", "rows", "columns"],
)
def test_a_publication_that_tells_too_little_is_refused_with_the_sql_that_mends_it(
    server: Service, link: Connection, spool: SpoolFolder, made: str, mends: str
) -> None:
    link.execute(f"create publication joinery_t {made}".encode())

    with pytest.raises(CaptureError) as refused:
        prepare(database(server), spool)
    for each in mends.split(";")[:-1]:
        link.execute(each.encode())
    prepare(database(server), spool)

    assert (refused.value.message, refused.value.hint) == (
        f'publication "joinery_t" leaves out changes of table {TABLE}',
        mends,
    )


def test_a_publication_that_tells_of_no_truncate_will_do(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute(f"{_ANEW} with (publish = 'insert, update, delete')".encode())

    with capturing(database(server), spool) as capture:
        capture.reach_end()
        until(lambda: TABLE in spool.published)
    prepare(database(server), spool)

    assert capture.error is None


@pytest.fixture
def kept(link: Connection) -> Iterator[str]:
    """A second table."""
    link.execute("drop table if exists kept")
    link.execute("create table kept (id bigint primary key, name text)")
    yield "public.kept"
    link.execute("drop table if exists kept")


@pytest.fixture
def captured(server: Service, spool: SpoolFolder, kept: str) -> PostgresDatabase:
    """The database of two tables whose changes were captured."""
    both = (TABLE, kept)
    SpoolFolder.claim(spool.path, slot="joinery_t", tables=both)
    made = replace(database(server), tables=both)
    with capturing(made, spool) as capture:
        capture.reach_end()
        until(lambda: {*both} <= {*spool.table_oids} & {*spool.published})
    return made


def lost(database: PostgresDatabase, spool: SpoolFolder) -> str:
    """Return why a capture does not go on."""
    with pytest.raises(CaptureLostError) as refused:
        prepare(database, spool)
    return refused.value.message


def test_a_table_that_was_dropped_ends_a_capture_only_while_a_relation_reads_it(
    captured: PostgresDatabase, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("drop table customer")

    prepared = prepare(replace(captured, unused=frozenset({TABLE})), spool)

    assert TABLE not in prepared.settings["table.include.list"].replace("\\", "")
    assert lost(captured, spool) == f"table {TABLE} was dropped or renamed"


def test_a_table_that_is_swapped_and_swapped_back_is_lost_for_good(
    captured: PostgresDatabase, link: Connection, spool: SpoolFolder
) -> None:
    def swap() -> None:
        link.execute("alter table customer rename to away")
        link.execute("alter table kept rename to customer")
        link.execute("alter table away rename to kept")

    swap()
    first = lost(captured, spool)
    swap()

    assert first == lost(captured, spool) == f"table {TABLE} was dropped or renamed"


def test_each_table_that_a_publication_left_out_is_lost_for_good_also_one_that_none_reads(
    captured: PostgresDatabase, link: Connection, spool: SpoolFolder, kept: str
) -> None:
    link.execute("alter publication joinery_t set (publish = 'insert')")
    first = lost(replace(captured, unused=frozenset({kept})), spool)
    link.execute("alter publication joinery_t set (publish = 'insert, update, delete')")

    assert first == _LEFT_OUT
    for unused, table in ((kept, TABLE), (TABLE, kept)):
        assert lost(replace(captured, unused=frozenset({unused})), spool).endswith(
            f" table {table}"
        )


def test_a_spool_of_before_publications_were_noted_goes_on_with_whole_ones_only(
    captured: PostgresDatabase, link: Connection, spool: SpoolFolder
) -> None:
    notes = spool.path / "published.json"
    notes.unlink()
    prepare(captured, spool)
    notes.unlink()
    link.execute("alter publication joinery_t drop table customer")

    assert lost(captured, spool) == _LEFT_OUT


def test_a_table_that_is_added_to_a_publication_that_tells_too_little_is_refused(
    server: Service, link: Connection, spool: SpoolFolder, kept: str
) -> None:
    link.execute("create publication joinery_t for table kept with (publish = 'insert')")

    with pytest.raises(CaptureError, match=f"leaves out changes of table {TABLE}"):
        prepare(database(server), spool)


def test_a_publication_may_leave_out_columns_that_no_relation_reads(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("create publication joinery_t for table customer (id)")

    prepare(replace(database(server), columns={TABLE: {"id"}}), spool)
    with pytest.raises(CaptureError, match=f"leaves out changes of table {TABLE}"):
        prepare(replace(database(server), columns={TABLE: {"id", "name"}}), spool)


def test_a_publication_of_all_tables_has_each(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("create publication joinery_t for all tables")

    with capturing(database(server), spool) as capture:
        capture.reach_end()
        until(lambda: TABLE in spool.published)

    assert capture.error is None


def test_a_table_that_is_renamed_ends_the_capture_though_it_gets_its_name_back(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.tending._TABLES_S", 0.5)
    columns = {TABLE: ("id", "name")}

    with capturing(database(server), spool, columns=columns) as capture:
        capture.reach_end()
        until(lambda: TABLE in spool.table_oids)
        link.execute("alter table customer rename to away")
        link.execute("insert into away values (1, 'lost')")
        until(lambda: capture.error)
    found = [capture.error]
    for _ in range(2):
        with pytest.raises(CaptureLostError) as refused:
            prepare(database(server), spool)
        found.append(refused.value)
        link.execute("alter table if exists away rename to customer")

    assert {f"table {TABLE} was dropped or renamed"} == {each.message for each in found if each}


def test_a_table_whose_changes_were_left_out_while_it_is_read_is_read_from_the_start(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("drop table if exists purchase")
    link.execute("create table purchase (id bigint primary key)")
    both = (TABLE, "public.purchase")
    with capturing(database(server), spool) as capture:
        capture.reach_end()
    SpoolFolder.claim(spool.path, slot="joinery_t", tables=both)
    captured = replace(database(server), tables=both)
    prepare(captured, spool)
    rows = spool.rows("public.purchase")
    rows.mkdir(parents=True)
    before = spool.published["public.purchase"]

    prepare(captured, spool)
    kept = rows.is_dir()
    link.execute("alter publication joinery_t drop table purchase")
    prepare(captured, spool)

    assert kept
    assert not rows.is_dir()
    assert spool.published["public.purchase"] > before
    link.execute("drop table purchase")
