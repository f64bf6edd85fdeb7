"""A shop in a PostgreSQL database: its project, changes at random, and its documents by SQL."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from tests.services.captured import Connection, new_database

from joinery.capture.spool import SpoolFolder
from joinery.dev.service import Service

PROJECT = """\
name: shop
sources:
  db: {{postgres: {{url: "{url}"}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  purchase:
    key: [id]
    fields: {{id: long, customer_id: long, amount: "decimal(10,2)", at: timestamp, day: date}}
products:
  profile:
    root: customer
    embed:
      purchases: {{many: purchase, on: {{customer_id: id}}, fields: [id, amount, at, day]}}
    sink: {{files: {{path: out}}}}
"""


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    """The URL of a database of the test's own, with two tables."""
    customer = "create table customer (id bigint primary key, name text)"
    purchase = (
        "create table purchase (id bigint primary key, customer_id bigint,"
        " amount numeric(10,2), at timestamp(3), day date)"
    )
    with new_database(postgres, "shop", customer, purchase) as url:
        yield url


@pytest.fixture
def folder(tmp_path: Path, database: str) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(url=database))
    return tmp_path


def documents(folder: Path) -> Mapping[int, Any]:
    """Return the documents that stand, by their key."""
    found: dict[int, Any] = {}
    for file in sorted((folder / "out" / "profile").glob("*.jsonl")):
        for each in map(json.loads, file.read_text().splitlines()):
            found[each["key"]["id"]] = each["value"]
    return {key: value for key, value in found.items() if value is not None}


def truth(link: Connection) -> Mapping[int, Any]:
    """Return the documents by SQL."""
    rows = link.execute(
        "select c.id, jsonb_build_object('id', c.id, 'name', c.name, 'purchases',"
        " coalesce((select jsonb_agg(jsonb_build_object('id', p.id, 'amount', p.amount,"
        " 'at', to_char(p.at, 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), 'day', p.day)"
        " order by p.id) from purchase as p where p.customer_id = c.id), '[]')) from customer as c"
    )
    return dict(rows.fetchall())


def joined(spool: SpoolFolder) -> bool:
    at, known = spool.position, spool.identity
    return at is not None and known is not None and not known.joining


_REST_S = 0.01  # between transactions: without it, they took as much as what is tested


class Changes(threading.Thread):
    """Inserts, updates, deletes and moves rows, in transactions, until the block ends."""

    def __init__(self, url: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._url, self._random, self._over = url, Random(seed), threading.Event()

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        with closing(psycopg.connect(self._url, autocommit=True)) as link:
            while not self._over.wait(_REST_S):
                with link.transaction():
                    for _ in range(self._random.randrange(1, 20)):
                        self._change(link, self._random.randrange(25_000))

    def _change(self, link: Connection, key: int) -> None:
        match self._random.randrange(4):
            case 0:
                link.execute("delete from customer where id = %s", (key,))
            case 1:
                link.execute(
                    "insert into customer values (%s, 'new') on conflict (id)"
                    " do update set name = customer.name || 'x'",
                    (key,),
                )
            case 2:
                link.execute("update purchase set amount = amount + 1 where id = %s", (key,))
            case _:
                link.execute(
                    "update purchase set id = %s where id = %s and not exists"
                    " (select from purchase where id = %s)",
                    (key + 1, key, key + 1),
                )


@contextmanager
def capturing(folder: Path, chunk_rows: int = 5000) -> Iterator[subprocess.Popen[bytes]]:
    """Run `joinery capture` for the length of a block, with chunks of so many rows."""
    program = (
        "from joinery.capture import chunks; from joinery.cli.main import main;"
        f" chunks._CHUNK_ROWS = ({chunk_rows}, {chunk_rows}); main()"
    )
    command = [sys.executable, "-c", program, "capture"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def files_of(spool: SpoolFolder, table: str) -> Sequence[Path]:
    return sorted((spool.path / "files" / f"public.{table}").glob("*.jsonl"))


def rows_of(spool: SpoolFolder, table: str) -> Mapping[int, Any]:
    """Return the rows that a spool leads to: each key's newest by position, then place."""
    newest: dict[int, tuple[int, Any]] = {}
    for file in files_of(spool, table):
        for change in map(json.loads, file.read_text().splitlines()):
            at, before, after = change["source"]["lsn"], change["before"], change["after"]
            if change["op"] == "d":
                after, key = None, before["id"]
            else:
                key = after["id"]
            if at >= newest.get(key, (0, None))[0]:
                newest[key] = (at, after and typed(after))
    return {key: row for key, (_, row) in newest.items() if row is not None}


def typed(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {n: Decimal(str(each)) if n == "amount" else each for n, each in row.items()}


def stands(link: Connection, table: str) -> Mapping[int, Any]:
    rows = link.execute(f"select id, row_to_json({table}) from {table}".encode()).fetchall()
    return {key: typed(row) for key, row in rows}
