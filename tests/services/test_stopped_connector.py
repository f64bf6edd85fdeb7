"""The drill of docs/drills/stopped_connector.md, on a real connector."""

from __future__ import annotations

import json
import shlex
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from tests.services.captured import Connection, new_database, until
from tests.services.command import joinery_run
from tests.unit.drill import Drill
from tests.unit.page import Page

import joinery as jn
from joinery.dev.connect import create, delete
from joinery.dev.debezium import capture
from joinery.dev.http import ask
from joinery.dev.service import Service

pytestmark = [pytest.mark.services, pytest.mark.spark]
NAMED_S = 60.0
TABLES = (
    "create table customer (id bigint primary key, name text)",
    "insert into customer values (1, 'Ada'), (2, 'Bob')",
)


@dataclass(frozen=True, slots=True)
class Shop:
    """A table, its connector, and the project of the page."""

    folder: Path
    connector: str
    worker: Service
    link: Connection

    def ask_worker(self, method: str, words: str) -> None:
        """Ask the worker something of the connector, as `curl` does."""
        path = f"{self.worker.address}/connectors/{self.connector}/{words}"
        ask(path, method=method)

    def names(self) -> dict[int, str]:
        """Return the name in each customer's document."""
        files = sorted((self.folder / "out" / "card").glob("*.jsonl"))
        told = [json.loads(line) for each in files for line in each.read_text().splitlines()]
        return {each["key"]["id"]: each["value"]["name"] for each in told}

    def state(self) -> str:
        """Return the state of the product."""
        return jn.status(self.folder / "joinery.yaml").products[0].state


@pytest.fixture
def shop(
    kafka: Service,
    postgres: Service,
    connect: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shop]:
    name = f"shop{uuid.uuid4().hex[:8]}"
    text = Page("drills/stopped_connector.md").blocks["yaml"]
    at_connector = text.replace("shop.public", f"{name}.public").replace(
        "heartbeat.shop", f"heartbeat.{name}"
    )
    (tmp_path / "joinery.yaml").write_text(at_connector, encoding="utf-8")
    monkeypatch.setenv("KAFKA", kafka.address)
    monkeypatch.chdir(tmp_path)
    settings = {"heartbeat.interval.ms": "1000"}
    with new_database(postgres, "drill", *TABLES) as url:
        config = capture(name, database=url, tables=["public.customer"], settings=settings)
        create(connect, name, config)
        with closing(psycopg.connect(url, autocommit=True)) as link:
            yield Shop(tmp_path, name, connect, link)
        delete(connect, name)


def test_a_stopped_connector_is_named_and_goes_on_as_the_drill_tells(shop: Shop) -> None:
    drill = Drill("stopped_connector", {shop.connector: "shop"})
    with joinery_run(shop.folder) as run:
        run.wait_for(lambda: shop.names() == {1: "Ada", 2: "Bob"} and shop.state() == "live")

        shop.ask_worker("PUT", "pause")
        begun = time.monotonic()
        until(lambda: shop.state() == "silent")
        assert time.monotonic() - begun < NAMED_S
        shop.link.execute("insert into customer values (3, 'Cy')")
        drill.type()

        *_, method, address = shlex.split(drill.page.blocks["sh resume"])
        shop.ask_worker(method, address.rpartition("/")[2])
        run.wait_for(lambda: 3 in shop.names() and shop.state() == "live")
        drill.type()

        assert drill.over()
        assert 0 == run.end()[0]
