"""The table of what breaks a reader, row by row; docs/contracts.md has the same rows."""

from __future__ import annotations

from typing import get_args

import pytest
from tests.unit.contract.declared import RELATIONS, contracts
from tests.unit.page import Page

from joinery.contract.compare import Code, Difference, differences

SINK = "sink: {files: {path: out}}"
USER = f"{{root: user, fields: [id, name, size, price], {SINK}}}"
ORDERS = "{many: order, on: {user_id: id}, fields: [id, amount]}"
EMBED = f"{{root: user, fields: [id], embed: {{orders: {ORDERS}}}, {SINK}}}"
ONE = EMBED.replace("many:", "one:")
PERSONAL = """\
vault: {sqlite: {path: vault.db}, master: "0000000000000000000000000000000000000000000="}
relations:
  user: {key: [id], fields: {id: long, email: string}, personal: {subject: id, fields: [email]}}
"""
OPEN = "relations: {user: {key: [id], fields: {id: long, email: string}}}\n"
SECRET = f"{{root: user, {SINK}}}"
SHOWN = "{root: user, sink: {sqlite: {path: a.db, reveal: true}}}"


def compared(
    old: str, new: str, before: str = RELATIONS, after: str | None = None
) -> tuple[Difference, ...]:
    """Return what changed between two declarations of the product `p`, or none of it."""
    was = contracts(f"{{p: {old}}}" if old else "{}", before)
    now = contracts(f"{{p: {new}}}" if new else "{}", before if after is None else after)
    return differences(was, now)


def typed(kind: str) -> str:
    return f"relations: {{user: {{key: [id], fields: {{id: long, x: '{kind}'}}}}}}\n"


def fresh(text: str) -> str:
    return USER.replace("sink:", f"expect: {{fresh: {text}}}, sink:")


BREAKING = [
    ("a product is gone", USER, "", "CONTRACT_PRODUCT_REMOVED", "p is no longer sent"),
    (
        "a field is gone",
        USER,
        USER.replace("name, ", ""),
        "CONTRACT_FIELD_REMOVED",
        "p.name is no longer in the documents",
    ),
    (
        "a field of an embed is gone",
        EMBED,
        EMBED.replace(", amount", ""),
        "CONTRACT_FIELD_REMOVED",
        "p.orders[].amount is no longer in the documents",
    ),
    (
        "an object becomes a list",
        ONE,
        EMBED,
        "CONTRACT_TYPE_CHANGED",
        "p.orders was an object, is a list",
    ),
    (
        "a list becomes a map",
        EMBED,
        EMBED.replace("many:", "as: map, many:"),
        "CONTRACT_TYPE_CHANGED",
        "p.orders was a list, is a map by string",
    ),
    (
        "a field that was never null may be",
        USER.replace("name", "{name: \"coalesce(name, '')\"}"),
        USER,
        "CONTRACT_NULLABLE",
        "p.name may be null, and never was",
    ),
    (
        "the key is another",
        "{aggregate: user, by: [name], values: {n: count(*)}, " + SINK + "}",
        "{aggregate: user, by: [name, size], values: {n: count(*)}, " + SINK + "}",
        "CONTRACT_KEY_CHANGED",
        "p.key was (name string), is (name string, size int)",
    ),
    (
        "documents may lag further behind",
        fresh("30s"),
        fresh("5m"),
        "CONTRACT_FRESHNESS",
        "p promised to be fresh within 30s, promises 5m",
    ),
    (
        "no lag is promised any more",
        fresh("30s"),
        USER,
        "CONTRACT_FRESHNESS",
        "p promised to be fresh within 30s, promises nothing",
    ),
]
TYPES_THAT_BREAK = [
    ("int", "long"),
    ("long", "string"),
    ("float", "double"),
    ("int", "double"),
    ("date", "timestamp"),
    ("decimal(10,2)", "decimal(12,2)"),
    ("decimal(10,2)", "decimal(10,1)"),
    ("array<int>", "array<long>"),
    ("map<int,int>", "map<long,int>"),
    ("struct<a: int>", "struct<a: string>"),
]
TYPES_THAT_DO_NOT = [
    ("long", "int"),
    ("double", "float"),
    ("decimal(12,2)", "decimal(10,2)"),
    ("array<long>", "array<int>"),
    ("map<int,long>", "map<int,int>"),
    ("struct<a: int>", "struct<b: int, a: int>"),
]
COMPATIBLE = [
    ("a product is new", "", USER, "p is new"),
    ("a field is new", USER.replace("name, ", ""), USER, "p.name is new"),
    ("an embed is new", EMBED.replace(f"orders: {ORDERS}", ""), EMBED, "p.orders is new"),
    (
        "a field is never null any more",
        USER,
        USER.replace("name", "{name: \"coalesce(name, '')\"}"),
        "p.name is never null any more",
    ),
    ("a lag is promised", USER, fresh("30s"), "p promises to be fresh within 30s"),
    (
        "documents lag less behind",
        fresh("5m"),
        fresh("30s"),
        "p promised to be fresh within 5m, promises 30s",
    ),
]
SAME = [
    ("fields in another order", USER, USER.replace("id, name", "name, id")),
    ("another sink", USER, USER.replace("out", "elsewhere")),
    ("the same values of another expression", USER, USER.replace("name", "{name: trim(name)}")),
    ("another limit", EMBED, EMBED.replace("many:", "limit: 3, overflow: fail, many:")),
]


@pytest.mark.parametrize(("what", "old", "new", "code", "message"), BREAKING)
def test_a_reader_breaks_where(what: str, old: str, new: str, code: str, message: str) -> None:
    found = [(each.code, each.message) for each in compared(old, new)]

    assert (code, message) in found
    assert {code} == {each for each, _ in found if each is not None}


@pytest.mark.parametrize(("old", "new"), TYPES_THAT_BREAK)
def test_a_reader_breaks_where_a_type_becomes_another_or_wider(old: str, new: str) -> None:
    found = compared(f"{{root: user, {SINK}}}", f"{{root: user, {SINK}}}", typed(old), typed(new))

    assert ["CONTRACT_TYPE_CHANGED"] == [each.code for each in found]


@pytest.mark.parametrize(("old", "new"), TYPES_THAT_DO_NOT)
def test_no_reader_breaks_where_a_type_becomes_narrower(old: str, new: str) -> None:
    found = compared(f"{{root: user, {SINK}}}", f"{{root: user, {SINK}}}", typed(old), typed(new))

    assert [None] == [each.code for each in found]


@pytest.mark.parametrize(("what", "old", "new", "message"), COMPATIBLE)
def test_no_reader_breaks_where(what: str, old: str, new: str, message: str) -> None:
    assert [(None, message)] == [(each.code, each.message) for each in compared(old, new)]


@pytest.mark.parametrize(("what", "old", "new"), SAME)
def test_nothing_changed_for_readers_with(what: str, old: str, new: str) -> None:
    assert () == compared(old, new)


@pytest.mark.parametrize(
    ("old", "before"), [(SECRET, OPEN), (SHOWN, PERSONAL)], ids=["not personal", "revealed"]
)
def test_a_reader_breaks_where_a_column_is_no_longer_shown(old: str, before: str) -> None:
    found = compared(old, SECRET, before, PERSONAL)

    message = "p.email is personal and not revealed, so a sink writes null in its place now"
    assert [("CONTRACT_PERSONAL", message)] == [(each.code, each.message) for each in found]


def test_no_reader_breaks_where_personal_values_are_revealed() -> None:
    messages = [compared(SECRET, SHOWN, PERSONAL), compared(SECRET, SECRET, PERSONAL, OPEN)]

    assert [(None, "p.email is revealed"), (None, "p.email is personal no longer")] == [
        (each.code, each.message) for found in messages for each in found
    ]


def test_a_personal_column_that_all_sinks_reveal_breaks_no_reader() -> None:
    assert [None] == [each.code for each in compared(SHOWN, SHOWN, OPEN, PERSONAL)]


def test_a_key_that_is_of_another_type_is_told_of_the_key_and_of_the_field() -> None:
    found = compared(SECRET, SECRET, typed("int"), typed("int").replace("id: long", "id: string"))

    assert ["CONTRACT_KEY_CHANGED", "CONTRACT_TYPE_CHANGED"] == [each.code for each in found]


def test_a_difference_knows_where_it_is_declared() -> None:
    gone, new = compared(EMBED, EMBED.replace("amount", "at"))

    assert ("products", "p", "embed", "orders", "fields", "amount") == gone.path
    assert ("products", "p", "embed", "orders", "fields", "at") == new.path


def test_the_page_lists_each_code() -> None:
    text = Page("contracts.md").text

    assert [] == [each for each in get_args(Code) if f"`{each}`" not in text]
