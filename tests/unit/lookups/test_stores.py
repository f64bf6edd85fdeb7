"""Stores by name, their options, and what they say where a table is not as it should be."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoRegionError
from tests.sqlite_file import sqlite_file

from joinery.errors import LookupOptionError
from joinery.expression.typed import Expression
from joinery.lookups.protocol import (
    LookupStoreError,
    LookupTable,
    LookupUnavailableError,
    Unfit,
)
from joinery.lookups.redis import RedisStore
from joinery.lookups.registry import make_asker, make_store, table_of
from joinery.lookups.whole import WholeStore
from joinery.model.type import BINARY, LONG, STRING, Decimal, Field
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.step import Lookup
from joinery.project.kinds import LOOKUP_STORES, UnknownKindError
from joinery.project.step import StoreRead
from joinery.sinks.key import key_text
from joinery.sinks.line import StagedRow

ID, NAME = Field("id", LONG), Field("name", STRING)
PERSON = LookupTable("person", (ID,), (ID, NAME))


def reads(*names: str) -> Expression:
    return Expression(" || ".join(names), STRING, frozenset(names))


def test_every_built_in_store_can_be_named() -> None:
    assert {"dynamodb", "function", "http", "postgres", "redis", "sqlite"} <= set(
        LOOKUP_STORES.names()
    )


def test_a_store_that_is_not_installed_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownKindError) as refused:
        make_store("postgress", PERSON, {}, tmp_path)

    assert "SPEC_UNKNOWN_LOOKUP_STORE" == refused.value.code
    assert 'Use "postgres".' == refused.value.hint


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("sqlite", {}, 'lookup store "sqlite" needs "path"'),
        ("sqlite", {"path": "x", "tabel": "y"}, 'lookup store "sqlite" has no option "tabel"'),
        ("sqlite", {"path": 5}, 'option "path" of lookup store "sqlite" is not a text'),
        ("postgres", {}, 'lookup store "postgres" needs "url"'),
        ("redis", {"prefix": True}, 'option "prefix" of lookup store "redis" is not a text'),
        (
            "dynamodb",
            {"consistent": "yes"},
            'option "consistent" of lookup store "dynamodb" is neither true nor false',
        ),
        ("http", {}, 'lookup store "http" needs one of "url" and "each"'),
        ("http", {"url": "ftp://x"}, 'the address of lookup store "http" is not an http(s) URL'),
        (
            "http",
            {"each": "http://x/{name}"},
            'option "each" of lookup store "http" does not name the key',
        ),
        (
            "http",
            {"url": "http://x", "headers": {"a": 1}},
            'option "headers" of lookup store "http" is not a map of texts',
        ),
        ("function", {}, 'lookup store "function" needs "function"'),
        (
            "function",
            {"function": "no name"},
            'option "function" of lookup store "function" is not of the form module:name',
        ),
    ],
)
def test_an_option_that_is_not_taken_is_told(
    kind: str, options: Mapping[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(LookupOptionError) as refused:
        make_store(kind, PERSON, options, tmp_path)

    assert message == refused.value.message


def test_sqlite_cannot_ask_for_a_binary_key(tmp_path: Path) -> None:
    table = LookupTable("person", (Field("id", BINARY),), (NAME,))

    with pytest.raises(LookupOptionError, match='cannot look up key "id"'):
        make_store("sqlite", table, {"path": "x"}, tmp_path)


def test_sqlite_a_file_or_a_table_that_is_not_there_may_come(tmp_path: Path) -> None:
    store = make_store("sqlite", PERSON, {"path": "shop.db"}, tmp_path)
    with pytest.raises(LookupUnavailableError) as first:
        store.open()
    with sqlite_file(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE other (id)")
    with pytest.raises(LookupUnavailableError) as second:
        store.open()

    assert f"There is no file {tmp_path / 'shop.db'}." == first.value.detail
    assert "The file has no such table." == second.value.detail


def test_sqlite_a_column_that_is_not_there_is_told(tmp_path: Path) -> None:
    with sqlite_file(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE person (id, nam)")

    with pytest.raises(LookupStoreError) as refused:
        make_store("sqlite", PERSON, {"path": "shop.db"}, tmp_path).open()

    assert 'sqlite shop.db, table "person" has no column "name"' == refused.value.message
    assert 'Use "nam".' == refused.value.hint


def test_a_function_is_found_beside_the_project(tmp_path: Path) -> None:
    (tmp_path / "lookup_hooks.py").write_text(
        "def people(keys):\n    return {7: {'name': 'ada'}}\n"
    )
    store = make_store("function", PERSON, {"function": "lookup_hooks:people"}, tmp_path)
    store.open()

    assert {(7,): (None, "ada"), (8,): None} == store.fetch([(7,), (8,)])


def test_a_function_may_belong_to_a_class(tmp_path: Path) -> None:
    (tmp_path / "nested_hooks.py").write_text(
        "class Hooks:\n    people = staticmethod(lambda keys: {7: {'name': 'ada'}})\n"
    )
    store = make_store("function", PERSON, {"function": "nested_hooks:Hooks.people"}, tmp_path)
    store.open()

    assert {(7,): (None, "ada")} == store.fetch([(7,)])


def test_a_function_that_is_not_there_is_told(tmp_path: Path) -> None:
    store = make_store("function", PERSON, {"function": "no_such_module:people"}, tmp_path)

    with pytest.raises(LookupStoreError) as refused:
        store.open()

    assert "cannot import function no_such_module:people" == refused.value.message


def test_a_function_that_nothing_awaits_is_refused_before_a_key_is_asked_for(
    tmp_path: Path,
) -> None:
    async def people(keys: list[Any]) -> Any:
        return {}

    store = make_store("function", PERSON, {"function": people}, tmp_path)

    with pytest.raises(LookupStoreError, match="function people is async, and nothing awaits it"):
        store.open()


def failing(error: Exception) -> Any:
    def people(keys: list[Any]) -> Any:
        raise error

    return people


def test_a_function_may_ask_to_wait_or_fail(tmp_path: Path) -> None:
    for error, kind in ((TimeoutError("slow"), LookupUnavailableError), (KeyError("x"), None)):
        store = make_store("function", PERSON, {"function": failing(error)}, tmp_path)
        store.open()

        with pytest.raises(LookupStoreError) as told:
            store.fetch([(1,)])

        assert (kind is LookupUnavailableError) == isinstance(told.value, LookupUnavailableError)


def test_what_a_function_returns_besides_rows_is_told(tmp_path: Path) -> None:
    store = make_store("function", PERSON, {"function": lambda keys: {1: "ada"}}, tmp_path)
    store.open()

    assert {(1,): Unfit("the function returned a text, not a map of columns")} == store.fetch(
        [(1,)]
    )


def test_the_columns_that_a_lookup_reads_are_asked_for_and_no_others(tmp_path: Path) -> None:
    columns = tuple(Field(name, STRING) for name in ("id", "first", "last", "tier", "gone", "note"))
    customers = Relation(
        name="customers",
        source="s",
        topic="customers",
        format="json",
        key=("id",),
        columns=columns,
        derived=(Computed("full", reads("first", "last")),),
        where=reads("gone"),
    )
    lookup = Lookup(
        customers,
        (JoinPair("id", "customer_id", STRING),),
        (Computed("customer", reads("full")), Computed("tier", reads("tier"))),
        read="database",
        store=StoreRead("sqlite", (("path", "shop.db"),)),
    )

    asked = table_of(lookup)

    assert ("customers", ["id"]) == (asked.name, [each.name for each in asked.key])
    assert ["first", "last", "tier", "gone"] == [each.name for each in asked.columns]
    assert 'sqlite shop.db, table "customers"' == make_asker(lookup, tmp_path, user="s").target


def made(folder: Path, *statements: str) -> WholeStore:
    """Return the store of a table of persons, which the statements make, opened."""
    with sqlite_file(folder / "app.db") as database:
        for each in statements:
            database.execute(each)
    store = make_store("sqlite", PERSON, {"path": "app.db"}, folder)
    store.open()
    assert isinstance(store, WholeStore)
    return store


def test_a_small_table_is_given_whole_without_rows_that_no_key_finds(tmp_path: Path) -> None:
    store = made(
        tmp_path,
        "create table person (id integer, name text)",
        "insert into person values (1, 'ada'), (2, null), (null, 'nobody')",
    )

    assert {(1,): (1, "ada"), (2,): (2, None)} == store.fetch_whole(3)
    assert store.fetch_whole(2) is None


@pytest.mark.parametrize(
    "table",
    [
        "create table person (id text, name text)",
        "create table person (id integer, name text collate nocase)",
        "create view person as select 1 as id, 'ada' as name",
    ],
)
def test_a_table_whose_keys_sqlite_compares_in_its_own_way_is_not_given_whole(
    tmp_path: Path, table: str
) -> None:
    filled = () if "view" in table else ("insert into person values ('1', 'ada')",)

    assert made(tmp_path, table, *filled).fetch_whole(10) is None


class Dynamo:
    """A client of a table with one item, which refuses what DynamoDB refuses of keys."""

    def client(self, service: str, **place: str) -> Dynamo:
        return self

    def describe_table(self, *, TableName: str) -> Any:
        return {"Table": {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}

    def batch_get_item(self, *, RequestItems: Mapping[str, Any]) -> Any:
        ids = [each["id"]["S"] for each in RequestItems["person"]["Keys"]]
        if not all(0 < len(each) <= 2_048 for each in ids):
            told = {"Error": {"Code": "ValidationException", "Message": "an empty string value"}}
            raise ClientError(told, "BatchGetItem")
        item = {"id": {"S": "ada"}, "photo": {"B": b"\x00\xff"}}
        return {"Responses": {"person": [item] if "ada" in ids else []}}

    def close(self) -> None:
        pass


def test_dynamodb_a_key_that_no_item_can_have_has_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.lookups.dynamodb._driver", Dynamo)
    key, photo = Field("id", STRING), Field("photo", BINARY)
    store = make_store("dynamodb", LookupTable("person", (key,), (key, photo)), {}, tmp_path)
    store.open()

    assert {("ada",): ("ada", b"\x00\xff")} == store.fetch([("",), ("ada",), ("x" * 2_049,)])
    assert {} == store.fetch([("",)])
    store.close()


@pytest.mark.parametrize("error", [NoRegionError(), ValueError("Invalid endpoint: nowhere")])
def test_dynamodb_a_place_that_is_none_is_told(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing:
        def client(self, service: str, **place: str) -> Dynamo:
            raise error

    monkeypatch.setattr("joinery.lookups.dynamodb._driver", Refusing)

    with pytest.raises(LookupStoreError) as refused:
        make_store("dynamodb", PERSON, {}, tmp_path).open()

    assert f"{str(error).rstrip('.')}." == refused.value.detail


@pytest.mark.parametrize(
    "url", ["cache:6379", "redis://:secret@cache:first/0", "redis://:secret@[::1/0"]
)
def test_redis_an_address_that_is_none_is_told_without_the_password(
    url: str, tmp_path: Path
) -> None:
    with pytest.raises(LookupStoreError) as refused:
        make_store("redis", PERSON, {"url": url}, tmp_path).open()

    assert "secret" not in f"{refused.value.message} {refused.value.detail}"
    assert "Write redis://host:6379/0." == refused.value.hint


def test_redis_is_asked_for_the_key_that_the_sink_redis_wrote() -> None:
    columns = (Field("shop", STRING), Field("price", Decimal(6, 2)))
    store = RedisStore(LookupTable("offer", columns, columns), "redis://cache", "offer", {})
    written = StagedRow('{"shop":"a","price":1.50}', "{}", 1)

    place = store._place(("a", decimal.Decimal("1.50")))
    assert f"offer:{key_text(written.key_values())}" == place
