"""The lookup suite on real servers, and what a network between does to the asker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import psycopg
import pytest
from psycopg import sql
from redis import Redis

from joinery.dev.service import Service
from joinery.lookups.asker import Asker
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    LookupUnavailableError,
)
from joinery.lookups.registry import make_store
from joinery.lookups.value import json_value
from joinery.model.type import DOUBLE, LONG, STRING, Field
from joinery.model.type import Decimal as DecimalType
from joinery.project.step import Cache, Limits
from joinery.sinks.key import key_text
from joinery.testing.conformance import LookupCase, LookupTarget, lookup_cases
from joinery.testing.delay import DelayProxy

pytestmark = pytest.mark.services
EACH_CASE = pytest.mark.parametrize("case", lookup_cases(), ids=str)
HERE = Path()


def keep(case: LookupCase, target: LookupTarget) -> None:
    """Run a case; one that the target cannot be asked is told as a skip with its reason."""
    outcome = case.run(target)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


@contextmanager
def proxied(service: Service, round_trip_s: float = 0.0) -> Iterator[tuple[DelayProxy, str]]:
    """Give a proxy before a server, and the server's address by way of it."""
    port = urlsplit(service.address).port
    assert port is not None
    with DelayProxy(port, round_trip_s=round_trip_s) as proxy:
        yield proxy, service.address.replace(f":{port}", f":{proxy.port}")


def outage_of(proxy: DelayProxy) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def outage() -> Iterator[None]:
        proxy.cut()
        try:
            yield
        finally:
            proxy.mend()

    return outage


class PostgresTables:
    """Tables of one database."""

    def __init__(self, url: str) -> None:
        self._url = url

    def fill(self, table: LookupTable, rows: Sequence[Mapping[str, Any]]) -> None:
        names = [each.name for each in table.columns]
        columns = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(each.name), sql.SQL(typed(each)))
            for each in table.columns
        )
        key = sql.SQL(", ").join(sql.Identifier(each.name) for each in table.key)
        create = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY ({}))")
        changed = sql.SQL(", ").join(
            sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in names
        )
        put = sql.SQL("INSERT INTO {} VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}")
        place = sql.Identifier(table.name)
        marks = sql.SQL(", ").join(sql.Placeholder() for _ in names)
        with psycopg.connect(self._url) as database, database.cursor() as cursor:
            cursor.execute(create.format(place, columns, key))
            values = [tuple(row[name] for name in names) for row in rows]
            cursor.executemany(put.format(place, marks, key, changed), values)

    def remove(self, table: LookupTable, key: Key) -> None:
        same = sql.SQL(" AND ").join(
            sql.SQL("{} = {}").format(sql.Identifier(each.name), sql.Placeholder())
            for each in table.key
        )
        statement = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table.name), same)
        with psycopg.connect(self._url) as database:
            database.execute(statement, key)


def typed(column: Field) -> str:
    """Return a column's type in PostgreSQL's words."""
    names = {"long": "bigint", "double": "float8", "timestamp": "timestamptz", "string": "text"}
    if isinstance(column.type, DecimalType):
        return f"numeric({column.type.precision}, {column.type.scale})"
    name = str(column.type)
    return "text[]" if name == "array<string>" else names.get(name, name)


@pytest.fixture(scope="module")
def postgres_target(postgres: Service) -> Iterator[LookupTarget]:
    tables = PostgresTables(postgres.address)
    with proxied(postgres) as (proxy, url):
        yield LookupTarget(
            make=lambda table: make_store("postgres", table, {"url": url}, HERE),
            fill=tables.fill,
            remove=tables.remove,
            outage=outage_of(proxy),
        )


@EACH_CASE
def test_postgres(case: LookupCase, postgres_target: LookupTarget) -> None:
    keep(case, postgres_target)


class RedisTables:
    """JSON objects under the keys of one Redis."""

    def __init__(self, url: str) -> None:
        self._url = url

    def fill(self, table: LookupTable, rows: Sequence[Mapping[str, Any]]) -> None:
        with Redis.from_url(self._url) as server:
            for row in rows:
                plain = {name: json_value(value) for name, value in row.items()}
                place = self._place(table, tuple(row[each.name] for each in table.key))
                server.set(place, json.dumps(plain))

    def remove(self, table: LookupTable, key: Key) -> None:
        with Redis.from_url(self._url) as server:
            server.delete(self._place(table, key))

    def _place(self, table: LookupTable, key: Key) -> str:
        names = [each.name for each in table.key]
        return f"{table.name}:{key_text(dict(zip(names, key, strict=True)))}"


@pytest.fixture(scope="module")
def redis_target(redis: Service) -> Iterator[LookupTarget]:
    tables = RedisTables(redis.address)
    with proxied(redis) as (proxy, url):
        yield LookupTarget(
            make=lambda table: make_store("redis", table, {"url": url}, HERE),
            fill=tables.fill,
            remove=tables.remove,
            outage=outage_of(proxy),
        )


@EACH_CASE
def test_redis(case: LookupCase, redis_target: LookupTarget) -> None:
    keep(case, redis_target)


class DynamoTables:
    """Tables of DynamoDB, the first key column the partition, the second the sort key."""

    def __init__(self, endpoint: str) -> None:
        self._database = boto3.resource("dynamodb", endpoint_url=endpoint)

    def fill(self, table: LookupTable, rows: Sequence[Mapping[str, Any]]) -> None:
        place = self._made(table)
        with place.batch_writer() as writer:
            for row in rows:
                writer.put_item(Item={name: item_value(value) for name, value in row.items()})

    def remove(self, table: LookupTable, key: Key) -> None:
        names = [each.name for each in table.key]
        self._database.Table(table.name).delete_item(Key=dict(zip(names, key, strict=True)))

    def _made(self, table: LookupTable) -> Any:
        if table.name not in {each.name for each in self._database.tables.all()}:
            kinds = ("HASH", "RANGE")
            self._database.create_table(
                TableName=table.name,
                BillingMode="PAY_PER_REQUEST",
                KeySchema=[
                    {"AttributeName": each.name, "KeyType": kind}
                    for each, kind in zip(table.key, kinds, strict=False)
                ],
                AttributeDefinitions=[
                    {
                        "AttributeName": each.name,
                        "AttributeType": "S" if each.type == STRING else "N",
                    }
                    for each in table.key
                ],
            )
        return self._database.Table(table.name)


def item_value(value: object) -> object:
    if isinstance(value, Decimal):
        return value
    return Decimal(repr(value)) if isinstance(value, float) else json_value(value)


@pytest.fixture(scope="module")
def dynamodb_target(dynamodb: Service) -> Iterator[LookupTarget]:
    with pytest.MonkeyPatch.context() as patch, proxied(dynamodb) as (proxy, endpoint):
        patch.setenv("AWS_ACCESS_KEY_ID", "local")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "local")
        patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        tables = DynamoTables(dynamodb.address)
        yield LookupTarget(
            make=lambda table: make_store(
                "dynamodb", table, {"endpoint": endpoint, "consistent": True}, HERE
            ),
            fill=tables.fill,
            remove=tables.remove,
            outage=outage_of(proxy),
        )


@EACH_CASE
def test_dynamodb(case: LookupCase, dynamodb_target: LookupTarget) -> None:
    keep(case, dynamodb_target)


PERSON = (Field("id", LONG), Field("name", STRING))


def person(name: str) -> LookupTable:
    return LookupTable(name, PERSON[:1], PERSON)


def fetched(url: str, table: LookupTable, *keys: Key) -> Mapping[Key, Answer]:
    """Return what a new store of PostgreSQL gives for some keys."""
    store = make_store("postgres", table, {"url": url}, HERE)
    store.open()
    try:
        return store.fetch(keys)
    finally:
        store.close()


def test_postgres_documents_of_the_sink_give_their_fields(postgres: Service) -> None:
    with psycopg.connect(postgres.address) as database:
        database.execute("CREATE TABLE doc (id bigint PRIMARY KEY, document jsonb, version bigint)")
        database.execute("""INSERT INTO doc VALUES (7, '{"id": 7, "name": "ada"}', 1)""")

    answers = fetched(postgres.address, person("doc"), (7,), (8,))

    assert {(7,): (7, "ada")} == answers


def test_postgres_a_key_that_its_column_cannot_hold_has_no_row(postgres: Service) -> None:
    one = "7f0c3f8e-94f6-4b63-9d5e-6f1d3c1d2e3f"
    with psycopg.connect(postgres.address) as database:
        database.execute("CREATE TABLE by_uuid (id uuid PRIMARY KEY, name text)")
        database.execute("INSERT INTO by_uuid VALUES (%s, 'ada')", (one,))
    columns = (Field("id", STRING), Field("name", STRING))
    table = LookupTable("by_uuid", columns[:1], columns)

    answers = fetched(postgres.address, table, ("nobody",), (one,), ("",))

    assert {(one,): (one, "ada")} == answers


def test_postgres_a_double_keeps_its_digits(postgres: Service) -> None:
    with psycopg.connect(postgres.address) as database:
        database.execute("CREATE TABLE weighed (id bigint PRIMARY KEY, weight float8)")
        database.execute("INSERT INTO weighed VALUES (1, 0.1::float8 + 0.2::float8)")
    columns = (Field("id", LONG), Field("weight", DOUBLE))
    table = LookupTable("weighed", columns[:1], columns)
    rounding = f"{postgres.address}?options=-c%20extra_float_digits%3D0"

    answers = fetched(rounding, table, (1,))

    assert {(1,): (1, 0.1 + 0.2)} == answers


def test_postgres_a_key_of_fixed_length_is_found_whole(postgres: Service) -> None:
    with psycopg.connect(postgres.address) as database:
        database.execute("CREATE TABLE by_code (code char(3) PRIMARY KEY, name text)")
        database.execute("INSERT INTO by_code VALUES ('EUR', 'euro'), ('E', 'none')")
    columns = (Field("code", STRING), Field("name", STRING))
    table = LookupTable("by_code", columns[:1], columns)

    answers = fetched(postgres.address, table, ("EUR",), ("EUX",))

    assert {("EUR",): ("EUR", "euro")} == answers


def test_postgres_a_table_that_is_not_there_is_waited_for_and_told(postgres: Service) -> None:
    asker = Asker(
        make_store("postgres", person("later"), {"url": postgres.address}, HERE), start_wait_s=0.3
    )

    asker.open()

    with pytest.raises(LookupUnavailableError) as gave_up:
        asker.ask([(1,)])

    assert gave_up.value.message.endswith('table "later" is not available: waited 0.3 s')


def test_postgres_a_column_that_is_not_there_is_told(postgres: Service) -> None:
    with psycopg.connect(postgres.address) as database:
        database.execute("CREATE TABLE misspelt (id bigint PRIMARY KEY, nam text)")

    with pytest.raises(LookupStoreError) as refused:
        make_store("postgres", person("misspelt"), {"url": postgres.address}, HERE).open()

    assert 'has no column "name"' in refused.value.message
    assert 'Use "nam".' == refused.value.hint


def test_a_round_trip_of_5_ms_costs_one_for_a_thousand_keys(postgres: Service) -> None:
    with psycopg.connect(postgres.address) as database:
        database.execute("CREATE TABLE many (id bigint PRIMARY KEY, name text)")
        database.execute("INSERT INTO many SELECT n, 'n' || n FROM generate_series(0, 19999) n")
    with proxied(postgres, round_trip_s=0.005) as (_, url):
        store = make_store("postgres", person("many"), {"url": url}, HERE)
        asker = Asker(store, Cache(), Limits(batch=1000))
        asker.open()

        answers = asker.ask([(each,) for each in range(20_000)])

        done = asker.progress()
        asker.close()
    assert {(each,): (each, f"n{each}") for each in range(20_000)} == answers
    assert (20, 20_000) == (done.requests, done.misses)
