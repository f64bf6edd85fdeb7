"""Tables from an export in Parquet: rows of any moments since the log began, then the log."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
import pytest
from tests.services import shop
from tests.services.captured import REBUILD_MOMENTS, Connection, new_database, until
from tests.services.live_run import live_run
from tests.services.shop import Changes, capturing, documents, truth

import joinery as jn
from joinery.capture.export import ExportError
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.tending import TooMuchLogError
from joinery.delivery.action_log import ActionLog
from joinery.dev.service import Service
from joinery.model.progress import Waiting
from joinery.project.load import load_spec
from joinery.spark.batch.exports import begin_source, exports_of
from joinery.spark.batch.parquet import take_export
from joinery.spark.session import clone_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
LIMIT_S = 300
database, folder = shop.database, shop.folder
COLUMNS = {
    "customer": "id bigint, name varchar",
    "purchase": 'id bigint, customer_id bigint, amount decimal(10,2), "at" timestamp, day date',
}
# What stands in the folder of a project as it begins from an export, from the first to the last.
MOMENTS = (
    ".joinery/spool/db/.rows/public.customer/.writing",
    ".joinery/spool/db/.rows/public.purchase/*.jsonl",
    ".joinery/spool/db/files/public.customer/*",
    *REBUILD_MOMENTS,
)


def write(file: Path, columns: str, rows: Sequence[Sequence[Any]] = ()) -> None:
    """Write rows into a file of Parquet, as some tool that exports tables does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    names = [each.split()[0].strip('"') for each in columns.split(", ")]
    lines = file.with_suffix(".json")
    with lines.open("w") as out:
        for row in rows:
            out.write(json.dumps(dict(zip(names, row, strict=True)), default=str) + "\n")
    with closing(duckdb.connect()) as made:
        made.execute(f"create table t ({columns})")
        if rows:
            made.execute(f"copy t from '{lines}' (format json)")
        made.execute(f"copy t to '{file}' (format parquet)")
    lines.unlink()


def export(link: Connection, folder: Path, *tables: str) -> None:
    for table in tables:
        rows = link.execute(f"select * from {table}".encode()).fetchall()
        write(folder / f"public.{table}" / "1" / "part-00000.gz.parquet", COLUMNS[table], rows)


def begin(folder: Path) -> SpoolFolder:
    spec = load_spec(folder / "joinery.yaml")
    begin_source(spec, spec.sources[0])
    return SpoolFolder(folder / ".joinery" / "spool" / "db")


def joinery(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "joinery.cli.main", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def take(spark: SparkSession, folder: Path) -> list[str]:
    """Take the export of a project; return what was told of it."""
    told: list[str] = []
    for each in exports_of(load_spec(folder / "joinery.yaml"), folder / "export"):
        take_export(spark, each, ended=lambda: False, tell=told.append)
    return told


def test_rows_of_several_moments_and_the_log_become_what_the_tables_hold(
    folder: Path, link: Connection, spark: SparkSession
) -> None:
    link.execute("insert into customer values (1, 'Ada'), (2, 'Bob'), (3, 'Cy'), (4, 'Di')")
    link.execute("insert into purchase values (10, 1, 9.50, '2026-01-31 12:00', '0099-12-31')")
    spool = begin(folder)
    project = jn.load(folder / "joinery.yaml")
    with pytest.raises(CaptureError, match='source "db" waits for an export of its tables'):
        jn.run(spark, project)
    link.execute("delete from customer where id = 1")
    link.execute("update customer set name = 'Bea' where id = 2")
    export(link, folder / "export", "customer")
    link.execute("update customer set id = 5 where id = 3")
    link.execute("insert into customer values (1, 'Ann')")
    link.execute("insert into purchase values (11, 4, 1.25), (12, 5, 7)")
    export(link, folder / "export", "purchase")
    link.execute("delete from customer where id = 4")
    again = joinery(folder, "source", "begin", "db")  # which leaves everything as it was
    with capturing(folder):
        until(lambda: list(spool.path.glob(".held/*/*.jsonl")))
    status = joinery(folder, "source", "status")

    told = take(spark, folder)
    jn.run(spark, project, rebuild=True).await_termination()

    first = "3 rows of public.customer taken from 1 files"
    assert [first, "3 rows of public.purchase taken from 1 files"] == told
    assert documents(folder) == truth(link)
    assert {1: 1, 2: 1, 5: 1} == sent(folder)
    assert 'slot "joinery_shop_db" keeps the log of' in again
    noted = ActionLog(folder / ".joinery/checkpoint").actions()
    assert ["source begin", "run --rebuild"] == [each.verb for each in noted]
    assert "public.customer: waits for its export: joinery run --bootstrap-from" in status
    assert [] == take(spark, folder)  # What was taken is not taken again.


def sent(folder: Path) -> Mapping[int, int]:
    """Return how often each document was sent."""
    lines = (e for f in (folder / "out" / "profile").glob("*.jsonl") for e in f.open())
    return Counter(json.loads(each)["key"]["id"] for each in lines)


EVERY = """
create table every (
    id bigint primary key, flag boolean, tiny smallint, part real, number double precision,
    exact numeric(20,4), words text, code char(5), who uuid, doc jsonb, \"at\" timestamp, zoned
    timestamptz, day date, bytes bytea, tags text[], sums numeric(9,2)[], span interval,
    grown int generated always as (tiny * 2) stored);
insert into every (id) values (1);
insert into every values (2, true, -7, 0.5, 1e-7, 1234567890123456.5000,
    E'tab\\t quote" back\\\\slash new\\nline ü €', 'ab', gen_random_uuid(), '{"b": null}',
    '1969-12-31 23:59:59.000001', '2026-02-03 04:05:06.5+02', '0099-12-31', '\\x00ff10',
    '{"a,b",NULL}', '{1.50,2}');
"""
EVERY_FIELDS = (
    "id: long, flag: boolean, tiny: int, part: float, number: double, exact: 'decimal(20,4)',"
    " words: string, code: string, who: string, doc: string, at: timestamp, zoned: timestamp,"
    " day: date, bytes: binary, tags: 'array<string>', sums: 'array<decimal(9,2)>'"
)
EVERY_COLUMNS = (
    "id bigint, flag boolean, tiny smallint, part float, number double, exact decimal(20, 4),"
    ' words varchar, code varchar, who varchar, doc varchar, "at" timestamp, zoned timestamptz,'
    " day date, bytes blob, tags varchar[], sums decimal(9, 2)[], span varchar, grown int"
)


def test_each_type_is_taken_as_it_is_read_from_the_database(
    postgres: Service, tmp_path: Path, spark: SparkSession
) -> None:
    found = []
    with new_database(postgres, "every", EVERY) as url:
        for way in ("read", "taken"):
            folder = tmp_path / way
            folder.mkdir()
            (folder / "joinery.yaml").write_text(
                f'name: {way}\nsources: {{db: {{postgres: {{url: "{url}"}}}}}}\n'
                f"relations: {{every: {{key: [id], fields: {{{EVERY_FIELDS}}}}}}}\n"
                "products: {profile: {root: every, sink: {files: {path: out}}}}\n"
            )
            if way == "taken":
                begin(folder)
                write_every(url, folder / "export" / "every.parquet")
                take(clone_session(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}), folder)
            project = jn.load(folder / "joinery.yaml")
            jn.run(spark, project, once=True).await_termination()
            found.append(documents(folder))

    read, taken = found
    assert {1, 2} == read.keys()
    assert read == taken


def write_every(url: str, file: Path) -> None:
    """Write the rows of the table, each value given as DuckDB's own."""
    file.parent.mkdir(parents=True)
    kept = EVERY_COLUMNS.replace("decimal(20, 4)", "decimal(20,4)").replace("(9, 2)", "(9,2)")
    with closing(psycopg.connect(url)) as link, closing(duckdb.connect()) as made:
        made.execute("set timezone = 'UTC'")
        made.execute(f"create table t ({kept})")
        rows = link.execute(
            "select id, flag, tiny, part, number, exact, words, code, who::text, doc::text, at,"
            " zoned, day, bytes, tags, sums, span, grown from every"
        ).fetchall()
        marks = ", ".join("?" for _ in rows[0])
        made.executemany(f"insert into t values ({marks})", rows)
        made.execute(f"copy t to '{file}' (format parquet)")


BAD: Mapping[str, tuple[str, Sequence[Sequence[Any]], str]] = {
    "columns": (
        "id bigint, title varchar",
        [(1, "a")],
        'the Parquet files of table public.customer have no column "name"',
    ),
    "types": (
        "id bigint, name int",
        [(1, 1)],
        'column "name" of public.customer is int in Parquet, which relation "customer" cannot read'
        " as string",
    ),
    "nested": (
        "id bigint, name struct(a int)",
        [(1, {"a": 1})],
        'column "name" of public.customer is struct<a:int> in Parquet, which relation',
    ),
    "nulls": (
        "id bigint, name varchar",
        [(None, "a"), (None, "b"), (1, "c")],
        r"2 rows of table public.customer have no value in their key \(id\)",
    ),
    "twice": (
        "id bigint, name varchar",
        [(1, "a"), (1, "b"), (2, "c")],
        r"1 keys of table public.customer \(id\) have several rows",
    ),
}


def test_what_cannot_be_taken_is_refused_in_a_line_and_leaves_the_tables_waiting(
    folder: Path, link: Connection, spark: SparkSession
) -> None:
    link.execute("insert into customer values (1, 'Ada')")
    spool = begin(folder)
    write(folder / "export" / "purchase.parquet", COLUMNS["purchase"])
    file = folder / "export" / "customer.parquet"
    for columns, rows, told in BAD.values():
        write(file, columns, rows)
        with pytest.raises(ExportError, match=told):
            take(spark, folder)
    file.write_bytes(b"no Parquet")
    with pytest.raises(ExportError, match=r"files of table .* could not be read"):
        take(spark, folder)
    known = spool.identity
    assert known is not None
    assert ("public.customer", "public.purchase") == known.awaited

    write(file, COLUMNS["customer"], [(1, "Ada")])
    take(spark, folder)
    jn.run(spark, jn.load(folder / "joinery.yaml"), once=True).await_termination()

    assert documents(folder) == truth(link)
    with pytest.raises(ExportError, match=r"the log of .* is already captured into "):
        begin(folder)


def test_a_server_that_is_away_while_an_export_is_taken_is_waited_for(
    folder: Path, link: Connection, postgres: Service, spark: SparkSession
) -> None:
    begin(folder)
    export(link, folder / "export", "customer", "purchase")
    (one,) = exports_of(load_spec(folder / "joinery.yaml"), folder / "export")
    told: list[str] = []

    def waits(target: str, waiting: Waiting | None) -> None:
        if not told:
            postgres.start()
        told.append(waiting.reason if waiting else f"{target} is back")

    postgres.stop()
    broken_off = take_export(spark, one, ended=lambda: True, tell=told.append)
    taken = take_export(spark, one, ended=lambda: False, tell=lambda line: None, on_wait=waits)

    assert (broken_off, taken) == (False, True)
    assert told[0].startswith("could not reach the database")
    assert told[-1] == "the database of source db, to take its export is back"


BECOMES: Mapping[str, tuple[str, str]] = {
    "personal": (
        "key: [id], personal: {subject: id, fields: [name]},",
        'source "db" has personal columns, which cannot be loaded from an export yet',
    ),
    "append": (
        "key: [id], append: true,",
        'relation "customer" is append, and its rows cannot come from an export',
    ),
}


@pytest.mark.parametrize("what", BECOMES)
def test_what_an_export_could_not_be_begun_for_is_not_taken_of_one(folder: Path, what: str) -> None:
    begin(folder)
    declared, told = BECOMES[what]
    text = (folder / "joinery.yaml").read_text().replace("key: [id],", declared, 1)
    vault = "vault: {sqlite: {path: keys.db}, master: not a secret since this is a test}\n"
    (folder / "joinery.yaml").write_text(text + (vault if what == "personal" else ""))

    with pytest.raises(ExportError, match=told) as refused:
        exports_of(load_spec(folder / "joinery.yaml"), folder)

    assert "or joinery source drop db, and run without it." in refused.value.hint


def test_a_log_that_grows_too_far_before_it_is_begun_is_let_go_of(
    folder: Path, link: Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.tending._SERVER_S", 0.5)
    text, limit = (folder / "joinery.yaml").read_text(), '", max_wal: {size: 1 MiB, then: stop}}}'
    (folder / "joinery.yaml").write_text(text.replace('"}}', limit, 1))
    slots = "select 1 from pg_replication_slots where database = current_database()"
    failed: list[TooMuchLogError] = []

    def begins() -> None:
        try:
            begin(folder)
        except TooMuchLogError as error:
            failed.append(error)

    with closing(psycopg.connect(database)) as open_one:
        open_one.execute("insert into customer values (1, 'open')")  # The slot waits for its end.
        beginning = threading.Thread(target=begins)
        beginning.start()
        until(lambda: link.execute(slots.encode()).fetchone())
        link.execute(
            "create table log as select repeat(i::text, 99) from generate_series(1, 9999) i"
        )
        beginning.join()
        left = link.execute(slots.encode()).fetchall()
        open_one.commit()
    spool = begin(folder)

    assert ["more than max_wal" in each.message for each in failed] == [True]
    assert [] == left
    assert spool.identity is not None
    assert spool.identity.awaited


def reached(folder: Path, moment: str) -> bool:
    """Return whether a moment is there, or the last one, where it was there too briefly."""
    return any(folder.glob(moment)) or any(folder.glob(MOMENTS[-1]))


@pytest.mark.parametrize(
    "moments", [MOMENTS[1:2], pytest.param(MOMENTS, marks=pytest.mark.chaos)], ids=["one", "all"]
)
def test_a_run_from_an_export_sends_each_document_once_whenever_it_is_killed(
    folder: Path, link: Connection, database: str, moments: Sequence[str]
) -> None:
    link.execute("insert into customer select i, 'n' from generate_series(1, 3000) as i")
    link.execute("insert into purchase select i, i, 1 from generate_series(1, 3000) as i")
    random, asked = Random(7), ("--bootstrap-from", "parquet", str(folder / "export"))

    with Changes(database, seed=7):
        told = joinery(folder, "source", "begin", "db")
        export(link, folder / "export", "purchase")
        with capturing(folder):  # beside the export, as long as that takes
            export(link, folder / "export", "customer")
        for moment in moments:
            with live_run(folder, *asked) as run:
                run.until(partial(reached, folder, moment), moment)
                time.sleep(random.random())
                run.kill()
    with live_run(folder, *asked, "--once") as run:
        assert run.process.wait(LIMIT_S) == 0, run.said()

    assert 'slot "joinery_shop_db" keeps the log of' in told
    assert documents(folder) == truth(link)
    (first, *_) = sorted((folder / "out" / "profile").glob("*.jsonl"))
    keys = [json.loads(each)["key"]["id"] for each in first.read_text().splitlines()]
    assert len(keys) == len({*keys})
    assert len(keys) > 1000
