"""Documents straight from a PostgreSQL database: its own log, captured into a spool."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import psutil
import psycopg
import pytest
from tests.services import shop
from tests.services.captured import Connection, until
from tests.services.shop import (
    Changes,
    capturing,
    documents,
    files_of,
    joined,
    rows_of,
    stands,
    truth,
)
from tests.unit.cli.command import joinery

import joinery as jn
from joinery.capture.chunks import Chunks
from joinery.capture.keep import SpoolKeep
from joinery.capture.postgres import PostgresDatabase, mark
from joinery.capture.spool import CapturePosition, SpoolFolder
from joinery.dead_letters.queue import DeadLetterQueue, Selection
from joinery.spark.source.spool_readers import SpoolShortError, applied_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
LIMIT_S = 300
database, folder = shop.database, shop.folder
_KILLS = 2


def test_rows_that_were_there_and_changes_since_become_documents(
    folder: Path, link: Connection, spark: SparkSession
) -> None:
    link.execute("insert into customer values (1, 'Ada'), (2, 'Bob'), (3, 'Cy')")
    link.execute("insert into purchase values (10, 1, 9.50), (11, 1, 1.25), (12, 3, 7)")
    link.execute("update purchase set at = '2026-01-31 12:00', day = '2026-01-31' where id = 10")
    project = jn.load(folder / "joinery.yaml")

    run = jn.run(spark, project)
    until(lambda: documents(folder) == truth(link))
    with link.transaction():
        link.execute("update customer set name = 'Bea' where id = 2")
        link.execute("insert into purchase values (13, 2, 3)")
        link.execute("update customer set id = 4 where id = 3")
        link.execute("delete from purchase where id = 11")
    until(lambda: documents(folder) == truth(link))
    run.stop()
    why = jn.why(folder, "profile", 1, absent="purchase:11")
    assert ("position", documents(folder)[1]) == (why.ordered, json.loads(why.document or ""))
    assert why.last is not None
    assert ("delete", "purchase", "11") == (why.last.does, why.last.relation, why.last.key)
    before = jn.why(folder, "profile", 1, at=str((why.last.position or 0) - 1))
    assert [10, 11] == [each["id"] for each in json.loads(before.document or "")["purchases"]]
    assert [each for each in why.absent if "purchase 11 was deleted at public.purchase/" in each]
    link.execute("delete from customer where id = 1")
    link.execute("insert into customer select each, 'n' from generate_series(10, 1000) as each")
    link.execute("insert into purchase values (99, 9, 'NaN')")
    jn.run(spark, project, once=True).await_termination()
    letters = DeadLetterQueue(project.spec, project.plan)
    assert (1, []) == (len(letters.find(Selection())), letters.replay(letters.find(Selection())))

    assert documents(folder) == truth(link)
    text = (folder / "joinery.yaml").read_text()
    (folder / "joinery.yaml").write_text(text.replace('"}}\n', '", spool: {keep: 1s}}}\n', 1))
    project = jn.load(folder / "joinery.yaml")
    run = jn.run(spark, project)
    files = folder / ".joinery" / "spool" / "db" / "files"
    until(lambda: not list(files.glob("*/*.jsonl")))
    link.execute("insert into purchase values (14, 4, 2)")
    until(lambda: documents(folder) == truth(link))
    run.stop()
    with pytest.raises(SpoolShortError, match='the spool of source "db" no longer has all'):
        jn.run(spark, project, rebuild=True)


SUMS = """\
  sums:
    group: shop
    aggregate: purchase
    by: [customer_id]
    values: {NAME: "sum(amount)"}
    sink: {files: {path: out}}
"""


def test_an_added_product_is_built_from_a_spool_that_is_whole(
    folder: Path,
    link: Connection,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = folder / "joinery.yaml"
    text = file.read_text().replace("profile:\n", "profile:\n    group: shop\n")
    file.write_text(text)
    monkeypatch.chdir(folder)
    link.execute("insert into customer values (1, 'Ada'), (2, 'Bob')")
    link.execute("insert into purchase values (10, 1, 9.50), (11, 1, 1.25), (12, 2, 7)")
    jn.run(spark, jn.load(file), once=True).await_termination()
    link.execute("update purchase set customer_id = 2 where id = 10")
    link.execute("delete from purchase where id = 12")
    jn.run(spark, jn.load(file), once=True).await_termination()
    file.write_text(text + SUMS.replace("NAME", "total"))
    assert 0 == joinery(monkeypatch, "apply")
    link.execute("insert into purchase values (13, 2, 0.5)")

    jn.run(spark, jn.load(file), once=True).await_termination()

    assert [(1, 1.25), (2, 9.5), (2, 10.0)] == sums_of(folder, "total")
    assert documents(folder) == truth(link)
    file.write_text(text + SUMS.replace("NAME", "sum"))
    assert 0 == joinery(monkeypatch, "apply")
    keep = SpoolKeep(SpoolFolder(folder / ".joinery" / "spool" / "db"))
    assert 0 == keep.prune(0, applied_files), "all are read again for the product that changed"
    jn.run(spark, jn.load(file), once=True).await_termination()
    assert [(1, 1.25), (2, 10.0)] == sorted(sums_of(folder, "sum"))
    assert keep.prune(0, applied_files) > 0
    file.write_text(text + SUMS.replace("NAME", "amount"))
    assert 3 == joinery(monkeypatch, "plan")
    assert 'the spool of source "db" no longer has all changes' in capsys.readouterr().out


def sums_of(folder: Path, name: str) -> list[tuple[int, float]]:
    lines = [
        json.loads(line)
        for each in sorted((folder / "out" / "sums").glob("*.jsonl"))
        for line in each.read_text().splitlines()
    ]
    return [
        (each["key"]["customer_id"], each["value"][name]) for each in lines if name in each["value"]
    ]


def test_a_capture_killed_at_any_moment_loses_nothing_and_brings_nothing_back(
    folder: Path, link: Connection, database: str
) -> None:
    link.execute("insert into customer select each, 'n' from generate_series(1, 20000) as each")
    link.execute("insert into purchase select each, each, 1 from generate_series(1, 20000) as each")
    random, spool = Random(7), SpoolFolder(folder / ".joinery" / "spool" / "db")
    moments = (
        lambda: spool.position is not None,
        lambda: chunks(spool, "purchase") > 20 or joined(spool),
        lambda: list(spool.path.glob("files/*/*.jsonl")),
    )

    with Changes(database, seed=7):
        for moment in moments:
            with capturing(folder, chunk_rows=500) as capture:
                until(moment)
                kill(capture)
        for _ in range(_KILLS):
            with capturing(folder, chunk_rows=500) as capture:
                until(lambda: joined(spool))
                until(partial(moved_on, spool, spool.position))
                time.sleep(random.random() / 4)
                kill(capture)
    with capturing(folder) as capture:
        reach_end(spool, database)
        code = ended(capture)

    assert code == 0
    assert rows_of(spool, "customer") == stands(link, "customer")
    assert rows_of(spool, "purchase") == stands(link, "purchase")


def moved_on(spool: SpoolFolder, before: CapturePosition | None) -> bool:
    return spool.position != before


def chunks(spool: SpoolFolder, table: str) -> int:
    """Return how many chunks of a table are read and not in place yet."""
    done = Chunks.noted(spool.rows(f"public.{table}"))
    return done.chunks if done else 0


def test_what_an_open_transaction_wrote_before_the_tables_were_read_is_newer(
    folder: Path, link: Connection, database: str
) -> None:
    link.execute("insert into customer select each, 'n' from generate_series(1, 3) as each")
    spool = SpoolFolder(folder / ".joinery" / "spool" / "db")

    with ExitStack() as stack:
        one, two, three = (stack.enter_context(psycopg.connect(database)) for _ in range(3))
        one.execute("update customer set name = 'one' where id = 1")
        capture = stack.enter_context(capturing(folder))
        # The slot is made once all that ran have ended: twice.
        until(lambda: waited_for(link, one))
        two.execute("update customer set name = 'two' where id = 2")
        one.commit()
        until(lambda: waited_for(link, two))
        three.execute("update customer set name = 'three' where id = 3")
        two.commit()
        until(lambda: list(spool.path.glob(".rows/*/progress.json")))
        three.commit()
        reach_end(spool, database)
        code = ended(capture)

    assert code == 0
    assert rows_of(spool, "customer") == stands(link, "customer")


def test_a_capture_killed_within_a_transaction_reads_it_again_from_its_start(
    folder: Path, link: Connection, database: str
) -> None:
    link.execute("insert into customer select each, 'n' from generate_series(1, 9999) as each")
    spool = SpoolFolder(folder / ".joinery" / "spool" / "db")
    with capturing(folder) as capture:
        until(lambda: joined(spool))
        before = files_of(spool, "customer")
        with link.transaction():
            link.execute("insert into customer values (0, 'n')")
            # A key's change is two records of one place.
            link.execute("update customer set id = -id")
        until(lambda: files_of(spool, "customer") != before)
        kill(capture)
    with capturing(folder) as capture:
        reach_end(spool, database)
        code = ended(capture)

    assert code == 0
    assert rows_of(spool, "customer") == stands(link, "customer")


def test_a_table_joins_a_spool_while_rows_change_and_is_read_again(
    folder: Path, link: Connection, database: str
) -> None:
    link.execute("insert into customer select each, 'n' from generate_series(1, 5000) as each")
    link.execute("insert into purchase select each, each, 1 from generate_series(1, 20000) as each")
    text = (folder / "joinery.yaml").read_text()
    (folder / "joinery.yaml").write_text(text.replace('"}}\n', '", tables: [customer]}}\n', 1))
    text = (folder / "joinery.yaml").read_text()
    start, end = text.index("  purchase:"), text.index("products:")
    text = text[:start] + text[end:].replace("embed:\n      purchases:", "#")
    (folder / "joinery.yaml").write_text(text)
    spool = SpoolFolder(folder / ".joinery" / "spool" / "db")

    with Changes(database, seed=7):
        with capturing(folder, chunk_rows=500) as capture:
            until(lambda: joined(spool))
            both = ("public.customer", "public.purchase")
            SpoolFolder.claim(spool.path, slot="joinery_shop_db", tables=both)
            until(lambda: chunks(spool, "purchase") > 10 or joined(spool))
            kill(capture)
        read = chunks(spool, "purchase")
        kept = {each.stat().st_ino for each in spool.rows("public.purchase").glob("*.jsonl")}
        with capturing(folder, chunk_rows=500) as capture:
            until(lambda: chunks(spool, "purchase") > read + 10 or joined(spool))
            end_readings(link)
            until(lambda: joined(spool))
            placed = {each.stat().st_ino for each in files_of(spool, "purchase")}
            spool.read_again()
            until(lambda: joined(spool))
            capture.terminate()
            code = capture.wait(LIMIT_S)
    with capturing(folder) as capture:
        reach_end(spool, database)
        ended(capture)

    assert code == 0
    assert kept <= placed  # What was read before the kill was not read again.
    assert rows_of(spool, "customer") == stands(link, "customer")
    assert rows_of(spool, "purchase") == stands(link, "purchase")


def end_readings(link: Connection) -> None:
    """End the connections of readings beside the log."""
    link.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy (select%'"
        " and pid <> pg_backend_pid()"
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a capture and the Java process that it started, without warning."""
    children = psutil.Process(process.pid).children(recursive=True)
    for each in (psutil.Process(process.pid), *children):
        with suppress(psutil.NoSuchProcess):
            each.kill()


def ended(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    return process.wait(LIMIT_S)


def reach_end(spool: SpoolFolder, database: str) -> None:
    """Wait until all that is committed by now is in a spool."""
    end = mark(PostgresDatabase(database, "", ()))
    until(lambda: joined(spool) and (at := spool.position) is not None and at.lsn >= end)


def waited_for(link: Connection, other: Connection) -> bool:
    """Return whether somebody waits for the end of a connection's transaction."""
    found = link.execute(
        "select from pg_locks as wanted join pg_locks as held using (transactionid)"
        " where not wanted.granted and held.granted and held.pid = %s",
        (other.info.backend_pid,),
    )
    return found.fetchone() is not None


def test_a_change_file_that_is_missing_is_refused_until_it_is_put_back(
    folder: Path, link: Connection, spark: SparkSession, database: str
) -> None:
    spool = SpoolFolder(folder / ".joinery" / "spool" / "db")
    with capturing(folder) as capture:
        until(lambda: joined(spool))
        for key in range(1, 4):
            link.execute("insert into customer values (%s, 'n')", (key,))
            link.execute("insert into purchase values (%s, %s, 1)", (key, key))
            reach_end(spool, database)
        ended(capture)
    project = jn.load(folder / "joinery.yaml")
    files = files_of(spool, "customer")

    for each in (files[0], files[1], files[-1]):
        each.rename(aside := folder / "aside")
        with pytest.raises(SpoolShortError, match=f"lacks change file {each.name[:16]} of table"):
            jn.run(spark, project, once=True)
        aside.rename(each)
    jn.run(spark, project, once=True).await_termination()
    files[1].unlink()  # It has been read.
    link.execute("update customer set name = 'x' where id = 2")
    jn.run(spark, project, once=True).await_termination()

    assert documents(folder) == truth(link)
    with pytest.raises(SpoolShortError, match=f"lacks change file {files[1].name[:16]}"):
        jn.run(spark, project, rebuild=True)
