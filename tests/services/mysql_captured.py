"""Databases of MySQL and MariaDB whose logs are captured, and rows that change in them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Self
from uuid import uuid4

import psutil
import pytest
from tests.services.captured import until
from tests.services.mysql_server import started_server

from joinery.capture.capture import Capture, CaptureOptions
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import SpoolFolder
from joinery.clients.mysql import MysqlLink
from joinery.dev.service import Service
from joinery.model.warning import RunWarning
from joinery.project.mysql_address import MysqlAddress
from joinery.spark.jar import capture_jar

SERVER_ID = 3_000_000_001
CUSTOMER = "create table customer (id bigint primary key, name text)"
PURCHASE = (
    "create table purchase (id bigint primary key, customer_id bigint, amount decimal(10,2),"
    " at datetime(3), day date)"
)
_ALL = ("mariadb", "mysql-8.4", "mysql-8.0")


def _of(chosen: str) -> pytest.MarkDecorator:
    """Have a test take one server; `make exhaustive` has it with the others."""
    others = (pytest.param(each, marks=pytest.mark.exhaustive) for each in _ALL if each != chosen)
    return pytest.mark.parametrize("server", [chosen, *others], indirect=True, scope="module")


# What goes on after a kill, joins tables, waits and pauses is ours, whichever connector reads the
# log: of each, one server has it in `make test`, and both have been killed.
OF_MARIADB, OF_MYSQL = _of("mariadb"), _of("mysql-8.4")


@pytest.fixture(
    scope="module",
    params=["mariadb", "mysql-8.4", pytest.param("mysql-8.0", marks=pytest.mark.exhaustive)],
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A server of the module's own, with a binary log of rows."""
    with started_server(request.param, tmp_path_factory.mktemp(request.param)) as service:
        yield service


@pytest.fixture
def url(server: Service) -> Iterator[str]:
    """The URL of a database of the test's own, with two tables."""
    with new_database(server.address, CUSTOMER, PURCHASE) as url:
        yield url


@contextmanager
def new_database(server: str, *statements: str) -> Iterator[str]:
    """Give the URL of a new database after some statements; it is dropped at the end."""
    name = f"shop_{uuid4().hex[:8]}"
    with closing(MysqlLink(MysqlAddress.of(server))) as link:
        link.rows(f"create database {name}")
    url = f"{server.rpartition('/')[0]}/{name}"
    with closing(connected(url)) as link:
        for each in statements:
            link.rows(each)
    yield url
    with closing(connected(url)) as link:  # another one: the server may have been started anew
        link.rows(f"drop database {name}")


def connected(url: str) -> MysqlLink:
    return MysqlLink(MysqlAddress.of(url))


def database_of(url: str, *tables: str, slot: str = "joinery_t") -> MysqlDatabase:
    name = MysqlAddress.of(url).database
    return MysqlDatabase(url, slot, tuple(f"{name}.{each}" for each in tables), SERVER_ID)


def as_user(database: MysqlDatabase, user: str) -> MysqlDatabase:
    address = MysqlAddress.of(database.url)
    url = f"mysql://{user}:engine@{address.host}:{address.port}/{address.database}"
    return replace(database, url=url)


def claimed(folder: Path, database: MysqlDatabase) -> SpoolFolder:
    return SpoolFolder.claim(folder / "spool", slot=database.slot, tables=database.tables)


@contextmanager
def capturing(
    database: MysqlDatabase,
    spool: SpoolFolder,
    on_warning: Callable[[RunWarning], None] = lambda warning: None,
) -> Iterator[Capture]:
    """Capture for the length of a block; what it failed of is raised at its end."""
    options = CaptureOptions(name="t", program=capture_jar, on_warning=on_warning)
    capture = Capture(database, spool, options)
    capture.start()
    try:
        yield capture
    finally:
        capture.close()
    if capture.error is not None:
        raise capture.error


def has_read(spool: SpoolFolder) -> bool:
    """Return whether the log is followed, and all tables have been read beside it."""
    known = spool.identity
    return spool.position is not None and known is not None and not known.joining


def kill_process() -> None:
    """Kill the Java process of the capture that this process runs, without warning."""
    for each in _processes():
        with suppress(psutil.NoSuchProcess):
            each.kill()


def capture_runs() -> bool:
    return bool(_processes())


def _processes() -> list[psutil.Process]:
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "dev.joinery.capture.Capture" in each.cmdline():
                found.append(each)
    return found


def changes_of(spool: SpoolFolder, table: str) -> list[dict[str, Any]]:
    """Return the changes of a table that a spool has, in its files' order."""
    files = sorted((spool.path / "files").glob(f"*.{table}/*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def rows_of(spool: SpoolFolder, table: str) -> Mapping[int, Any]:
    """Return the rows that a spool leads to: each key's newest by position, then place."""
    newest: dict[int, tuple[int, Any]] = {}
    for change in changes_of(spool, table):
        at, before, after = change["source"]["lsn"], change["before"], change["after"]
        if change["op"] == "t":
            newest = dict.fromkeys(newest, (at, None))
            continue
        key = before["id"] if change["op"] == "d" else after["id"]
        if at >= newest.get(key, (0, None))[0]:
            newest[key] = (at, after and _plain(after))
    return {key: row for key, (_, row) in newest.items() if row is not None}


def _plain(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {n: Decimal(each) if n == "amount" and each else each for n, each in row.items()}


def stands(url: str, table: str, *columns: str) -> Mapping[int, Any]:
    """Return the rows of a table, by SQL."""
    with closing(connected(url)) as link:
        rows = link.rows(f"select {', '.join(('id', *columns))} from {table}")
    return {row[0]: dict(zip(("id", *columns), row, strict=True)) for row in rows}


_REST_S = 0.01  # between transactions: without it, they took as much as what is tested


def alter(link: MysqlLink, capture: Capture, *statements: str) -> None:
    """Alter tables under a capture, and wait until it gives up."""
    until(capture_runs)
    for each in statements:
        link.rows(each)
    until(lambda: capture.error)


class Changes(threading.Thread):
    """Changes rows, in transactions, and begins new files of the log."""

    def __init__(self, url: str, seed: int, keys: int = 2_000) -> None:
        super().__init__(daemon=True)
        self._url, self._random, self._keys = url, Random(seed), keys
        self._over = threading.Event()
        self.done = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def more(self) -> None:
        """Wait until some more transactions were committed."""
        enough = self.done + 20
        until(lambda: self.done >= enough)

    def run(self) -> None:
        with closing(connected(self._url)) as link:
            while not self._over.wait(_REST_S):
                link.rows("begin")
                for _ in range(self._random.randrange(1, 20)):
                    self._change(link, self._random.randrange(1, self._keys))
                link.rows("commit")
                self.done += 1
                if self.done % 100 == 0:
                    link.rows("flush binary logs")

    def _change(self, link: MysqlLink, key: int) -> None:
        match self._random.randrange(4):
            case 0:
                link.rows("delete from customer where id = %s", key)
            case 1:
                link.rows(
                    "insert into customer values (%s, 'new')"
                    " on duplicate key update name = concat(name, 'x')",
                    key,
                )
            case 2:
                link.rows("update purchase set amount = amount + 1 where id = %s", key)
            case _:
                # A key is left and taken within a transaction, and within a statement.
                link.rows(
                    "update ignore purchase set id = id + 1 where id in (%s, %s) order by id desc",
                    key,
                    key + 1,
                )


def numbers(first: int, last: int) -> str:
    """Return a query of numbers, as `n`."""
    digits = " union all ".join(f"select {each} as d" for each in range(10))
    places = [f"({digits}) as p{each}" for each in range(5)]
    total = " + ".join(f"p{each}.d * {10**each}" for each in range(5))
    inner = f"select {total} as n from {' cross join '.join(places)}"
    return f"select n from ({inner}) as counted where n between {first} and {last}"
