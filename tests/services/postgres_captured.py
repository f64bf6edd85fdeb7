"""A table of a PostgreSQL server of the module's own, and the spool that it is captured into."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.services.captured import Connection

from joinery.capture.capture import Capture, CaptureOptions
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.spool import SpoolFolder
from joinery.dev.postgres import postgres as postgres_service
from joinery.dev.service import Service
from joinery.model.progress import Waiting
from joinery.model.warning import RunWarning
from joinery.project.postgres import WalLimit
from joinery.spark.jar import capture_jar

TABLE = "public.customer"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server of the module's own, whose slots it drops and which it stops."""
    with postgres_service(tmp_path_factory.mktemp("captured")).started() as service:
        yield service


@pytest.fixture
def link(server: Service) -> Iterator[Connection]:
    with closing(psycopg.connect(server.address, autocommit=True)) as link:
        link.execute("drop table if exists customer")
        link.execute("create table customer (id bigint primary key, name text)")
        yield link
    with closing(psycopg.connect(server.address, autocommit=True)) as link:  # it may have stopped
        link.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots")
        link.execute("drop publication if exists joinery_t")


@pytest.fixture
def follower(link: Connection) -> Iterator[str]:
    """A user that may replicate, read `customer`, and change no publication."""
    link.execute("create role follower login replication")
    link.execute("grant select on customer to follower")
    link.execute("create publication joinery_t for table customer")
    yield "follower"
    link.execute("drop owned by follower")
    link.execute("drop role follower")


@pytest.fixture
def spool(tmp_path: Path) -> SpoolFolder:
    return SpoolFolder.claim(tmp_path / "spool", slot="joinery_t", tables=(TABLE,))


def database(server: Service, user: str = "joinery") -> PostgresDatabase:
    return PostgresDatabase(server.address.replace("joinery@", f"{user}@"), "joinery_t", (TABLE,))


def lines(folder: Path) -> Sequence[Any]:
    """Return what change files say, in their order."""
    found = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for each in found for line in each.read_text().splitlines()]


@contextmanager
def capturing(
    database: PostgresDatabase,
    spool: SpoolFolder,
    limit: WalLimit | None = None,
    *,
    warned: list[RunWarning] | None = None,
    bulk: bool = False,
    once: bool = False,
    followed: bool = False,
    columns: Mapping[str, Collection[str]] | None = None,
    waited: list[str] | None = None,
    moments: Mapping[str, Collection[str]] | None = None,
) -> Iterator[Capture]:
    def note(target: str, waiting: Waiting | None) -> None:
        if waited is not None:
            waited.append("back" if waiting is None else waiting.reason)

    options = CaptureOptions(
        name="t",
        program=capture_jar,
        max_wal=limit,
        on_wait=note,
        on_warning=([] if warned is None else warned).append,
        bulk=dict.fromkeys(database.tables, ("id",)) if bulk else None,
        once=once,
        followed=followed,
        columns=columns or {},
        moments=moments or {},
    )
    capture = Capture(database, spool, options)
    capture.start()
    try:
        yield capture
    finally:
        capture.close()


def joined(spool: SpoolFolder) -> bool:
    return spool.identity is not None and not spool.identity.joining


def until_raised(capture: Capture, limit_s: float = 300) -> None:
    """Ask for the end until that is refused, or it takes too long."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        capture.reach_end(lambda: time.monotonic() >= deadline)
