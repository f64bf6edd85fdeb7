"""What documents tables offer, and the project file that says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from joinery.model.table import Column, ForeignKey, SourceTable, TableName
from joinery.onboarding.proposal import Proposal, propose
from joinery.onboarding.proposal_text import Origin, project_text, without_password
from joinery.project.node import NodeSpec


def table(name: str, *columns: str, key: int = 1) -> SourceTable:
    """Return a table of `column` or `column:type`, whose first columns are its key."""
    pairs = [each.partition(":") for each in columns]
    made = tuple(Column(each, type_ or "long") for each, _, type_ in pairs)
    names = tuple(each.name for each in made)
    return SourceTable(named(name), made, key=names[:key], identity="default")


def named(name: str) -> TableName:
    schema, _, plain = name.rpartition(".")
    return TableName(schema or "public", plain)


def pointing(of: SourceTable, **columns: str) -> SourceTable:
    """Return a table with foreign keys: `column="parent"` or `column="parent(column)"`."""
    keys = []
    for column, told in columns.items():
        parent, _, its = told.removesuffix(")").partition("(")
        keys.append(ForeignKey(of.name, named(parent), ((column, its or "id"),)))
    return replace(of, foreign_keys=(*of.foreign_keys, *keys))


CUSTOMER = table("customer", "id", "name:string")
ORDER = pointing(table("order", "id", "customer_id", "note:string"), customer_id="customer")
PRODUCT = table("stock.product", "sku:string", "title:string")
BOUGHT = pointing(
    table("bought", "order_id", "sku:string", "count:int", key=2),
    order_id="order",
    sku="stock.product(sku)",
)


def embeds(proposal: Proposal, product: str) -> dict[str, NodeSpec]:
    (found,) = (each for each in proposal.products if each.name == product)
    return {each.name: each for each in found.root.embed}


def test_tables_that_others_name_are_roots_and_a_junction_leads_across() -> None:
    text = project_text(
        propose((BOUGHT, ORDER, PRODUCT, CUSTOMER)), Origin("shop", "db:5432/shop", "postgresql://")
    )

    assert (
        text[text.index("relations:") :]
        == """\
relations:
  bought: {key: [order_id, sku], fields: {order_id: long, sku: string, count: int}}
  customer: {key: [id], fields: {id: long, name: string}}
  order: {key: [id], fields: {id: long, customer_id: long, note: string}}
  product: {key: [sku], fields: {sku: string, title: string}, topic: stock.product}

sinks:                                # of all products; documents into a table, or an index:
  out: {files: {path: out}}           # {postgres: {url: …}}, {opensearch: {url: …}}

products:
  customer_document:
    root: customer
    embed: {orders: {many: order, on: {customer_id: id}, fields: [id, note]}}
    sink: out
  order_document:
    root: order
    embed:
      customer: {one: customer, on: {id: customer_id}, fields: [name]}
      products:
        many: bought
        on: {order_id: id}
        fields: [sku, count, title: product.title]
        embed: {product: {one: product, on: [sku], fields: [title], hidden: true}}
    sink: out
  product_document:
    root: product
    embed:
      orders:
        many: bought
        on: [sku]
        fields: [order_id, count, customer_id: order.customer_id, note: order.note]
        embed: {order: {one: order, on: {id: order_id}, fields: [customer_id, note], hidden: true}}
    sink: out
"""
    )


def test_the_order_in_which_tables_are_found_changes_nothing() -> None:
    tables = (BOUGHT, ORDER, PRODUCT, CUSTOMER)

    assert propose(tables) == propose(tables[::-1])


def test_two_foreign_keys_to_one_table_are_two_roles() -> None:
    letter = pointing(
        table("letter", "id", "sender_id", "reader_id"), sender_id="user", reader_id="user"
    )
    offered = propose((letter, table("user", "id", "name:string"), table("other", "id")))

    found = embeds(offered, "user_document")
    assert {"letters_by_sender": ("sender_id", "id"), "letters_by_reader": ("reader_id", "id")} == {
        name: each.on[0] for name, each in found.items()
    }
    assert ["reader"] == [each.name for each in found["letters_by_sender"].embed]
    assert ("table public.other: no foreign key joins it to another table",) == offered.left_out


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (("senderId", "readerID"), ["sender", "reader"]),
        (("sender", "reader"), ["user_by_sender", "user_by_reader"]),
        (("id", "_id"), ["user_by_id", "user_by__id"]),
    ],
)
def test_a_row_that_is_named_has_its_role_or_its_table_for_a_name(
    columns: tuple[str, str], names: list[str]
) -> None:
    letter = table("letter", "number", *columns)
    letter = pointing(letter, **dict.fromkeys(columns, "user"))
    answer = pointing(table("answer", "number", "letter"), letter="letter(number)")

    found = embeds(propose((letter, answer, table("user", "id", "name:string"))), "letter_document")

    assert [*names, "answers"] == [*found]


def test_a_table_that_names_itself_is_embedded_both_ways() -> None:
    clerk = pointing(table("clerk", "id", "boss_id", "name:string"), boss_id="clerk")

    found = embeds(propose((clerk,)), "clerk_document")

    assert {
        "boss": ("one", (("id", "boss_id"),)),
        "clerks_by_boss": ("many", (("boss_id", "id"),)),
    } == {name: (each.cardinality, each.on) for name, each in found.items()}


def test_a_junction_of_a_table_with_itself_leads_both_ways() -> None:
    follow = pointing(
        table("follow", "follower_id", "followee_id", key=2), follower_id="user", followee_id="user"
    )

    found = embeds(propose((follow, table("user", "id", "name:string"))), "user_document")

    assert {"followers": "followee_id", "followees": "follower_id"} == {
        name: each.on[0][0] for name, each in found.items()
    }
    assert (("followee_id", "followee_id"), ("name", "followee.name")) == found["followees"].fields


def test_a_junction_with_a_key_of_its_own_is_known_by_what_is_unique() -> None:
    like = table("like", "id", "user_id", "post_id")
    like = pointing(like, user_id="user", post_id="post")
    others = (table("user", "id", "name:string"), table("post", "id", "text:string"))

    plain = embeds(propose((like, *others)), "user_document")
    unique = embeds(
        propose((replace(like, unique=(("user_id", "post_id"),)), *others)), "user_document"
    )

    assert (["likes"], ["posts"]) == ([*plain], [*unique])
    assert (("post_id", "post_id"), ("text", "post.text")) == unique["posts"].fields


def test_a_unique_foreign_key_embeds_one_row() -> None:
    passport = table("passport", "id", "owner_id")
    key = ForeignKey(passport.name, named("user"), (("owner_id", "id"),), unique=True)

    found = embeds(
        propose((replace(passport, foreign_keys=(key,)), table("user", "id"))), "user_document"
    )

    assert {"passport": "one"} == {name: each.cardinality for name, each in found.items()}


def test_names_that_are_words_of_expressions_or_no_names_are_quoted() -> None:
    child = pointing(table("child", "id", "end", "odd name", "a", "__x"), a="parent")

    offered = propose((child, table("parent", "id")))

    (fields,) = (each.fields for each in embeds(offered, "parent_document").values())
    assert (("id", "id"), ("end", "`end`"), ("odd name", "`odd name`")) == fields
    assert {"child": ('column "__x" is left out: a field cannot have its name',), "parent": ()} == (
        offered.notes
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": ()}, "it has no key; alter table public.t add primary key (…)"),
        ({"identity": "nothing"}, "its updates and deletes identify no row"),
        ({"identity": "index", "identity_columns": ("name",)}, "it has no key"),
        ({"name": TableName("public", "a.b")}, "a source cannot have a table whose name"),
    ],
)
def test_a_table_whose_changes_cannot_be_used_is_left_out(
    changes: dict[str, Any], reason: str
) -> None:
    broken = replace(table("t", "id", "name:string"), **changes)

    offered = propose((broken, CUSTOMER))

    assert ["customer"] == [each.name for each in offered.relations]
    assert reason in offered.left_out[0]


def test_unique_columns_are_the_key_where_deletes_tell_them() -> None:
    bare = replace(table("t", "id", "name:string"), key=(), unique=(("name",),))

    full = propose((replace(bare, identity="full"),))
    index = propose((replace(bare, identity="index", identity_columns=("name",)),))

    assert [("name",), ("name",)] == [each.relations[0].key for each in (full, index)]


def test_a_foreign_key_whose_types_differ_is_left_out() -> None:
    child = pointing(table("child", "id", "a:double"), a="parent")

    offered = propose((child, table("parent", "id")))

    assert "foreign key public.child to public.parent (a = id): types differ" in offered.left_out


def test_tables_of_one_name_are_told_apart_by_their_schemas() -> None:
    offered = propose((table("a.t", "id"), table("b.t", "id"), table("t", "id")))

    assert [("a_t", "a.t"), ("b_t", "b.t"), ("t", None)] == [
        (each.name, each.topic) for each in offered.relations
    ]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://ada:engine@db/shop", "postgresql://ada@db/shop"),
        ("postgresql://db/shop?password=x&sslmode=require", "postgresql://db/shop?sslmode=require"),
        ("postgresql://ada@db/shop?options=-c%20a", "postgresql://ada@db/shop?options=-c%20a"),
    ],
)
def test_a_password_is_not_written(url: str, told: str) -> None:
    assert told == without_password(url)
    assert f"${{DATABASE:-{told}}}" in project_text(propose((CUSTOMER,)), Origin("s", "s", url))
