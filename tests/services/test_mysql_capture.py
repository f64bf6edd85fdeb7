"""The log of MySQL and MariaDB, captured: what is refused, what is waited for, what is kept."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest
from tests.services.captured import until
from tests.services.mysql_captured import (
    CUSTOMER,
    PURCHASE,
    SERVER_ID,
    Changes,
    as_user,
    capture_runs,
    capturing,
    changes_of,
    claimed,
    connected,
    database_of,
    kill_process,
    new_database,
    numbers,
    rows_of,
    stands,
)
from tests.services.mysql_server import started_server

from joinery.capture.capture import Capture
from joinery.capture.gone_columns import TableColumns
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import CaptureError, CaptureLostError, CapturePosition, SpoolFolder
from joinery.capture.state import drop_source, state_of
from joinery.clients.mysql import MysqlError, MysqlLink
from joinery.dev.mariadb import MariadbRecipe
from joinery.dev.service import Service
from joinery.errors import JoineryError
from joinery.model.warning import RunWarning

pytestmark = pytest.mark.services
_KILLS = 2
_ALL = ("mariadb", "mysql-8.4", "mysql-8.0")


def _of(chosen: str) -> pytest.MarkDecorator:
    """Have a test take one server; `make exhaustive` has it with the others."""
    others = (pytest.param(each, marks=pytest.mark.exhaustive) for each in _ALL if each != chosen)
    return pytest.mark.parametrize("server", [chosen, *others], indirect=True, scope="module")


# What goes on after a kill, joins tables, waits and pauses is ours, whichever connector reads the
# log: of each, one server has it in `make test`, and both have been killed.
OF_MARIADB, OF_MYSQL = _of("mariadb"), _of("mysql-8.4")


@pytest.fixture(
    scope="module",
    params=["mariadb", "mysql-8.4", pytest.param("mysql-8.0", marks=pytest.mark.exhaustive)],
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A server of the module's own, with a binary log of rows."""
    with started_server(request.param, tmp_path_factory.mktemp(request.param)) as service:
        yield service


@pytest.fixture
def url(server: Service) -> Iterator[str]:
    """The URL of a database of the test's own, with two tables."""
    with new_database(server.address, CUSTOMER, PURCHASE) as url:
        yield url


def told(error: JoineryError) -> tuple[str, str]:
    return error.message, error.hint


def test_a_server_without_a_binary_log_is_refused(tmp_path: Path) -> None:
    with (
        Service(MariadbRecipe(settings={"skip-log-bin": "1"}), tmp_path / "s").started() as server,
        new_database(server.address, CUSTOMER) as url,
    ):
        database = database_of(url, "customer")
        with pytest.raises(CaptureError) as refused:
            database.prepare(claimed(tmp_path, database))

    assert told(refused.value) == (
        "the server writes no binary log, so changes cannot be captured",
        "Write log_bin = binlog under [mysqld] in its configuration, then restart it.",
    )


def test_a_log_that_lacks_parts_of_rows_is_refused_with_the_sql_that_mends_it(
    server: Service, url: str, tmp_path: Path
) -> None:
    database = database_of(url, "customer")
    packed = "log_bin_compress" if server.name == "mariadb" else "binlog_row_value_options"
    value = "ON" if server.name == "mariadb" else "'PARTIAL_JSON'"
    found = []
    with closing(connected(url)) as link:
        link.rows("set global binlog_format = 'MIXED'")
        link.rows("set global binlog_row_image = 'MINIMAL'")
        link.rows(f"set global {packed} = {value}")

        for _ in range(3):
            with pytest.raises(CaptureError) as refused:
                database.prepare(claimed(tmp_path, database))
            found.append(refused.value.hint)
            link.rows(refused.value.hint)

    database.prepare(claimed(tmp_path, database))
    assert found == [
        "set global binlog_format = 'ROW';",
        "set global binlog_row_image = 'FULL';",
        f"set global {packed} = {'OFF' if server.name == 'mariadb' else chr(39) * 2};",
    ]


def test_each_right_that_a_user_lacks_is_told_with_the_sql_that_grants_it(
    server: Service, url: str, tmp_path: Path
) -> None:
    database, found = database_of(url, "customer"), []
    table = f"`{database.tables[0].replace('.', '`.`')}`"
    name = database.tables[0].partition(".")[0]
    with closing(connected(url)) as link:
        link.rows("drop user if exists 'reader'@'%'")
        link.rows("create user 'reader'@'%' identified by 'engine'")
        link.rows(f"create table {name}.own (id int primary key)")
        link.rows(f"grant select on {name}.own to 'reader'@'%'")

        for _ in range(4):
            with pytest.raises(CaptureError) as refused:
                as_user(database, "reader").prepare(claimed(tmp_path, database))
            found.append(told(refused.value))
            link.rows(refused.value.hint.rpartition("Or: ")[2])

    as_user(database, "reader").prepare(claimed(tmp_path, database))
    assert [
        ("user 'reader'@'%' lacks the privilege REPLICATION SLAVE", "replication slave on *.*"),
        ("user 'reader'@'%' lacks the privilege REPLICATION CLIENT", "replication client on *.*"),
        ("user 'reader'@'%' lacks the privilege RELOAD", "reload on *.*"),
        (
            f"the database {database.shown} has no table {name}.customer that its user may read",
            table,
        ),
    ] == [
        (message, hint.partition("grant ")[2].replace("select on ", "").partition(" to ")[0])
        for message, hint in found
    ]


@pytest.mark.parametrize(
    ("statement", "message", "hint"),
    [
        (
            "alter table customer drop primary key",
            "table {db}.customer has no primary key, so its rows have no identity",
            "alter table `{db}`.`customer` add primary key (…);",
        ),
        (
            "alter table customer engine = MyISAM",
            "table {db}.customer uses MyISAM, which cannot be read as of a position in the log",
            "alter table `{db}`.`customer` engine = InnoDB;",
        ),
        (
            "alter table customer add constraint owner foreign key (id) references purchase (id)"
            " on delete cascade",
            "foreign key owner of table {db}.customer has on delete cascade, and the server does"
            " not log what that changes",
            "alter table `{db}`.`customer` drop foreign key `owner`; then add it again with on"
            " delete restrict.",
        ),
        (
            "alter table customer add seen inet6",
            "column seen of table {db}.customer is inet6, which the connector does not read from"
            " the log",
            "alter table `{db}`.`customer` modify `seen` varchar(45);",
        ),
        (
            "alter table customer add text text compressed",
            "column text of table {db}.customer is compressed, which the connector does not read"
            " from the log",
            "alter table `{db}`.`customer` modify `text` … without compressed;",
        ),
    ],
)
def test_a_table_whose_changes_are_not_all_told_is_refused(
    server: Service, url: str, tmp_path: Path, statement: str, message: str, hint: str
) -> None:
    database = database_of(url, "customer")
    name = database.tables[0].partition(".")[0]
    if server.name != "mariadb" and ("inet6" in statement or "compressed" in statement):
        pytest.skip("MySQL has no such columns")
    with closing(connected(url)) as link:
        link.rows(statement)

    with pytest.raises(CaptureError) as refused:
        database.prepare(claimed(tmp_path, database))

    assert told(refused.value) == (message.format(db=name), hint.format(db=name))


def test_values_are_the_same_from_the_table_and_from_the_log(url: str, tmp_path: Path) -> None:
    columns = (
        "id bigint primary key, u bigint unsigned, d decimal(20,4), dt datetime(3),"
        " ts timestamp(6) null, day date, t time(2), e enum('a','b,c'), s set('x','y'), b1 bit(1),"
        " b bit(12), j json, y year, bin varbinary(4), f float, g double, ti tinyint(1),"
        " zero datetime, strict date not null, never timestamp null, old date,"
        " mu mediumint unsigned,"
        " twice bigint as (u div 2) virtual, kept int as (y + 1) stored"
    )
    values = (
        "18446744073709551615, 1234567890123456.7890, '2026-01-31 12:00:00.123',"
        " '2026-01-31 12:00:00.123456', '2026-01-31', '-12:00:01.5', 'b,c', 'x,y', b'1',"
        " b'101010101010', '{\"a\": [1, \"é\"]}', 2026, x'00ff', 1.5, 2.25, 1,"
        " '0000-00-00', '0000-00-00', '0000-00-00', '0012-01-01', 16777215, default, default"
    )
    with closing(connected(url)) as link:
        link.rows("set sql_mode = '', time_zone = '+00:00'")
        link.rows(f"create table kinds ({columns})")
        link.rows(f"insert into kinds values (1, {values})")
        database = database_of(url, "kinds")
        with capturing(database, spool := claimed(tmp_path, database)) as capture:
            until(lambda: spool.position is not None or capture.error)
            link.rows(f"insert into kinds values (2, {values})")
            capture.reach_end()

    rows = {each["op"]: each["after"] for each in changes_of(spool, "kinds")}
    rows = {op: {**row, "id": 0, "j": json.loads(row["j"])} for op, row in rows.items()}
    assert rows["r"] == {
        "id": 0,
        "u": 18446744073709551615,
        "d": "1234567890123456.7890",
        "dt": 1769860800123000,
        "ts": "2026-01-31T12:00:00.123456Z",
        "day": 20484,
        "t": -43201500000,
        "e": "b,c",
        "s": "x,y",
        "b1": True,
        "b": "qgo=",
        "j": {"a": [1, "é"]},
        "y": 2026,
        "bin": "AP8=",
        "f": 1.5,
        "g": 2.25,
        "ti": 1,
        "zero": None,
        "strict": 0,
        "never": None,
        "old": -715145,
        "mu": 16777215,
        "twice": 9223372036854775807,
        "kept": 2027,
    }
    assert rows["c"] == rows["r"]


def test_rows_of_one_transaction_are_told_in_their_order_after_what_was_read(
    url: str, tmp_path: Path
) -> None:
    database = database_of(url, "customer")
    with closing(connected(url)) as link:
        link.rows("insert into customer values (1, 'read')")
        with capturing(database, spool := claimed(tmp_path, database)) as capture:
            until(lambda: spool.position is not None or capture.error)
            link.rows("begin")
            link.rows("update customer set name = 'first' where id = 1")
            link.rows("update customer set name = 'second' where id = 1")
            link.rows("update customer set id = 2 where id = 1")
            link.rows("insert into customer values (1, 'third'), (3, 'three')")
            link.rows("delete from customer where id = 3")
            link.rows("commit")
            link.rows("flush binary logs")
            link.rows("update customer set name = 'last' where id = 2")
            capture.reach_end()

    changes = changes_of(spool, "customer")
    places = [each["source"]["lsn"] for each in changes]
    assert [each["op"] for each in changes] == [*"ruudcccdu"]
    assert places == sorted(set(places))
    assert rows_of(spool, "customer") == {
        1: {"id": 1, "name": "third"},
        2: {"id": 2, "name": "last"},
    }


@OF_MYSQL
def test_columns_come_and_go_also_while_the_process_is_killed(url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with closing(connected(url)) as link, capturing(database, spool) as capture:
        until(lambda: spool.position is not None or capture.error)
        link.rows("insert into customer values (1, 'Ada')")
        for number, statement, row in (
            (2, "alter table customer add column town text", "'Bob', 'Bonn'"),
            (3, "alter table customer change town city text", "'Cy', 'Rome'"),
            (4, "alter table customer drop column name", "'Oslo'"),
            (5, "truncate table customer", "'Kyiv'"),
            (6, "alter table customer add column zip int", "'Bern', 3000"),
            (7, "alter table customer drop column zip", "'Lima'"),
        ):
            link.rows(statement)
            capture.reach_end()
            kill_process()
            link.rows(f"insert into customer values ({number}, {row})")
            capture.reach_end()

    changes = changes_of(spool, "customer")
    inserted = [each for each in changes if each["op"] == "c"]
    # What is read again from the beginning of a transaction is told once.
    assert [each["op"] for each in changes] == [*"cccctccc"]
    assert {each["after"]["id"]: each["after"] for each in inserted} == {
        1: {"id": 1, "name": "Ada"},
        2: {"id": 2, "name": "Bob", "town": "Bonn"},
        3: {"id": 3, "name": "Cy", "city": "Rome"},
        4: {"id": 4, "city": "Oslo"},
        5: {"id": 5, "city": "Kyiv"},
        6: {"id": 6, "city": "Bern", "zip": 3000},
        7: {"id": 7, "city": "Lima"},
    }
    assert rows_of(spool, "customer") == {
        5: {"id": 5, "city": "Kyiv"},
        6: {"id": 6, "city": "Bern", "zip": 3000},
        7: {"id": 7, "city": "Lima"},
    }


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
        until(lambda: spool.position is not None or capture.error)
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


def alter(link: MysqlLink, capture: Capture, *statements: str) -> None:
    """Alter tables under a capture, and wait until it gives up."""
    until(capture_runs)
    for each in statements:
        link.rows(each)
    until(lambda: capture.error)


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
            until(lambda: spool.position is not None or capture.error)
            link.rows("drop table purchase")  # It is nobody's.
            capture.reach_end()
        with pytest.raises(CaptureLostError) as lost, capturing(database, spool) as capture:
            alter(link, capture, *statements)
    with pytest.raises(CaptureLostError) as again, capturing(database, spool) as capture:
        until(lambda: capture.error)

    assert (
        told(lost.value)
        == told(again.value)
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
            until(lambda: spool.position is not None or capture.error)
            link.rows("alter table customer truncate partition low")
            until(lambda: warned or capture.error)

    assert [("WARN_TRUNCATED", f"table {database.tables[0]}")] == [
        (each.code, each.about) for each in warned
    ]
    assert "lost rows by truncate partition" in warned[0].message


def test_the_columns_of_tables_that_are_there_are_told(url: str) -> None:
    database = database_of(url, "customer", "nowhere")
    customer, _ = database.tables
    with closing(connected(url)) as link:
        link.rows("alter table customer rename column name to full_name")
        link.rows("alter table customer add born date, add at datetime")

    columns = frozenset(("id", "full_name", "born", "at"))
    assert {customer: TableColumns(columns, no_moments={"born": "date"})} == database.columns_of(
        database.tables
    )


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
            until(lambda: spool.position is not None or capture.error)
            link.rows("alter table customer exchange partition low with table `old`")
            until(lambda: warned or capture.error)

    assert [
        (
            f"table {each}",
            f"exchange partition swapped rows of table {each}, and the log does not say which",
        )
        for each in database.tables
    ] == [(each.about, each.message) for each in warned]


def test_statements_that_nobody_understands_matter_for_captured_tables_alone(
    server: Service, url: str, tmp_path: Path
) -> None:
    if server.name != "mariadb":
        pytest.skip("the connector for MySQL understands what its server can have")
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with closing(connected(url)) as link:
        link.rows("create table visit (id inet6 primary key, who bigint references customer (id))")
        with capturing(database, spool) as capture:
            until(lambda: spool.position is not None or capture.error)
            link.rows(
                "create table shown (id inet6 primary key, who bigint references customer (id))"
            )
            link.rows("alter table shown add other inet6")
            link.rows("insert into customer values (1, 'Ada')")
            capture.reach_end()
            link.rows("insert into customer values (2, 'Bob')")
            capture.reach_end()
        with pytest.raises(CaptureLostError) as refused, capturing(database, spool) as capture:
            alter(
                link,
                capture,
                "alter table customer add seen inet6 first, drop name",
                "alter table customer drop seen, add name text",
                "insert into customer values (3, 'Cy')",
            )

    assert [1, 2] == sorted(rows_of(spool, "customer"))
    assert told(refused.value) == (
        "a statement that changes a captured table is not understood:"
        " alter table customer add seen inet6 first, drop name",
        "Run joinery source drop, then joinery run --rebuild, which reads the tables again.",
    )


@OF_MARIADB
def test_two_captures_that_the_server_takes_for_one_replica_are_told_how_to_differ(
    url: str, tmp_path: Path
) -> None:
    database = database_of(url, "customer")
    first, second = (claimed(tmp_path / each, database) for each in "ab")
    with pytest.raises(CaptureError) as refused, capturing(database, first) as earlier:
        follow_beside(database, second, earlier, first)

    assert told(refused.value) == (
        f"another client reads the log of {database.shown} as replica {SERVER_ID}",
        "Give one of them another number, next to url: server_id: N.",
    )


def follow_beside(
    database: MysqlDatabase, spool: SpoolFolder, earlier: Capture, its: SpoolFolder
) -> None:
    """Capture a log that another capture follows, until that one fails."""
    until(lambda: its.position is not None or earlier.error)
    with capturing(database, spool):
        until(lambda: earlier.error)


@OF_MARIADB
def test_a_server_that_goes_is_waited_for(server: Service, url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with capturing(database, spool) as capture:
        until(lambda: spool.position is not None or capture.error)
        server.kill()
        try:
            until(lambda: not capture_runs())
        finally:  # the tests after this one need it
            server.start()
        with closing(connected(url)) as link:
            link.rows("insert into customer values (1, 'Ada')")
        capture.reach_end()

    assert rows_of(spool, "customer") == {1: {"id": 1, "name": "Ada"}}


def test_a_log_that_was_purged_or_begun_anew_is_refused(url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with capturing(database, spool) as capture:
        until(lambda: spool.position is not None or capture.error)

    with closing(connected(url)) as link:
        link.rows("flush binary logs")
        last = link.rows("show binary logs")[-1][0]

        def purged() -> bool:
            """Ask again while the server keeps a file for the capture that has just ended."""
            link.rows(f"purge binary logs to '{last}'")
            return bool(link.rows("show binary logs")[0][0] == last)

        until(purged)
        with pytest.raises(CaptureLostError, match="has purged a log file that was not captured"):
            database.prepare(spool)
        state = state_of("db", database, spool)
        for each in ("reset master", "reset binary logs and gtids"):  # its name since MySQL 8.4
            with suppress(MysqlError):
                link.rows(each)
        with pytest.raises(CaptureLostError, match="is behind what was captured from it"):
            database.prepare(spool)
        position = spool.position
        assert position is not None
        while database.mark() <= position.lsn:
            link.rows("flush binary logs")  # the next file is further on than all of this one
        with pytest.raises(CaptureLostError, match="is not the one that was captured before"):
            database.prepare(spool)
    spool.note_database("another", "")
    with pytest.raises(CaptureLostError, match="is not the server whose changes are in"):
        database.prepare(spool)
    assert state.wal_status == "lost"


@OF_MARIADB
def test_a_source_tells_how_it_stands_pauses_and_is_given_up(url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with capturing(database, spool) as capture:
        until(lambda: spool.position is not None or capture.error)
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
        until(lambda: spool.position is not None or capture.error)
        since = time.time() * 1000
        until(lambda: capture.error or ((at := spool.position) and at.written_at_ms > since))

    assert changes_of(spool, "customer") == []
