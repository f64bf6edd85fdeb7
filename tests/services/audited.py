"""A database whose customers have purchases, the product of it, and changes that go on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Self

import psycopg
from tests.services.captured import Connection

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.audit.verdict import DiffReport, Open

CUSTOMERS = 500
TOUCHED = 450
"""Above it nothing changes the documents of customers."""
PROJECT = """\
name: audited
sources:
  db: {{postgres: {{url: "{url}"}}}}
relations:
  customer:
    key: [id]
    fields: {{id: long, name: string, since: timestamp, code: string, rating: double}}
  purchase:
    key: [id]
    fields: {{id: long, customer_id: long, amount: "decimal(10,2)", at: timestamp, day: date}}
  item:
    key: [code]
    fields: {{code: string, title: string}}
    derive: {{short: "left(title, 3)"}}
products:
  profile:
    root: customer
    where: name is not null
    embed:
      purchases:
        many: purchase
        on: {{customer_id: id}}
        fields: [id, amount, at, day]
        order: [-amount]
        limit: 5
      item: {{one: item, on: {{code: code}}, fields: [short]}}
    values: {{spent: sum(purchases.amount)}}
    sink: {sink}
"""
TABLES = """
create table customer (
  id bigint primary key, name text, since timestamptz, code char(4), rating float8
);
create table purchase (
  id int primary key, customer_id int, amount numeric, at timestamp(3), day date
);
create index on purchase (customer_id);
create table item (code varchar(9) primary key, title text)
"""
ROWS = f"""
insert into item select 'c' || lpad(n::text, 3, '0'), 'Title ' || n from generate_series(1, 40) n;
insert into customer select n, 'n' || n, '2026-01-01 10:00+02'::timestamptz + n * interval '1.5 s',
  'c' || lpad((n % 40)::text, 3, '0'), n / 7.0 from generate_series(1, {CUSTOMERS}) n;
insert into purchase select n, n % {CUSTOMERS} + 1, (n % 97) / 4.0, '2026-02-01'::timestamp
  + n * interval '1 min', '2026-02-01' from generate_series(1, {CUSTOMERS * 5}) n
"""


@contextmanager
def running(spark: SparkSession, folder: Path) -> Iterator[None]:
    run = jn.run(spark, jn.load(folder / "joinery.yaml"))
    try:
        yield
    finally:
        run.stop()


def kinds(report: DiffReport) -> Mapping[int, str]:
    """Return whose fault is what, by the id of the document."""
    [part] = report.parts
    return {json.loads(each.key)["id"]: f"{each.cause} {each.kind}" for each in part.differences}


def opened(report: DiffReport) -> list[Open]:
    [part] = report.parts
    return [*part.unsettled, *part.unreadable]


class Changes(threading.Thread):
    """Alters, inserts, deletes and moves rows until the block ends, 500 a second at most."""

    def __init__(self, url: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._url, self._random, self._over = url, Random(seed), threading.Event()
        self.made = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        with closing(psycopg.connect(self._url, autocommit=True)) as link:
            while not self._over.wait(0.04):
                with link.transaction():
                    for _ in range(20):
                        self._change(link, self._random.randrange(1, TOUCHED))
                if not self.made:
                    link.execute("alter table customer add column added text default 'x'")
                self.made += 20

    def _change(self, link: Connection, key: int) -> None:
        match self._random.randrange(6):
            case 0:
                link.execute("delete from purchase where id = %s", (key,))
            case 1:
                link.execute("delete from customer where id = %s and id > 300", (key,))
            case 2:
                link.execute(
                    "insert into customer values (%s, 'new') on conflict (id)"
                    " do update set name = left(customer.name || 'x', 9)",
                    (key,),
                )
            case 3:
                link.execute("update purchase set amount = amount + 1 where id = %s", (key,))
            case 4:
                link.execute("update item set title = title || '.' where code = 'c001'")
            case _:
                link.execute(
                    "insert into purchase values (%s, %s, 1) on conflict (id)"
                    " do update set customer_id = purchase.customer_id %% 300 + 1",
                    (key + 10_000, key),
                )


def documents(sink: Connection) -> int:
    """Return how many documents the sink has."""
    if sink.execute("select to_regclass('profile')").fetchone() == (None,):
        return 0
    found = sink.execute("select count(*) from profile").fetchone()
    return int(found[0]) if found else 0
