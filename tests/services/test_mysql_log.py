"""What the log of MySQL and MariaDB must hold to be captured, and what is read from it."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.services import mysql_captured
from tests.services.captured import message_and_hint, until
from tests.services.mysql_captured import (
    CUSTOMER,
    OF_MYSQL,
    alter,
    as_user,
    capturing,
    changes_of,
    claimed,
    connected,
    database_of,
    has_read,
    kill_process,
    new_database,
    rows_of,
)

from joinery.capture.gone_columns import TableColumns
from joinery.capture.spool import CaptureError, CaptureLostError
from joinery.capture.state import state_of
from joinery.clients.mysql import MysqlError
from joinery.dev.mariadb import MariadbRecipe
from joinery.dev.service import Service

pytestmark = pytest.mark.services
server, url = mysql_captured.server, mysql_captured.url


def test_a_server_without_a_binary_log_is_refused(tmp_path: Path) -> None:
    with (
        Service(MariadbRecipe(settings={"skip-log-bin": "1"}), tmp_path / "s").started() as server,
        new_database(server.address, CUSTOMER) as url,
    ):
        database = database_of(url, "customer")
        with pytest.raises(CaptureError) as refused:
            database.prepare(claimed(tmp_path, database))

    assert message_and_hint(refused.value) == (
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
            found.append(message_and_hint(refused.value))
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

    assert message_and_hint(refused.value) == (message.format(db=name), hint.format(db=name))


# A table with a column of floats is read by the connector, in one transaction.
@pytest.mark.parametrize("f", ["double", "float"])
def test_values_are_the_same_from_the_table_and_from_the_log(
    url: str, tmp_path: Path, f: str
) -> None:
    columns = (
        "id bigint primary key, u bigint unsigned, d decimal(20,4), dt datetime(3),"
        " ts timestamp(6) null, day date, t time(2), e enum('a','b,c'), s set('x','y'), b1 bit(1),"
        " b bit(12), j json, y year, bin varbinary(4), g double, ti tinyint(1),"
        " zero datetime, strict date not null, never timestamp null, old date,"
        " mu mediumint unsigned,"
        f" twice bigint as (u div 2) virtual, kept int as (y + 1) stored, f {f}"
    )
    values = (
        "18446744073709551615, 1234567890123456.7890, '2026-01-31 12:00:00.123',"
        " '2026-01-31 12:00:00.123456', '2026-01-31', '-12:00:01.5', 'b,c', 'x,y', b'1',"
        " b'101010101010', '{\"a\": [1, \"é\"]}', 2026, x'00ff', 2.25, 1,"
        " '0000-00-00', '0000-00-00', '0000-00-00', '0012-01-01', 16777215, default, default, 1.5"
    )
    with closing(connected(url)) as link:
        link.rows("set sql_mode = '', time_zone = '+00:00'")
        link.rows(f"create table kinds ({columns})")
        link.rows(f"insert into kinds values (1, {values})")
        database = database_of(url, "kinds")
        with capturing(database, spool := claimed(tmp_path, database)) as capture:
            until(lambda: has_read(spool) or capture.error)
            link.rows(f"insert into kinds values (2, {values})")
            capture.reach_end()

    read = [each for each in changes_of(spool, "kinds") if each["op"] == "r"]
    assert [f == "float"] == ["connector" in each["source"] for each in read]
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
            until(lambda: has_read(spool) or capture.error)
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
        until(lambda: has_read(spool) or capture.error)
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
            until(lambda: has_read(spool) or capture.error)
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
    assert message_and_hint(refused.value) == (
        "a statement that changes a captured table is not understood:"
        " alter table customer add seen inet6 first, drop name",
        "Run joinery source drop, then joinery run --rebuild, which reads the tables again.",
    )


def test_a_log_that_was_purged_or_begun_anew_is_refused(url: str, tmp_path: Path) -> None:
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)
    with capturing(database, spool) as capture:
        capture.reach_end()

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
