"""`joinery init --from` and `table add` of a server of MariaDB: proposed from real tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.mysql_captured import new_database
from tests.services.mysql_server import SERVERS, started_server
from typer.testing import CliRunner

import joinery as jn
from joinery.cli.commands import app
from joinery.dev.service import Service
from joinery.model.table import Column, ForeignKey, TableName
from joinery.onboarding.mysql_catalog import read_tables
from joinery.onboarding.proposal_text import VARIABLE
from joinery.plan.check import check
from joinery.project.mysql_address import MysqlAddress
from joinery.project.onboard import OnboardError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services
TABLES = (
    "create table customer (id bigint unsigned primary key, email varchar(80) not null unique,"
    " name varchar(80), born datetime(3), seen timestamp null, referred_by_id bigint unsigned,"
    " foreign key (referred_by_id) references customer (id))",
    "create table product (sku varchar(20) primary key, title text, price decimal(10,2),"
    " tags set('a','b'), kind enum('x','y, z'))",
    "create table category (id int primary key, title text)",
    "create table product_category (sku varchar(20), category_id int,"
    " primary key (sku, category_id), foreign key (sku) references product (sku),"
    " foreign key (category_id) references category (id))",
    "create table `order` (id int primary key, customer_id bigint unsigned not null, `end` date,"
    " foreign key (customer_id) references customer (id))",
    "create table line (order_id int, place int, quantity int unsigned,"
    " primary key (order_id, place), foreign key (order_id) references `order` (id)"
    " on delete cascade)",
    "create table address (id int primary key, customer_id bigint unsigned not null unique,"
    " town text, foreign key (customer_id) references customer (id))",
    "create table log (told text)",
    "create table settings (name varchar(20) primary key)",
    "create view seen as select * from customer",
)
ROWS = (
    "insert into customer values (1, 'ada@x', 'Ada', '2000-01-31 10:00', null, null),"
    " (2, 'bob@x', 'Bob', null, null, 1)",
    "insert into product values ('a', 'Teapot', 9.50, 'a,b', 'y, z')",
    "insert into category values (1, 'Kitchen')",
    "insert into product_category values ('a', 1)",
    "insert into `order` values (7, 2, '2026-02-01')",
    "insert into address values (1, 1, 'London')",
)
CASCADE = "foreign key line_ibfk_1 of table {db}.line has on delete cascade"


@pytest.fixture(scope="module", params=SERVERS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with started_server(request.param, tmp_path_factory.mktemp(request.param)) as service:
        yield service


@pytest.fixture
def url(server: Service) -> Iterator[str]:
    with new_database(server.address, *TABLES, *ROWS) as url:
        yield url


def said(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [*arguments])
    return done.exit_code, done.stdout, done.stderr


def documents(folder: Path, product: str) -> dict[Any, Any]:
    return {
        next(iter(each["key"].values())): each["value"]
        for file in sorted((folder / "out" / product).glob("*.jsonl"))
        for each in map(json.loads, file.read_text(encoding="utf-8").splitlines())
    }


def test_a_table_is_read_as_it_is(url: str) -> None:
    name = MysqlAddress.of(url).database
    customer, order, address = read_tables(url, ["customer", f"{name}.order", "address"])

    assert (
        Column("id", "long"),
        Column("email", "string"),
        Column("name", "string"),
        Column("born", "timestamp_ntz", unit="millis"),
        Column("seen", "timestamp"),
        Column("referred_by_id", "long"),
    ) == customer.columns
    assert (("id",), (("email",),)) == (customer.key, customer.unique)
    parent = TableName(name, "customer")
    pairs = (("customer_id", "id"),)
    assert (ForeignKey(TableName(name, "order"), parent, pairs),) == order.foreign_keys
    assert (True,) == tuple(each.unique for each in address.foreign_keys)


def test_what_is_no_table_is_refused_with_what_is_near(url: str) -> None:
    with pytest.raises(OnboardError) as near:
        read_tables(url, ["costumer"])
    with pytest.raises(OnboardError) as view:
        read_tables(url, ["seen"])

    assert 'has no table "costumer" that its user may read' in near.value.message
    assert f'Use "{MysqlAddress.of(url).database}.customer".' == near.value.hint
    assert '"seen" is a view, not a table' == view.value.message


def test_tables_that_cannot_be_captured_are_left_out_with_the_sql_that_mends_it(
    url: str, tmp_path: Path
) -> None:
    name = MysqlAddress.of(url).database

    code, told, warned = said("init", str(tmp_path / "p"), "--from", url)

    listed = warned.splitlines()
    assert (0, True) == (code, "6 relations; documents: category_document," in told)
    assert CASCADE.format(db=name) in listed[0]
    assert [
        f"warning: left out: table {name}.log: has no primary key, so its rows have no identity;"
        f" alter table `{name}`.`log` add primary key (…);",
        f"warning: left out: table {name}.settings: no foreign key joins it to another table",
    ] == listed[1:]
    assert not check(tmp_path / "p")


@pytest.mark.spark
def test_a_proposed_project_runs_as_it_is(
    url: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, url)  # which has a password that the file has not
    said("init", str(tmp_path / "p"), "--from", url)

    jn.run(spark, jn.load(tmp_path / "p"), once=True).await_termination()

    assert documents(tmp_path / "p", "product_document")["a"] == {
        "sku": "a",
        "title": "Teapot",
        "price": 9.5,
        "tags": "a,b",
        "kind": "y, z",
        "categories": [{"category_id": 1, "title": "Kitchen"}],
    }
    ada = {"email": "ada@x", "name": "Ada", "born": "2000-01-31T10:00:00", "seen": None}
    bob = documents(tmp_path / "p", "customer_document")[2]
    assert {**ada, "referred_by_id": None} == bob["referred_by"]
    assert [{"id": 7, "end": "2026-02-01"}] == bob["orders"]
    assert {"id": 1, "town": "London"} == documents(tmp_path / "p", "customer_document")[1][
        "address"
    ]


@pytest.mark.parametrize("known", [True, False])
def test_a_table_joins_a_project_that_reads_the_database_itself(
    url: str, tmp_path: Path, known: bool
) -> None:
    name, file = MysqlAddress.of(url).database, tmp_path / "joinery.yaml"
    source = url if known else "${NOT_SET_HERE}"
    topic = "" if known else f"topic: {name}.customer, "
    file.write_text(
        f'name: shop\nsources: {{db: {{mysql: {{url: "{source}"}}}}}}\nrelations:\n'
        f"  customer: {{{topic}key: [id], fields: {{id: long, born: timestamp}}}}\n"
        "products:\n  profile: {root: customer, sink: {console: {}}}\n"
    )

    code, told, warned = said(
        *("table", "add", url, "order", "--into", "profile", "--file", str(file))
    )

    place = "" if known else f", topic: {name}.order"
    fields = "{id: int, customer_id: long, end: date}"
    assert (0, "") == (code, warned)
    assert [
        f"+  order: {{key: [id], fields: {fields}{place}}}",
    ] == [each for each in told.splitlines() if "order: {key" in each]
    assert "orders: {many: order, on: {customer_id: id}, fields: [id, end]}" in told
