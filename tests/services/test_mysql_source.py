"""Documents straight from a database of MariaDB: its own log, captured into a spool."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.captured import until
from tests.services.live_run import live_run
from tests.services.mysql_captured import (
    CUSTOMER,
    PURCHASE,
    Changes,
    connected,
    new_database,
)
from tests.services.mysql_server import SERVERS, started_server
from tests.services.shop import PROJECT as SHOP
from tests.services.shop import documents
from tests.session_run import rebuild_in_bulk, run_to_end

import joinery as jn
from joinery.clients.mysql import MysqlLink
from joinery.delivery.action_log import ActionLog
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = SHOP.replace("postgres:", "mysql:")


@pytest.fixture(scope="module", params=SERVERS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with started_server(request.param, tmp_path_factory.mktemp(request.param)) as service:
        yield service


@pytest.fixture
def url(server: Service) -> Iterator[str]:
    with new_database(server.address, CUSTOMER, PURCHASE) as url:
        yield url


@pytest.fixture
def link(url: str) -> Iterator[MysqlLink]:
    with closing(connected(url)) as link:
        yield link


@pytest.fixture
def folder(tmp_path: Path, url: str) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(url=url))
    return tmp_path


def truth(link: MysqlLink) -> Mapping[int, Any]:
    """Return the documents by SQL."""
    found: dict[int, Any] = {
        key: {"id": key, "name": name, "purchases": []}
        for key, name in link.rows("select id, name from customer")
    }
    rows = link.rows("select customer_id, id, amount, at, day from purchase order by id")
    for customer, key, amount, at, day in rows:
        if customer in found:
            purchase = {"id": key, "amount": float(amount)}
            purchase |= {"at": at and f"{at.isoformat()}Z", "day": day and day.isoformat()}
            found[customer]["purchases"].append(purchase)
    return found


def joinery(folder: Path, *arguments: str) -> str:
    """Return what the command says."""
    command = [sys.executable, "-m", "joinery.cli.main", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def reached(folder: Path) -> tuple[int, int] | None:
    """Return up to where of the binary log a product shows all, if it is told: file, position."""
    [status] = jn.status(folder / "joinery.yaml").products
    [found] = status.frontiers or [None]
    if found is None or found.sure != "exact":
        return None
    assert found.committed_at is not None
    assert abs(found.committed_at - time.time()) < 600
    file, _, position = found.place.partition(":")
    return int(file.rpartition(".")[2]), int(position)


def test_rows_that_were_there_and_changes_since_become_documents(
    folder: Path, link: MysqlLink, spark: SparkSession
) -> None:
    link.rows("insert into customer values (1, 'Ada'), (2, 'Bob'), (3, 'Cy')")
    link.rows("insert into purchase values (10, 1, 9.50, '2026-01-31 12:00', '2026-01-31')")
    link.rows("insert into purchase values (11, 1, 1.25, null, null), (12, 3, 7, null, null)")
    project = jn.load(folder / "joinery.yaml")

    run = jn.run(spark, project)
    until(lambda: documents(folder) == truth(link))
    link.rows("begin")
    link.rows("update customer set name = 'Bea' where id = 2")
    link.rows("insert into purchase values (13, 2, 3, null, null)")
    link.rows("update customer set id = 4 where id = 3")
    link.rows("update purchase set customer_id = 4 where customer_id = 3")
    link.rows("delete from purchase where id = 11")
    link.rows("commit")
    until(lambda: documents(folder) == truth(link))
    until(lambda: reached(folder))
    status = joinery(folder, "source", "status")
    run.stop()
    before = reached(folder)
    link.rows("flush binary logs")
    link.rows("delete from customer where id = 1")
    link.rows("insert into customer values (5, 'Eve'), (6, 'Fay')")
    jn.run(spark, project, once=True).await_termination()

    assert documents(folder) == truth(link)
    after = reached(folder)
    assert before is not None
    assert after is not None
    assert before < after
    assert "running, " in status
    joinery(folder, "source", "read-again", "db")
    joinery(folder, "source", "drop", "db")
    noted = ActionLog(folder / ".joinery/checkpoint").actions()
    assert [("source read-again", ("db",)), ("source drop", ("db",))] == [
        (each.verb, each.about) for each in noted
    ]
    assert not (folder / ".joinery" / "spool" / "db").exists()


def test_a_start_in_bulk_sends_each_document_once_though_it_is_killed_as_it_reads(
    url: str, link: MysqlLink, folder: Path, spark: SparkSession
) -> None:
    numbers = "with recursive s(i) as (select 1 union all select i + 1 from s where i < 1000)"
    link.rows(f"insert into customer {numbers} select i, 'n' from s")
    link.rows(f"insert into purchase {numbers} select i, i, 1, null, null from s")
    with Changes(url, seed=7):
        with live_run(folder, "--bootstrap-from", "database") as run:
            reads = ".joinery/spool/db/.rows/*/*"
            run.until(lambda: has_any(folder, reads, "out/profile/*"), "reads tables")
            run.kill()
        rebuild_in_bulk(spark, folder)
    run_to_end(spark, folder)
    (first, *_) = sorted((folder / "out" / "profile").glob("*.jsonl"))
    keys = [json.loads(each)["key"]["id"] for each in first.read_text().splitlines()]

    assert len(keys) == len({*keys}) >= 500
    assert documents(folder) == truth(link)


def has_any(folder: Path, *patterns: str) -> bool:
    """Return whether something is there, or what comes after it where it was there too briefly."""
    return any(any(folder.glob(each)) for each in patterns)
