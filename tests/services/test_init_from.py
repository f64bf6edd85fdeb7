"""`joinery init --from`: a project proposed from a real database runs as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner

import joinery as jn
from joinery.cli.commands import app
from joinery.cli.ending import tell_error
from joinery.dev.service import Service
from joinery.errors import JoineryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services
TABLES = """
CREATE SCHEMA stock;
CREATE TABLE customer (id bigint PRIMARY KEY, email text UNIQUE NOT NULL, name varchar(80),
    referred_by_id bigint REFERENCES customer,
    length int GENERATED ALWAYS AS (length(email)) STORED);
CREATE TABLE address (id int PRIMARY KEY, customer_id bigint UNIQUE NOT NULL REFERENCES customer,
    city text, place polygon);
CREATE TABLE stock.product (sku varchar(20) PRIMARY KEY, title text, price numeric(10,2));
CREATE TABLE category (id int PRIMARY KEY, title text, parent_id int REFERENCES category);
CREATE TABLE product_category (sku varchar(20) REFERENCES stock.product,
    category_id int REFERENCES category, PRIMARY KEY (sku, category_id));
CREATE TABLE "order" (shop int, number int, customer_id bigint NOT NULL REFERENCES customer,
    recipient_id bigint REFERENCES customer, "end" date, PRIMARY KEY (shop, number));
CREATE TABLE line (shop int, number int, place int, sku varchar(20) REFERENCES stock.product,
    quantity int, PRIMARY KEY (shop, number, place),
    FOREIGN KEY (shop, number) REFERENCES "order");
CREATE TABLE note (id bigint PRIMARY KEY, email text REFERENCES customer (email), text text);
CREATE TABLE log (at timestamptz, text text);
CREATE TABLE settings (name text PRIMARY KEY, value text);
"""
ROWS = """
INSERT INTO customer VALUES (1, 'ada@x', 'Ada', NULL), (2, 'bob@x', 'Bob', 1);
INSERT INTO address VALUES (1, 1, 'London');
INSERT INTO stock.product VALUES ('a', 'Teapot', 9.50), ('b', 'Cup', 1.25);
INSERT INTO category VALUES (1, 'Kitchen', NULL), (2, 'Tea', 1);
INSERT INTO product_category VALUES ('a', 2), ('a', 1), ('b', 2);
INSERT INTO "order" VALUES (1, 1, 1, 2, '2026-02-01'), (1, 2, 2, 2, NULL);
INSERT INTO line VALUES (1, 1, 1, 'a', 2), (1, 1, 2, 'b', 6), (1, 2, 1, 'b', 1);
INSERT INTO note VALUES (1, 'ada@x', 'vip');
"""
ADA: dict[str, object] = {"email": "ada@x", "name": "Ada", "referred_by_id": None}
BOB: dict[str, object] = {"email": "bob@x", "name": "Bob", "referred_by_id": 1}
TEAPOT: dict[str, object] = {"title": "Teapot", "price": 9.5}
CUP: dict[str, object] = {"title": "Cup", "price": 1.25}


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    name = f"shop_{uuid4().hex[:8]}"
    with closing(psycopg.connect(postgres.address, autocommit=True)) as server:
        server.execute(f'CREATE DATABASE "{name}"'.encode())
        yield postgres.address.rpartition("/")[0] + f"/{name}"
        slots = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        server.execute(f"{slots} WHERE database = %s".encode(), (name,))


def filled(url: str, *statements: str) -> None:
    with closing(psycopg.connect(url, autocommit=True)) as link:
        for each in statements:
            link.execute(each.encode())


def init(folder: Path, url: str, *more: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["init", str(folder), "--from", url, *more])
    if isinstance(done.exception, JoineryError):
        return tell_error(done.exception), done.stdout, f"{done.exception.message}\n"
    return done.exit_code, done.stdout, done.stderr


def documents(folder: Path, product: str) -> list[Any]:
    lines = [
        json.loads(line)
        for file in sorted((folder / "out" / product).glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return [each["value"] for each in sorted(lines, key=lambda each: list(each["key"].values()))]


@pytest.mark.spark
def test_a_proposed_project_runs_as_it_is(
    database: str, tmp_path: Path, spark: SparkSession
) -> None:
    filled(database, TABLES, ROWS)

    code, told, warned = init(tmp_path / "p", database)
    jn.run(spark, jn.load(tmp_path / "p"), once=True).await_termination()

    assert (0, True) == (code, "9 relations" not in told and "8 relations" in told)
    assert [
        "warning: left out: table public.log: it has no key; alter table public.log"
        " add primary key (…), or alter table public.log replica identity full",
        "warning: left out: table public.settings: no foreign key joins it to another table",
        'warning: address: column "place" is left out: polygon cannot be captured',
        'warning: customer: column "length" is left out: generated columns cannot be captured',
    ] == warned.splitlines()
    order = {"shop": 1, "number": 1, "customer_id": 1, "recipient_id": 2, "end": "2026-02-01"}
    lines = [
        {"place": 1, "sku": "a", "quantity": 2, "product": TEAPOT},
        {"place": 2, "sku": "b", "quantity": 6, "product": CUP},
    ]
    assert documents(tmp_path / "p", "order_document")[0] == {
        **order,
        "customer": ADA,
        "recipient": BOB,
        "lines": lines,
    }
    ordered = {"shop": 1, "number": 1, "recipient_id": 2, "end": "2026-02-01", "recipient": BOB}
    assert documents(tmp_path / "p", "customer_document")[0] == {
        "id": 1,
        **ADA,
        "referred_by": None,
        "address": {"id": 1, "city": "London"},
        "customers_by_referred_by": [{"id": 2, "email": "bob@x", "name": "Bob"}],
        "notes": [{"id": 1, "text": "vip"}],
        "orders_by_customer": [ordered],
        "orders_by_recipient": [],
    }
    assert documents(tmp_path / "p", "category_document")[1] == {
        "id": 2,
        "title": "Tea",
        "parent_id": 1,
        "parent": {"title": "Kitchen", "parent_id": None},
        "categories_by_parent": [],
        "products": [{"sku": "a", **TEAPOT}, {"sku": "b", **CUP}],
    }


def test_what_was_written_stays_and_is_the_same_for_the_same_tables(
    database: str, tmp_path: Path
) -> None:
    filled(database, TABLES)
    first = init(tmp_path / "a", database)[0], init(tmp_path / "b", database)[0]
    texts = [(tmp_path / each / "joinery.yaml").read_text() for each in "ab"]

    code, told, warned = init(tmp_path / "a", database)

    assert ((0, 0), texts[0]) == (first, texts[1])
    assert (2, "", 1) == (code, told, warned.count("exists already"))
    assert texts[0] == (tmp_path / "a" / "joinery.yaml").read_text()


def test_one_schema_may_be_named(database: str, tmp_path: Path) -> None:
    filled(database, TABLES)

    code, told, _ = init(tmp_path, database, "--schema", "stock")

    assert (0, True) == (code, "documents: product_document" in told)


def test_what_the_user_may_not_do_is_said_with_the_sql_that_mends_it(
    database: str, tmp_path: Path
) -> None:
    filled(database, "CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
    filled(database, "DROP ROLE IF EXISTS looker", "CREATE ROLE looker LOGIN")
    filled(database, "GRANT SELECT ON a TO looker")

    code, _, warned = init(tmp_path, database.replace("joinery@", "looker:engine@"))
    filled(database, "DROP OWNED BY looker", "DROP ROLE looker")

    assert code == 0
    assert [
        "warning: left out: table public.b: this user may not read it; grant select on public.b",
        "warning: user looker may not replicate; alter role looker replication;",
    ] == warned.splitlines()
    assert "engine" not in (tmp_path / "joinery.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT", "has no tables"),
        ("CREATE TABLE log (at timestamptz)", "can become a relation"),
    ],
)
def test_a_database_without_usable_tables_is_refused_in_one_line(
    database: str, tmp_path: Path, statement: str, said: str
) -> None:
    filled(database, statement)

    code, told, warned = init(tmp_path, database)

    assert (True, "") == (code in (1, 2), told)
    assert (said in warned, [*tmp_path.iterdir()]) == (True, [])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ada:engine@127.0.0.1:1/shop", "could not connect to the database"),
        ("mysql://ada:engine@127.0.0.1:1/shop", "could not query the database"),
        ("oracle://db/shop", "tables cannot be read from there"),
    ],
)
def test_a_database_that_cannot_be_asked_is_refused_in_one_line(
    tmp_path: Path, url: str, said: str
) -> None:
    code, told, warned = init(tmp_path, url)

    assert (True, "") == (code in (1, 2), told)
    assert (True, False, []) == (said in warned, "engine" in warned, [*tmp_path.iterdir()])
