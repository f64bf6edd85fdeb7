"""PostgreSQL to Debezium to Kafka to documents, with each server killed under the chain."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.services.live_run import live_run

from joinery.dev.connect import connect, create, state_of
from joinery.dev.debezium import capture
from joinery.dev.kafka import kafka
from joinery.dev.postgres import postgres
from joinery.dev.service import Service

pytestmark = [pytest.mark.chaos, pytest.mark.services, pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
name: chain
sources: {{changes: {{kafka: {{bootstrap: "{kafka}"}}}}}}
defaults: {{source: changes, format: debezium-json}}
relations:
  author: {{topic: chain.public.author, key: [id], fields: {{id: int, name: string}}}}
  book:
    topic: chain.public.book
    key: [id]
    fields: {{id: int, author_id: int, title: string}}
products:
  author_card:
    root: author
    fields: [id, name]
    embed: {{books: {{many: book, on: {{author_id: id}}, fields: [id, title]}}}}
    sink: {{sqlite: {{path: cards.db, table: cards}}}}
"""
TABLES = """\
CREATE TABLE author (id int PRIMARY KEY, name text);
CREATE TABLE book (id int PRIMARY KEY, author_id int, title text);
INSERT INTO author SELECT n, 'author ' || n FROM generate_series(1, 20) n;
INSERT INTO book SELECT n, n % 20 + 1, 'book ' || n FROM generate_series(1, 200) n;
"""
Cards = dict[int, tuple[str, frozenset[tuple[int, str]]]]


@dataclass(slots=True)
class Writer:
    """Changes the tables until it is ended; a database that is away is tried again."""

    address: str
    ended: threading.Event = field(default_factory=threading.Event)
    done: int = 0

    def run(self) -> None:
        """Change one row after the other."""
        draw = random.Random(7)
        while not self.ended.is_set():
            with suppress(psycopg.Error), psycopg.connect(self.address, autocommit=True) as link:
                while not self.ended.wait(0.02):
                    self._change(link, draw)
                    self.done += 1
            self.ended.wait(0.2)

    def beyond(self, count: int) -> bool:
        """Return whether more than so many changes are done."""
        return self.done > count

    def _change(self, link: psycopg.Connection, draw: random.Random) -> None:
        book, author, text = draw.randrange(1, 260), draw.randrange(1, 23), str(draw.random())
        match draw.randrange(4):
            case 0:
                link.execute("DELETE FROM book WHERE id = %s", (book,))
            case 1:
                link.execute("UPDATE author SET name = %s WHERE id = %s", (text, author))
            case 2:
                link.execute("UPDATE book SET author_id = %s WHERE id = %s", (author, book))
            case _:
                link.execute(
                    "INSERT INTO book VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE"
                    " SET author_id = excluded.author_id, title = excluded.title",
                    (book, author, text),
                )


@dataclass(frozen=True, slots=True)
class Chain:
    """The servers, and the folder of the project."""

    folder: Path
    kafka: Service
    postgres: Service
    connect: Service

    def wanted(self) -> Cards:
        """Return the documents that the tables ask for."""
        with psycopg.connect(self.postgres.address) as link:
            books: dict[int, set[tuple[int, str]]] = {}
            for number, author, title in link.execute("SELECT id, author_id, title FROM book"):
                books.setdefault(author, set()).add((number, title))
            authors = link.execute("SELECT id, name FROM author").fetchall()
        return {number: (name, frozenset(books.get(number, ()))) for number, name in authors}

    def found(self) -> Cards:
        """Return the documents that stand."""
        if not (self.folder / "cards.db").exists():
            return {}
        with closing(sqlite3.connect(self.folder / "cards.db")) as link:
            try:
                rows = [json.loads(text) for (text,) in link.execute("SELECT document FROM cards")]
            except sqlite3.OperationalError:
                return {}
        return {row["id"]: (row["name"], _books(row)) for row in rows}


def _books(card: dict[str, Any]) -> frozenset[tuple[int, str]]:
    return frozenset((each["id"], each["title"]) for each in card["books"])


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with ExitStack() as started:
        broker = started.enter_context(kafka(tmp_path / "kafka").started())
        database = started.enter_context(postgres(tmp_path / "postgres").started())
        worker = connect(tmp_path / "connect", kafka=broker.address)
        worker = started.enter_context(worker.started())
        with psycopg.connect(database.address, autocommit=True) as link:
            link.execute(TABLES)
        tables = ["public.author", "public.book"]
        create(worker, "chain", capture("chain", database=database.address, tables=tables))
        text = PROJECT.format(kafka=broker.address)
        (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
        yield Chain(tmp_path, broker, database, worker)


@pytest.mark.parametrize("victim", ["connect", "postgres", "kafka"])
def test_a_server_that_is_killed_under_the_chain_costs_no_change(chain: Chain, victim: str) -> None:
    server: Service = getattr(chain, victim)
    writer = Writer(chain.postgres.address)
    thread = threading.Thread(target=writer.run)
    with live_run(chain.folder) as run:
        run.until(lambda: chain.found() == chain.wanted(), "the first documents")
        thread.start()
        try:
            for _ in range(2):
                more = partial(writer.beyond, writer.done + 200)
                run.until(more, "changes before a kill")
                server.kill()
                time.sleep(2)  # the outage itself
                server.start()
        finally:
            writer.ended.set()
            thread.join()
        run.until(
            lambda: chain.found() == chain.wanted(),
            lambda: f"the last documents; the connector is {state_of(chain.connect, 'chain')}",
        )
        assert 0 == run.stop()
    assert writer.done > 400
