"""Changes that a binary log does not tell, since a session wrote less into it than it should."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.services.captured import until
from tests.services.mysql_captured import (
    CUSTOMER,
    capturing,
    claimed,
    connected,
    database_of,
    has_read,
    new_database,
    rows_of,
)
from tests.services.mysql_server import started_server

from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import CaptureLostError, SpoolFolder
from joinery.clients.mysql import MysqlLink
from joinery.dev.service import Service
from joinery.project.mysql_address import MysqlAddress

pytestmark = pytest.mark.services
_STATEMENT = "set session binlog_format = 'STATEMENT'"
_TOLD = "the log has a statement in place of the rows of a captured table: "


@pytest.fixture(
    scope="module", params=["mariadb", pytest.param("mysql-8.4", marks=pytest.mark.exhaustive)]
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A server of the module's own, with a binary log of rows."""
    with started_server(request.param, tmp_path_factory.mktemp(request.param)) as service:
        yield service


def capture_after(link: MysqlLink, sql: str, database: MysqlDatabase, spool: SpoolFolder) -> None:
    with capturing(database, spool) as capture:
        link.rows(sql)
        until(lambda: capture.error)


@pytest.mark.parametrize(
    ("setting", "changes", "told"),
    [
        pytest.param(_STATEMENT, each, f"{_TOLD}{each}", id=name, marks=marks)
        for name, each, marks in (
            ("update", "update customer set name = 'lost'", ()),
            ("comment", "/* app */ insert into `customer` values (2, 'lost')", ()),
            (
                "hint",
                "insert /*+ NO_ICP(customer) */ into`customer`values(2, 'lost')",
                (),
            ),
            ("analyze", "analyze update customer set name = 'lost'", ()),
            ("replace", "replace into customer values (1, 'lost')", ()),
            ("delete", "delete customer from customer, checksum", pytest.mark.exhaustive),
        )
    ]
    + [
        pytest.param(
            "set session binlog_row_image = 'MINIMAL'",
            "delete from customer",
            "the log lacks columns of a row of table customer",
            id="image",
        )
    ],
)
def test_a_session_that_logs_less_than_whole_rows_of_a_captured_table_ends_the_capture(
    server: Service, tmp_path: Path, setting: str, changes: str, told: str
) -> None:
    if changes.startswith("analyze") and server.name != "mariadb":
        pytest.skip("MySQL's analyze changes nothing")
    other = "create table checksum (id bigint primary key)"
    with (
        new_database(server.address, CUSTOMER) as archive,
        new_database(server.address, CUSTOMER, other) as url,
        closing(connected(url)) as link,
    ):
        link.rows("insert into customer values (1, 'Ada')")
        database = database_of(url, "customer")
        spool = claimed(tmp_path, database)
        with capturing(database, spool) as capture:
            until(lambda: has_read(spool) or capture.error)
            link.rows(setting)
            link.rows("replace into checksum select id from customer")
            link.rows(f"update {MysqlAddress.of(archive).database}.customer set name = 'gone'")
            capture.reach_end()
        with pytest.raises(CaptureLostError) as refused:
            capture_after(link, changes, database, spool)
        with pytest.raises(CaptureLostError, match=re.escape(told)):
            capture_after(link, "select 1", database, spool)

    assert refused.value.message == told
    assert rows_of(spool, "customer") == {1: {"id": 1, "name": "Ada"}}


def test_a_captured_table_that_is_altered_outside_the_log_ends_the_capture(
    server: Service, tmp_path: Path
) -> None:
    with new_database(server.address, CUSTOMER) as url, closing(connected(url)) as link:
        database = database_of(url, "customer")
        spool = claimed(tmp_path, database)
        with capturing(database, spool) as capture:
            until(lambda: has_read(spool) or capture.error)
        for each in ("set sql_log_bin = 0", "alter table customer add town text"):
            link.rows(each)
        link.rows("set sql_log_bin = 1")
        with pytest.raises(CaptureLostError, match=r"does not say which columns .* customer has"):
            capture_after(link, "insert into customer values (1, 'Ada', 'Bonn')", database, spool)
