"""Rows read in chunks: each once, whatever the server's order of its key is; and broken off."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.services.captured import Connection, new_database

from joinery.capture.chunks import Chunks
from joinery.capture.postgres_chunks import begin_session, can_chunk, read_chunk
from joinery.capture.spool import CaptureError
from joinery.capture.tables import oid_of
from joinery.dev.service import Service

pytestmark = pytest.mark.services
TABLE = "public.thing"
BEGUN = Chunks(place=1, transaction=1, first=1)
# Keys of each kind, as SQL of a number.
KEYS = {
    "numbers": ("a bigint", "(i - 40) * 7919"),
    "texts": ("a text", "(array['a', 'B', 'ä', 'z''', '\\', 'Z', 'é\"'])[1 + i % 7] || i % 11"),
    "texts by an order of their own": ("a mood", "('m' || i)::mood"),
    "texts by byte": ('a text collate "C"', "chr(40 + i)"),
    "padded": ("a char(5)", "i::text"),
    "uuids": ("a uuid", "md5(i::text)::uuid"),
    "times": ("a timestamptz", "'2026-01-01 12:00+02'::timestamptz + i * interval '0.000001 s'"),
    "days": ("a date", "date '2026-01-01' + i"),
    "decimals": ("a numeric(20,3)", "i / 8.0"),
    "floats": ("a double precision", "i / 3.0::double precision"),
    "bytes": ("a bytea", "decode(md5(i::text), 'hex')"),
}


@pytest.fixture
def link(postgres: Service) -> Iterator[Connection]:
    with (
        new_database(postgres, "chunks") as url,
        closing(psycopg.connect(url, autocommit=True)) as link,
    ):
        begin_session(link)
        yield link


@pytest.fixture(autouse=True)
def seven_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_ROWS", (7, 7))


def read(link: Connection, folder: Path, done: Chunks = BEGUN) -> Chunks:
    while not done.over:
        done = read_chunk(link, TABLE, done, folder)
    return done


def rows(folder: Path) -> list[Any]:
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(e)["after"] for file in files for e in file.read_text().splitlines()]


@pytest.mark.parametrize(("column", "value"), KEYS.values(), ids=KEYS.keys())
def test_each_row_is_read_once_by_the_servers_order_of_its_key(
    link: Connection, tmp_path: Path, column: str, value: str
) -> None:
    labels = ", ".join(f"'m{each}'" for each in range(77, 0, -1))
    link.execute(f"create type mood as enum ({labels})".encode())
    link.execute(f"create table thing ({column} primary key, n int)".encode())
    link.execute(f"insert into thing select {value}, i from generate_series(1, 77) as i".encode())

    done = read(link, tmp_path)

    assert [*range(1, 78)] == sorted(each["n"] for each in rows(tmp_path))
    assert (12, 77) == (done.chunks, done.rows)
    (first, last) = (e["n"] for e in (rows(tmp_path)[0], rows(tmp_path)[-1]))
    ends = link.execute(
        "select (select n from thing order by a limit 1),"
        " (select n from thing order by a desc limit 1)"
    ).fetchone()
    assert ends == (first, last)


def test_columns_have_whatever_names(link: Connection, tmp_path: Path) -> None:
    link.execute('create table thing (t int primary key, r int, "a "" b" int, "%s" int)')
    link.execute("insert into thing values (1, 2, 3, 4)")

    read(link, tmp_path)

    assert [{"t": 1, "r": 2, 'a " b': 3, "%s": 4}] == rows(tmp_path)


def test_composite_keys_are_read_in_the_order_of_their_parts(
    link: Connection, tmp_path: Path
) -> None:
    link.execute("create type size as enum ('small', 'large', 'huge')")
    link.execute("create table thing (n int, other text, size size, primary key (size, other))")
    link.execute(
        "insert into thing select i, i % 26, (array['huge', 'small', 'large'])[1 + i % 3]::size"
        " from generate_series(1, 77) as i"
    )

    done = read(link, tmp_path)

    assert [*range(1, 78)] == sorted(each["n"] for each in rows(tmp_path))
    assert (("size", "other"), 12) == (done.key, done.chunks)


def test_composite_keys_of_a_partitioned_table_are_read_across_its_parts(
    link: Connection, tmp_path: Path
) -> None:
    link.execute(
        "create table thing (n int, part text, other date, primary key (part, other))"
        " partition by list (part)"
    )
    for part in ("a", "b", "c"):
        link.execute(f"create table p{part} partition of thing for values in ('{part}')".encode())
    link.execute(
        "insert into thing select i, (array['a', 'b', 'c'])[1 + i % 3], date '2026-01-01' + i"
        " from generate_series(1, 77) as i"
    )

    done = read(link, tmp_path)

    assert [*range(1, 78)] == sorted(each["n"] for each in rows(tmp_path))
    assert (("part", "other"), 77) == (done.key, done.rows)


def test_an_empty_table_and_one_that_ends_with_a_chunk_end(
    link: Connection, tmp_path: Path
) -> None:
    link.execute("create table thing (a int primary key, n int)")
    empty = read(link, tmp_path / "empty")
    link.execute("insert into thing select i, i from generate_series(1, 14) as i")

    done = read(link, tmp_path / "full")

    assert (0, True) == (empty.rows, empty.over)
    assert [*range(1, 15)] == [each["n"] for each in rows(tmp_path / "full")]
    assert done.over


def test_a_reading_that_was_broken_off_goes_on_after_the_last_chunk(
    link: Connection, tmp_path: Path
) -> None:
    link.execute("create table thing (a int primary key, n int)")
    link.execute("insert into thing select i, i from generate_series(1, 20) as i")
    read_chunk(link, TABLE, BEGUN, tmp_path)
    # Written, and not noted: it is read again.
    (tmp_path / f"{2:016d}.jsonl").write_text('{"after": {"n": 0}}\n')
    noted = Chunks.noted(tmp_path)
    assert noted is not None

    done = read(link, tmp_path, noted)

    assert [*range(1, 21)] == [each["n"] for each in rows(tmp_path)]
    assert done.chunks == 3


def test_another_primary_key_begins_anew(link: Connection, tmp_path: Path) -> None:
    link.execute("create table thing (a int primary key, b int not null, n int)")
    link.execute("insert into thing select i, -i, i from generate_series(1, 30) as i")
    done = BEGUN
    for _ in range(3):
        done = read_chunk(link, TABLE, done, tmp_path)
    link.execute("alter table thing drop constraint thing_pkey, add primary key (b)")
    link.execute("delete from thing where a > 6")

    read(link, tmp_path, done)

    assert [6, 5, 4, 3, 2, 1] == [each["n"] for each in rows(tmp_path)]


def test_a_key_of_another_type_begins_anew(
    link: Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link.execute('create table thing (a text collate "C" primary key, n int)')
    link.execute("insert into thing select i::text, i from generate_series(1, 30) as i")
    done = BEGUN
    for _ in range(2):
        done = read_chunk(link, TABLE, done, tmp_path)
    link.execute("alter table thing alter a type int using a::int")

    with caplog.at_level(logging.WARNING):
        read(link, tmp_path, done)

    assert [*range(1, 31)] == [each["n"] for each in rows(tmp_path)]
    assert [f"the primary key of table {TABLE} was altered: reading it again"] == caplog.messages


def test_a_key_of_another_order_begins_anew(
    link: Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link.execute('create table thing (a text collate "C" primary key, n int)')
    link.execute("insert into thing select chr(40 + i), i from generate_series(1, 77) as i")
    done = read_chunk(link, TABLE, BEGUN, tmp_path)
    link.execute('alter table thing alter a type text collate "POSIX"')

    with caplog.at_level(logging.WARNING):
        done = read(link, tmp_path, done)

    assert [*range(1, 78)] == sorted(each["n"] for each in rows(tmp_path))
    assert 12 == done.chunks
    assert [f"the primary key of table {TABLE} was altered: reading it again"] == caplog.messages


def test_a_table_made_anew_while_it_is_read_is_refused(link: Connection, tmp_path: Path) -> None:
    link.execute("create table thing (a int primary key, n int)")
    link.execute("insert into thing select i, i from generate_series(1, 20) as i")
    done = read_chunk(link, TABLE, replace(BEGUN, oid=oid_of(link, TABLE)), tmp_path)
    link.execute("drop table thing")
    link.execute("create table thing (a int primary key, n int)")

    with pytest.raises(CaptureError, match="dropped and created again before it was"):
        read(link, tmp_path, done)


def test_chunks_of_a_table_of_which_nothing_is_known_are_as_wide_as_its_rows(
    link: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_ROWS", (1, 50_000))
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_BYTES", 200_000)
    link.execute("create table thing (a int primary key, n text) with (autovacuum_enabled = false)")
    link.execute("insert into thing select i, repeat('n', 1000) from generate_series(1, 3000) as i")

    done = read(link, tmp_path)

    first, *later = [each.stat().st_size for each in sorted(tmp_path.glob("*.jsonl"))]
    assert done.rows == 3000
    assert first < 1_300_000
    assert max(later) < 220_000


def test_a_table_without_a_key_or_with_values_not_told_alike_is_left_to_a_connector(
    link: Connection,
) -> None:
    link.execute("create table thing (a int primary key, n int)")
    link.execute("create table keyless (a int)")
    link.execute("create table waits (a int primary key, wait interval)")

    found = [can_chunk(link, f"public.{each}") for each in ("thing", "keyless", "waits")]

    assert [True, False, False] == found
