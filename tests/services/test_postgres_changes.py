"""What a capture writes of changes that are out of the ordinary: one capture, a table for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from joinery.capture.capture import Capture, CaptureOptions
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.spool import SpoolFolder
from joinery.capture.state import drop_source
from joinery.dev.service import Service
from joinery.spark.jar import capture_jar

pytestmark = pytest.mark.services
UNAVAILABLE = "__debezium_unavailable_value"
TABLES = {
    "large": "(id bigint primary key, n int, text text)",
    "moved": "(id bigint primary key, name text)",
    "emptied": "(id bigint primary key)",
    "parts": "(id bigint primary key, name text) partition by range (id)",
    "altered": "(id bigint primary key, a text, b text)",
    "whole": "(id bigint primary key, name text)",
    "timed": "(id bigint primary key, s timestamp(0), ms timestamp(3), us timestamp,"
    " zone timestamptz, day date, money numeric)",
    "empty": "(id bigint primary key)",
}
Row = Mapping[str, Any]
Change = tuple[str, Row | None, Row | None]


@pytest.fixture(scope="module")
def spool(postgres: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpoolFolder]:
    """The spool of a database in which each table had its odd changes."""
    name = f"odd_{uuid4().hex[:8]}"
    with closing(psycopg.connect(postgres.address, autocommit=True)) as link:
        link.execute(f'create database "{name}"'.encode())
    url = postgres.address.rpartition("/")[0] + f"/{name}"
    tables = tuple(f"public.{each}" for each in TABLES)
    database = PostgresDatabase(url, name, tables)
    folder = tmp_path_factory.mktemp("odd") / "spool"
    spool = SpoolFolder.claim(folder, slot=name, tables=tables)
    with closing(psycopg.connect(url, autocommit=True)) as link:
        for table, columns in TABLES.items():
            link.execute(f"create table {table} {columns}".encode())
        link.execute("create table parts_a partition of parts for values from (0) to (10)")
        link.execute("create table parts_b partition of parts for values from (10) to (20)")
        link.execute("insert into parts values (1, 'read')")
        capture = Capture(database, spool, CaptureOptions(name="odd", program=capture_jar))
        capture.start()
        try:
            capture.reach_end()
            change(link)
            capture.reach_end()
        finally:
            capture.close()
    yield spool
    drop_source(database, spool)


def change(link: psycopg.Connection[tuple[Any, ...]]) -> None:
    statements = (
        # Too large to stay in the row, and too random to be pressed.
        "insert into large select 1, 1, string_agg(md5(each::text), '')"
        " from generate_series(1, 1000) as each",
        "update large set n = 2",
        "insert into moved values (1, 'a')",
        "update moved set id = 2",
        "insert into emptied values (1)",
        "truncate emptied",
        "insert into parts values (2, 'a'), (12, 'b')",
        "update parts set id = 13 where id = 2",
        "insert into altered values (1, 'a', 'b')",
        "alter table altered add column c int default 7",
        "insert into altered values (2, 'a', 'b', 8)",
        "alter table altered drop column a",
        "insert into altered values (3, 'b', 9)",
        "alter table altered rename column b to d",
        "insert into altered values (4, 'd', 10)",
        "alter table whole replica identity full",
        "insert into whole values (1, 'a')",
        "update whole set name = 'b'",
        "delete from whole",
        "insert into timed values (1, '2026-01-31 12:00:01', '2026-01-31 12:00:01.002',"
        " '2026-01-31 12:00:01.000003', '2026-01-31 12:00:01.000003+01', '2026-01-31', 1.50)",
    )
    for each in statements:
        link.execute(each.encode())


def changes(spool: SpoolFolder, table: str) -> Sequence[Change]:
    files = sorted((spool.path / "files" / f"public.{table}").glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [(each["op"], each.get("before"), each.get("after")) for each in lines]


def test_a_large_value_that_did_not_change_is_said_to_be_unavailable(spool: SpoolFolder) -> None:
    (_, _, inserted), (op, _, updated) = changes(spool, "large")

    assert inserted is not None
    assert len(inserted["text"]) == 32_000
    assert (op, updated) == ("u", {"id": 1, "n": 2, "text": UNAVAILABLE})


def test_a_changed_key_is_a_delete_and_an_insert(spool: SpoolFolder) -> None:
    assert changes(spool, "moved")[1:] == [
        ("d", {"id": 1, "name": None}, None),
        ("c", None, {"id": 2, "name": "a"}),
    ]


def test_a_table_that_is_emptied_says_so(spool: SpoolFolder) -> None:
    assert changes(spool, "emptied") == [("c", None, {"id": 1}), ("t", None, None)]


def test_rows_of_partitions_are_rows_of_their_table(spool: SpoolFolder) -> None:
    assert changes(spool, "parts") == [
        ("r", None, {"id": 1, "name": "read"}),
        ("c", None, {"id": 2, "name": "a"}),
        ("c", None, {"id": 12, "name": "b"}),
        ("d", {"id": 2, "name": None}, None),
        ("c", None, {"id": 13, "name": "a"}),
    ]
    assert not list(spool.path.glob("files/public.parts_*"))


def test_columns_are_added_dropped_and_renamed_while_it_goes_on(spool: SpoolFolder) -> None:
    assert [after for _, _, after in changes(spool, "altered")] == [
        {"id": 1, "a": "a", "b": "b"},
        {"id": 2, "a": "a", "b": "b", "c": 8},
        {"id": 3, "b": "b", "c": 9},
        {"id": 4, "d": "d", "c": 10},
    ]


def test_a_replica_identity_of_all_columns_tells_the_row_before(spool: SpoolFolder) -> None:
    assert changes(spool, "whole")[1:] == [
        ("u", {"id": 1, "name": "a"}, {"id": 1, "name": "b"}),
        ("d", {"id": 1, "name": "b"}, None),
    ]


def test_times_are_microseconds_and_days_whatever_their_precision(spool: SpoolFolder) -> None:
    ((_, _, row),) = changes(spool, "timed")

    assert row == {
        "id": 1,
        "s": 1_769_860_801_000_000,
        "ms": 1_769_860_801_002_000,
        "us": 1_769_860_801_000_003,
        "zone": "2026-01-31T11:00:01.000003Z",
        "day": 20_484,
        "money": "1.50",
    }


def test_a_table_without_rows_has_no_file(spool: SpoolFolder) -> None:
    assert changes(spool, "empty") == []
    assert not Path(spool.path / "files" / "public.empty").exists()
