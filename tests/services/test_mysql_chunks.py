"""Rows of MySQL and MariaDB read in chunks: each once, in the server's order; and broken off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.services import mysql_captured
from tests.services.captured import until
from tests.services.mysql_captured import (
    OF_MYSQL,
    Changes,
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

from joinery.capture import mysql_chunks
from joinery.capture.chunks import Chunks
from joinery.capture.mysql_chunks import begin_session, read_chunk
from joinery.capture.mysql_log import files_of, plugin_of, visible_place
from joinery.capture.mysql_reading import MysqlReading
from joinery.capture.server import ServerShortError
from joinery.capture.spool import SpoolFolder
from joinery.capture.state import state_of
from joinery.clients.mysql import MysqlLink
from joinery.dev.service import Service
from joinery.project.mysql_address import MysqlAddress

pytestmark = pytest.mark.services
server, url = mysql_captured.server, mysql_captured.url
BEGUN = Chunks(place=1, transaction=0, first=1)
_WORDS = "concat(elt(1 + n % 7, 'a', 'B', 'ö', 'z''', '\\\\', 'Q', 'é\"'), n % 11)"
# Keys of each kind, as SQL of a number `n`.
KEYS = {
    "numbers": ("a bigint", "(n - 40) * 7919"),
    "without a sign": ("a bigint unsigned", "18446744073709551615 - n"),
    "filled with zeros": ("a int(8) zerofill", "n * 3"),
    "texts": ("a varchar(20)", _WORDS),
    "texts of one byte": ("a varchar(20) character set latin1", _WORDS),
    "texts by byte": ("a varchar(20) collate utf8mb4_bin", "char(40 + n)"),
    "texts in two bytes": ("a varchar(9) character set utf16", "concat('é', n)"),
    "padded": ("a char(5)", "concat(n, ' ')"),
    "times": ("a datetime(6)", "timestamp '2026-01-01 12:00:00' + interval n microsecond"),
    "instants": ("a timestamp(3)", "timestamp '2026-03-29 01:59:59' + interval n second"),
    "spans": ("a time(1)", "sec_to_time((n - 40) * 10)"),
    "days": ("a date", "date '2026-01-01' + interval n day"),
    "years": ("a year", "1980 + n"),
    "decimals": ("a decimal(20,3)", "n / 8"),
    "bytes": ("a varbinary(16)", "unhex(md5(n))"),
    "padded bytes": ("a binary(4)", "char(n)"),
}


@pytest.fixture
def link(url: str) -> Iterator[MysqlLink]:
    with closing(connected(url)) as link:
        begin_session(link)
        yield link


def read(link: MysqlLink, folder: Path) -> Chunks:
    done = BEGUN
    while not done.over:
        assert read_chunk(link, table(link), done, folder)
        done = noted(folder)
    return done


def table(link: MysqlLink) -> str:
    [(name,)] = link.rows("select database()")
    return f"{name}.thing"


def noted(folder: Path) -> Chunks:
    done = Chunks.noted(folder)
    assert done is not None
    return done


def rows(folder: Path) -> list[Any]:
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(e)["after"] for file in files for e in file.read_text().splitlines()]


def seven_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_ROWS", (7, 7))


def test_each_row_is_read_once_by_the_servers_order_of_its_key(
    link: MysqlLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    seven_rows(monkeypatch)
    link.rows("set sql_mode = 'NO_ENGINE_SUBSTITUTION'")
    for name, (column, value) in KEYS.items():
        with subtests.test(name):
            link.rows("drop table if exists thing")
            link.rows(f"create table thing ({column} primary key, n int)")
            link.rows(f"insert into thing select {value}, n from ({numbers(1, 77)}) as each_one")

            done = read(link, folder := tmp_path / name)

            read_in_order = [each["n"] for each in rows(folder)]
            assert (12, 77) == (done.chunks, done.rows)
            assert [each for (each,) in link.rows("select n from thing order by a")] == (
                read_in_order
            )


def test_composite_keys_are_read_in_the_order_of_their_parts_and_by_their_index(
    link: MysqlLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seven_rows(monkeypatch)
    link.rows(
        "create table thing (n int, `a ``b` varchar(9), day date, id int,"
        " primary key (`a ``b`, day, id))"
    )
    link.rows(
        "insert into thing select n, elt(1 + n % 2, 'a', 'B'), date '2026-01-01' + interval"
        f" (n div 20) day, n from ({numbers(1, 77)}) as each_one"
    )
    link.rows("flush status")

    done = read(link, tmp_path)

    visited = dict(link.rows("show session status like 'handler_read_next'"))
    assert [*range(1, 78)] == sorted(each["n"] for each in rows(tmp_path))
    assert (("a `b", "day", "id"), 12) == (done.key, done.chunks)
    assert int(visited["Handler_read_next"]) < 300  # not all rows before, chunk by chunk


@pytest.mark.parametrize(
    "columns",
    [
        "id enum('b', 'a') primary key",  # compared as texts, ordered as numbers
        "id varchar(90), primary key (id(10))",
        "id int primary key, f float",
        "id int primary key, at point",
    ],
)
def test_a_table_that_cannot_be_read_in_chunks_is_left_to_the_connector(
    link: MysqlLink, tmp_path: Path, columns: str
) -> None:
    link.rows(f"create table thing ({columns})")

    assert not read_chunk(link, table(link), BEGUN, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_row_that_is_longer_than_the_server_sends_leaves_the_table_to_the_connector(
    url: str, tmp_path: Path
) -> None:
    with closing(connected(url)) as link:
        link.rows("create table thing (id int primary key, a longblob)")
        link.rows("insert into thing values (1, repeat('x', 1000000)), (2, null)")
        [(before,)] = link.rows("select @@global.max_allowed_packet")
        link.rows("set global max_allowed_packet = 1048576")
    try:
        with closing(connected(url)) as link:
            begin_session(link)
            whole = read_chunk(link, table(link), BEGUN, tmp_path)
    finally:
        with closing(connected(url)) as link:
            link.rows(f"set global max_allowed_packet = {before}")

    assert not whole
    assert not [*tmp_path.glob("*.jsonl")]


def test_what_was_not_committed_is_not_read_whatever_the_server_is_set_to(
    url: str, tmp_path: Path
) -> None:
    with closing(connected(url)) as other, closing(connected(url)) as admin:
        admin.rows("create table thing (id int primary key)")
        other.rows("begin")
        other.rows("insert into thing values (1)")
        admin.rows("set global transaction isolation level read uncommitted")
        try:
            with closing(connected(url)) as link:
                begin_session(link)
                read(link, tmp_path)
        finally:
            admin.rows("set global transaction isolation level repeatable read")
        other.rows("rollback")

    assert [] == rows(tmp_path)


def test_a_key_that_is_altered_has_the_table_read_from_the_start(
    link: MysqlLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seven_rows(monkeypatch)
    link.rows("create table thing (id int primary key, n int)")
    link.rows(f"insert into thing select 100 - n, n from ({numbers(1, 10)}) as each_one")
    assert read_chunk(link, table(link), BEGUN, tmp_path)
    link.rows("alter table thing drop primary key, add primary key (n)")

    assert read_chunk(link, table(link), noted(tmp_path), tmp_path)

    assert [*range(1, 8)] == [each["n"] for each in rows(tmp_path)]
    assert (("n",), 1) == (noted(tmp_path).key, noted(tmp_path).chunks)


@OF_MYSQL
def test_a_first_reading_killed_again_and_again_goes_on_and_brings_nothing_back(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_ROWS", (400, 400))
    database = database_of(url, "customer", "purchase")
    with closing(connected(url)) as link:
        link.rows(f"insert into customer select n, 'n' from ({numbers(1, 2000)}) as each_one")
        link.rows(
            f"insert into purchase select n, n, 1, null, null from ({numbers(1, 2000)}) as each_one"
        )
    spool, reached = claimed(tmp_path, database), list[int]()

    with Changes(url, seed=7), capturing(database, spool) as capture:
        for _ in range(3):
            until(partial(read_further, spool, [0, *reached][-1]))
            kill_process()
            reached.append(chunks(spool))
            assert not (spool.path / "files").exists()  # no document is shown in part
        until(lambda: has_read(spool) or capture.error)
    with capturing(database, spool) as capture:
        capture.reach_end()

    assert reached == sorted({*reached})
    assert rows_of(spool, "customer") == stands(url, "customer", "name")
    assert {key: row["amount"] for key, row in rows_of(spool, "purchase").items()} == {
        key: row["amount"] for key, row in stands(url, "purchase", "amount").items()
    }


def chunks(spool: SpoolFolder) -> int:
    """Return how many chunks of all tables were read."""
    known = spool.identity
    assert known is not None
    found = [Chunks.noted(spool.rows(each)) for each in known.tables]
    return sum(each.chunks for each in found if each is not None)


def read_further(spool: SpoolFolder, before: int) -> bool:
    return chunks(spool) > before


def test_what_goes_behind_a_chunk_and_comes_before_one_is_as_it_stands_in_the_end(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_ROWS", (3, 3))
    database = database_of(url, "customer")
    with closing(connected(url)) as link:
        link.rows(f"insert into customer select n, 'n' from ({numbers(1, 9)}) as each_one")
        spool = claimed(tmp_path, database)
        with capturing(database, spool) as capture, monkeypatch.context() as waits:
            waits.setattr("joinery.capture.joining._LOOK_S", 0.01)
            hold_after_first_chunk(waits, link)
            until(lambda: has_read(spool) or capture.error)
            status = state_of("db", database, spool)
            capture.reach_end()

        assert rows_of(spool, "customer") == stands(url, "customer", "name")
    assert {1, 3, 9} & {*rows_of(spool, "customer")} == {3}
    assert {"r"} < {each["op"] for each in changes_of(spool, "customer")}
    assert status.joining == ()


def hold_after_first_chunk(waits: pytest.MonkeyPatch, link: MysqlLink) -> None:
    """Change rows once the first chunk was read, before the second is."""

    def changing(reader: MysqlLink, name: str, done: Chunks, folder: Path) -> bool:
        if done.chunks == 1:
            link.rows("delete from customer where id in (1, 9)")
            link.rows("update customer set id = 30 where id = 2")  # read, and read again
            link.rows("update customer set id = 2 where id = 8")  # never read
            link.rows("update customer set name = 'x' where id in (3, 7)")
        return read_chunk(reader, name, done, folder)

    waits.setattr("joinery.capture.mysql_reading.read_chunk", changing)


def test_a_table_that_is_locked_is_not_waited_for_long(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortly = (*mysql_chunks._SESSION, "set session lock_wait_timeout = 1")
    monkeypatch.setattr("joinery.capture.mysql_chunks._SESSION", shortly)
    database = database_of(url, "customer")
    with closing(connected(url)) as other, closing(MysqlReading(database)) as reading:
        begun = reading.begin(database.tables[0], 1)
        other.rows("lock tables customer write")
        with pytest.raises(ServerShortError, match="another session has locked one"):
            reading.read(database.tables[0], begun, tmp_path)


def test_a_place_is_the_end_of_a_log_of_which_all_can_be_read(server: Service) -> None:
    with closing(MysqlLink(MysqlAddress.of(server.address))) as link:
        begin_session(link)

        place = visible_place(link)

        assert place == files_of(link, plugin_of(link)).end


def test_a_table_gets_a_place_of_its_own_where_nobody_may_lock_all(url: str) -> None:
    with closing(connected(url)) as root, reader_of(root, url) as reader:
        if plugin_of(root) == "mariadb":
            pytest.skip("MariaDB tells the place without a lock")
        database = database_of(reader, "customer")
        with closing(connected(reader)) as link:
            assert visible_place(link) is None
        before = visible_place(root)
        with closing(MysqlReading(database)) as reading:
            first = reading.begin(database.tables[0], 1)
            root.rows("insert into customer values (1, 'n')")
            second = reading.begin(database.tables[0], 1)

        assert before == first.place
        assert visible_place(root) == second.place > first.place


@contextmanager
def reader_of(root: MysqlLink, url: str) -> Iterator[str]:
    """Give the URL of a user who may lock single tables, but not all."""
    root.rows("create user reader identified by 'word'")
    try:
        root.rows("grant replication client on *.* to reader")
        root.rows("grant select, lock tables on *.* to reader")
        address = urlsplit(url)
        yield address._replace(netloc=f"reader:word@{address.netloc.rpartition('@')[2]}").geturl()
    finally:
        root.rows("drop user reader")
