"""Tables read in bulk: the same rows as the connector tells, once, whenever that is broken off."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.services import shop
from tests.services.captured import REBUILD_MOMENTS, until
from tests.services.live_run import live_run
from tests.services.shop import PROJECT, Changes, documents, truth
from tests.session_run import rebuild_in_bulk, run_to_end

from joinery.capture.bulk import BrokenOffError, Reading
from joinery.capture.capture import Capture, CaptureOptions
from joinery.capture.postgres import PostgresDatabase, prepare
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.state import drop_source
from joinery.dev.postgres import postgres as postgres_service
from joinery.dev.service import Service
from joinery.spark.jar import capture_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services
# What stands in the folder of a project as it begins in bulk, from the first to the last.
MOMENTS = (
    ".joinery/spool/db/source.json",
    ".joinery/spool/db/.snapshot",
    ".joinery/spool/db/position.json",
    ".joinery/spool/db/files/*/*",
    *REBUILD_MOMENTS,
)
SLOT = "joinery_bulk"
# Of each type that is read so, values at its edges, in a row of nulls too.
TYPES = """
create type mood as enum ('good', 'bad');
create domain small as numeric(5,2);
create table every (
    id bigint primary key, "odd ""name" int, flag boolean, tiny smallint, part real,
    number double precision, exact numeric, money small, words text, code char(5),
    name varchar(9), who uuid, doc json, docs jsonb, at timestamp(3), fine timestamp,
    zoned timestamptz, day date, clock time, bytes bytea, mood mood, moods mood[], tags text[],
    counts bigint[], sums numeric(9,2)[], net inet, nets cidr, mac macaddr, span int4range,
    days daterange, ref oid, grown int generated always as (tiny * 2) stored);
insert into every (id) values (1);
insert into every values (2, 3, true, -7, 0.1, 1e-7, 12345678901234567890.125, 9.50,
    E'tab\\t quote" back\\\\slash new\\nline \\u0001 ü €', 'ab', 'c', gen_random_uuid(),
    E'{"a": [1,\\n 2]}', '{"b": "\\u00fc", "a": null}', '2026-02-03 04:05:06.789',
    '1969-12-31 23:59:59.000001', '2026-02-03 04:05:06.5+02', '1969-12-31', '23:59:59.25',
    '\\x00ff10', 'bad', '{good,bad}', '{"a,b",NULL,"c\\"d"}', '{1,NULL}', '{1.50,2}',
    '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03', '[1,5)', '[2026-01-01,2026-02-01)', 77);
insert into every (id, bytes, words)
values (3, decode(repeat('ab', 200), 'hex'), repeat('é', 9000));
alter role all set extra_float_digits = 0;
"""
Connection = psycopg.Connection[tuple[Any, ...]]
database = shop.database


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server of the module's own."""
    with postgres_service(tmp_path_factory.mktemp("bulk")).started() as service:
        yield service


@pytest.fixture
def link(server: Service) -> Iterator[Connection]:
    with closing(psycopg.connect(server.address, autocommit=True)) as link:
        yield link
        link.execute("drop schema public cascade")
        link.execute("create schema public")


@contextmanager
def captured(
    server: Service, folder: Path, tables: Sequence[str], *, by: str
) -> Iterator[SpoolFolder]:
    """Capture some tables into a spool for the length of a block; then give the source up.

    They are read in "bulk", in "chunks" or by the "connector".
    """
    spool = SpoolFolder.claim(folder, slot=SLOT, tables=tuple(tables))
    database = PostgresDatabase(server.address, SLOT, tuple(tables))
    options = CaptureOptions(
        name="t",
        program=capture_jar,
        bulk=dict.fromkeys(tables, ("id",)) if by == "bulk" else None,
        once=by == "connector",
    )
    capture = Capture(database, spool, options)
    capture.start()
    try:
        capture.reach_end()
        yield spool
        capture.reach_end()
    finally:
        capture.close()
    kept = folder.with_name(f"{folder.name}-kept")
    (folder / "files").rename(kept)
    drop_source(database, spool)
    kept.rename(folder)


def rows(folder: Path, table: str) -> Mapping[int, Any]:
    """Return the rows that change files lead to: each key's newest by position, then place."""
    newest: dict[int, tuple[int, Any]] = {}
    for file in sorted((folder / table).glob("*.jsonl")):
        for change in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            at, after = change["source"]["lsn"], change["after"]
            key = (after or change["before"])["id"]
            if at >= newest.get(key, (0, None))[0]:
                newest[key] = (at, after)
    return {key: row for key, (_, row) in newest.items() if row is not None}


def test_each_type_is_told_as_the_connector_tells_it(
    server: Service, link: Connection, tmp_path: Path
) -> None:
    link.execute(TYPES)
    ways = ("chunks", "bulk", "connector")
    for way in ways:
        with captured(server, tmp_path / way, ["public.every"], by=way):
            # A change the first time, then a row that is there.
            link.execute(
                "insert into every (id, number, part) values"
                " (4, 0.1::float8 + 0.2::float8, 0.1::real + 0.2::real) on conflict do nothing"
            )

    chunks, told, known = (rows(tmp_path / way, "public.every") for way in ways)

    assert chunks == told
    assert 0.1 + 0.2 == told[4]["number"]
    assert (4, {"grown"}) == (len(known), known[2].keys() - told[2].keys())
    differing = {
        (key, name): (known[key][name], value)
        for key, row in told.items()
        for name, value in row.items()
        if same(known[key][name]) != same(value)
    }
    assert {} == differing


def same(value: object) -> object:
    """Return a time with a zone as such, however it is written."""
    timed = isinstance(value, str) and value.startswith("2026-") and "T" in value
    return datetime.fromisoformat(str(value)) if timed else value


def test_a_needed_column_of_another_type_is_refused(
    server: Service, link: Connection, tmp_path: Path
) -> None:
    link.execute("create table waits (id interval primary key)")

    with (
        pytest.raises(CaptureError, match='column "id" of public'),
        captured(server, tmp_path / "spool", ["public.waits"], by="bulk"),
    ):
        pass

    assert [] == link.execute("select slot_name from pg_replication_slots").fetchall()


def is_over(left: Iterator[int]) -> bool:
    return next(left, None) is None


def test_a_reading_broken_off_while_rows_change_loses_nothing_and_brings_nothing_back(
    server: Service, link: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.bulk._PIECE_BYTES", 1 << 18)
    link.execute("create table customer (id bigint primary key, name text)")
    link.execute("insert into customer select i, 'n' from generate_series(1, 25000) as i")
    link.execute(
        "create table purchase (id bigint primary key, customer_id bigint, amount numeric(10,2))"
        " partition by range (id)"
    )
    for part in range(3):
        bounds = f"from ({part * 10_000}) to ({(part + 1) * 10_000})"
        link.execute(f"create table p{part} partition of purchase for values {bounds}".encode())
    link.execute("insert into purchase select i, i, 1 from generate_series(1, 25000) as i")
    tables = ("public.customer", "public.purchase")
    database, folder = PostgresDatabase(server.address, SLOT, tables), tmp_path / "spool"

    with ExitStack() as capturing, Changes(server.address, seed=7):
        for pieces in (0, 1, 4):
            spool = SpoolFolder.claim(folder, slot=SLOT, tables=tables)
            begun_at = prepare(database, spool).begun_at
            left = iter(range(pieces))
            reading = Reading(database, spool, begun_at, ended=partial(is_over, left))
            with pytest.raises(BrokenOffError):
                reading.run()
        spool = capturing.enter_context(captured(server, folder, tables, by="bulk"))
        at = spool.position
        until(lambda: spool.position != at)
    stands = {
        "public.customer": "select id, row_to_json(t) from customer as t",
        "public.purchase": "select id, json_build_object('id', id, 'customer_id', customer_id,"
        " 'amount', amount::text) from purchase",
    }
    for table, statement in stands.items():
        assert dict(link.execute(statement.encode()).fetchall()) == rows(folder, table)


def has_any(folder: Path, *patterns: str) -> bool:
    """Return whether something is there, or what comes after it where it was there too briefly."""
    return any(any(folder.glob(each)) for each in patterns)


@pytest.mark.spark
@pytest.mark.parametrize(
    "moments", [MOMENTS[1:2], pytest.param(MOMENTS, marks=pytest.mark.chaos)], ids=["one", "ten"]
)
def test_a_run_that_begins_in_bulk_sends_each_document_once_whenever_it_is_killed(
    database: str, tmp_path: Path, spark: SparkSession, moments: Sequence[str]
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(url=database))
    random = Random(7)
    with closing(psycopg.connect(database, autocommit=True)) as shop:
        shop.execute("insert into customer select i, 'n' from generate_series(1, 3000) as i")
        shop.execute("insert into purchase select i, i, 1 from generate_series(1, 3000) as i")
        with Changes(database, seed=7):
            for moment in moments:
                with live_run(tmp_path, "--bootstrap-from", "database") as run:
                    run.until(partial(has_any, tmp_path, moment, MOMENTS[-1]), moment)
                    time.sleep(random.random())
                    run.kill()
        rebuild_in_bulk(spark, tmp_path)
        run_to_end(spark, tmp_path)
        assert documents(tmp_path) == truth(shop)
    (first, *_) = sorted((tmp_path / "out" / "profile").glob("*.jsonl"))
    keys = [json.loads(each)["key"]["id"] for each in first.read_text().splitlines()]
    assert len(keys) == len({*keys})
    assert len(keys) > 1000
