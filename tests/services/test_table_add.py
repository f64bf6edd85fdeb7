"""`joinery table add` on a real database."""

from __future__ import annotations

import uuid
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from joinery.cli.commands import app
from joinery.clients.postgres import DatabaseError
from joinery.delivery.action_log import ActionLog
from joinery.dev.service import Service
from joinery.model.table import Column, ForeignKey, SourceTable, TableName
from joinery.onboarding.postgres_catalog import read_tables
from joinery.plan.check import check
from joinery.project.onboard import OnboardError

pytestmark = pytest.mark.services

TABLES = """
CREATE SCHEMA {at};
SET search_path = {at};
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN money_amount AS numeric(12,2) CHECK (VALUE >= 0);
CREATE TABLE customer (id bigint PRIMARY KEY, name varchar(80), note text);
CREATE TABLE "order" (
    number bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer,
    total money_amount, mood mood, moods mood[], tags text[], placed_at timestamptz,
    due timestamp(3), day date, "odd ""name" int, area polygon, gone int);
ALTER TABLE "order" DROP gone;
ALTER TABLE "order" REPLICA IDENTITY FULL;
CREATE TABLE line (number bigint, place int, PRIMARY KEY (place, number),
    FOREIGN KEY (number) REFERENCES "order");
CREATE TABLE passport (id int PRIMARY KEY, customer_id bigint UNIQUE REFERENCES customer);
CREATE TABLE log (at timestamptz, text text);
CREATE TABLE part (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE other (a int NOT NULL, b text NOT NULL UNIQUE);
ALTER TABLE other REPLICA IDENTITY USING INDEX other_b_key;
CREATE VIEW seen AS TABLE log;
"""
PROJECT = """\
# the shop
sources: {{changes: {{kafka: {{bootstrap: "${{NOT_SET_HERE}}"}}}}}}
defaults: {{format: debezium-json}}
relations:
  customer: {{topic: shop.{at}.customer, key: [id], fields: {{id: long, name: string}}}}  # people
products:
  profile:
    root: customer      # one each
    sink: {{console: {{}}}}
"""


@pytest.fixture(scope="module")
def at(postgres: Service) -> str:
    """A schema with tables."""
    name = f"t{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.address, autocommit=True) as link:
        link.execute(TABLES.format(at=name))
    return name


@pytest.fixture
def project(at: str, tmp_path: Path) -> Path:
    """A project that has the customers."""
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT.format(at=at), encoding="utf-8")
    return file


def read(postgres: Service, *names: str) -> tuple[SourceTable, ...]:
    return read_tables(postgres.address, names)


def add(project: Path, *arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["table", "add", *arguments, "--file", str(project)])
    return done.exit_code, done.stdout, done.stderr


def test_a_table_is_read_as_it_is(postgres: Service, at: str) -> None:
    (order,) = read(postgres, f"{at}.order")

    assert (
        Column("number", "long"),
        Column("customer_id", "long"),
        Column("total", "decimal(12,2)"),
        Column("mood", "string"),
        Column("moods", "array<string>", large=True),
        Column("tags", "array<string>", large=True),
        Column("placed_at", "timestamp"),
        Column("due", "timestamp_ntz", unit="millis"),
        Column("day", "date"),
        Column('odd "name', "int"),
    ) == order.columns
    assert (("area", "polygon"),) == order.left_out
    assert ("number",) == order.key
    assert "full" == order.identity
    child = TableName(at, "order")
    assert (
        ForeignKey(TableName(at, "line"), child, (("number", "number"),)),
        ForeignKey(child, TableName(at, "customer"), (("customer_id", "id"),)),
    ) == order.foreign_keys


def test_keys_and_identities_are_read(postgres: Service, at: str) -> None:
    names = [f"{at}.{each}" for each in ("line", "passport", "log", "part", "other")]
    line, passport, log, part, other = read(postgres, *names)

    assert ("place", "number") == line.key
    assert [True] == [each.unique for each in passport.foreign_keys]
    assert (("default", ()), ("id", "day")) == ((log.identity, log.key), part.key)
    assert ("index", ("b",), ()) == (other.identity, other.identity_columns, other.key)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{at}.nothing", "has no table"),
        ("{at}.seen", "is a view or a foreign table, not a table"),
        ("x'; DROP TABLE customer; --", "has no table"),
    ],
)
def test_what_is_no_table_is_refused(postgres: Service, at: str, name: str, message: str) -> None:
    with pytest.raises(OnboardError) as caught:
        read(postgres, name.format(at=at))

    assert message in caught.value.message
    assert len(read(postgres, f"{at}.customer")) == 1


def test_a_database_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(DatabaseError) as caught:
        read_tables("postgresql://ada:engine@127.0.0.1:1/shop", ["t"])

    assert "could not connect to the database 127.0.0.1:1/shop" == caught.value.message
    assert "engine" not in caught.value.detail


def test_a_table_joins_a_product_by_one_command_and_few_lines(
    postgres: Service, at: str, project: Path
) -> None:
    before = project.read_text(encoding="utf-8")

    done, said, warned = add(project, postgres.address, f"{at}.order", "--into", "profile")

    after = project.read_text(encoding="utf-8")
    assert (0, "warning") == (done, warned[:7])
    assert 'column "area"' in warned
    assert [] == [line for line in before.splitlines() if line not in after.splitlines()]
    added = [line for line in after.splitlines() if line not in before.splitlines()]
    assert 1 <= len(added) <= 8
    (noted,) = ActionLog(project.parent / ".joinery/checkpoint").actions()
    assert ("table add", ("order", "profile")) == (noted.verb, noted.about)
    assert f"{at}.order" == noted.told
    assert said.count("\n+") == len(added)
    assert f"topic: shop.{at}.order" in after
    assert "      orders: {many: order, 'on': {customer_id: id}," in after.replace("on:", "'on':")
    told = [each.code for each in check(project, settings=["sources.changes.kafka.bootstrap=b:1"])]
    assert [] == [code for code in told if code != "SPEC_ENVIRONMENT"]


def test_several_tables_join_and_embeds_are_suggested(
    postgres: Service, at: str, project: Path
) -> None:
    done, _, told = add(project, postgres.address, f"{at}.order", f"{at}.line", f"{at}.passport")

    assert 0 == done
    assert "order could be embedded as orders in profile (many on {customer_id: id})" in told
    assert "passport could be embedded as passport in profile (one on {customer_id: id})" in told


def test_nothing_is_written_on_a_dry_run_or_a_failure(
    postgres: Service, at: str, project: Path
) -> None:
    before = project.read_bytes()

    dry = add(project, postgres.address, f"{at}.order", "--dry-run")
    keyless = add(project, postgres.address, f"{at}.order", f"{at}.log")
    unknown = add(project, postgres.address, f"{at}.order", "--into", "profil")
    taken = add(project, postgres.address, f"{at}.customer")

    assert before == project.read_bytes()
    assert (0, 2, 2, 2) == (dry[0], keyless[0], unknown[0], taken[0])
    assert "+  order: {" in dry[1]
    assert f'"{at}.log" has no primary key' in keyless[2]
    assert 'Use "profile"' in unknown[2]
    assert 'already has a relation "customer"' in taken[2]


def test_an_identity_that_is_not_safe_is_told(postgres: Service, at: str, project: Path) -> None:
    _, _, keyless = add(project, postgres.address, f"{at}.log", "--key", "at")
    _, _, large = add(project, postgres.address, f"{at}.customer", "--name", "person")

    assert f'"{at}.log" has no primary key: its updates and deletes cannot be captured' in keyless
    assert f'large values are sent only when they change: "{at}.customer" (note).' in large
