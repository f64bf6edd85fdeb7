"""What a table becomes in a project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joinery.model.table import Column, ForeignKey, SourceTable, TableName
from joinery.project.kind import SourceSpec
from joinery.project.load import load_spec
from joinery.project.onboard import (
    OnboardError,
    Suggestion,
    TableChoices,
    chosen,
    large_warning,
    relation_for,
    suggestions_for,
    warnings_of,
)
from joinery.project.product import ProjectSpec

PROJECT = """\
sources: {a: {files: {path: in}}}
defaults: {format: debezium-json}
relations:
  customer: {topic: shop.public.customer, key: [id], fields: {id: long, name: string}}
  line:
    {topic: shop.public.line, key: [id], fields: {id: long, order_id: long, product_id: long}}
products:
  profile: {root: customer, sink: {console: {}}}
  basket: {root: line, embed: {buyer: {one: customer, on: {id: id}}}, sink: {console: {}}}
"""


def table(name: str, *columns: str, schema: str = "public") -> SourceTable:
    made = tuple(Column(each, "long") for each in columns)
    return SourceTable(TableName(schema, name), made, key=columns[:1])


def foreign(child: str, column: str, parent: str, *, unique: bool = False) -> ForeignKey:
    names = TableName("public", child), TableName("public", parent)
    return ForeignKey(*names, ((column, "id"),), unique=unique)


ORDER = replace(
    table("order", "id", "customer_id", "total"),
    foreign_keys=(
        foreign("order", "customer_id", "customer"),
        foreign("line", "order_id", "order"),
    ),
)


@pytest.fixture
def project(tmp_path: Path) -> ProjectSpec:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    return load_spec(file)


def suggested(table: SourceTable, project: ProjectSpec) -> list[Suggestion]:
    return list(suggestions_for(table, relation_for(table, project, TableChoices()), project))


def test_a_relation_takes_key_columns_and_the_topic_its_siblings_have(
    project: ProjectSpec,
) -> None:
    made = relation_for(ORDER, project, TableChoices())

    assert (made.name, made.topic) == ("order", "shop.public.order")
    assert (made.key, made.fields) == (
        ("id",),
        (("id", "long"), ("customer_id", "long"), ("total", "long")),
    )
    assert (made.source, made.format) == (None, None)


def test_what_the_user_chooses_comes_first(project: ProjectSpec) -> None:
    choices = TableChoices(
        name="o", topic="x.{schema}.{table}", format="debezium-avro", key=("id", "total")
    )

    made = relation_for(ORDER, project, choices)

    assert (made.name, made.topic, made.format) == ("o", "x.public.order", "debezium-avro")
    assert made.key == ("id", "total")


def test_a_captured_table_is_in_debeziums_format(project: ProjectSpec) -> None:
    flat = replace(project, defaults=replace(project.defaults, format="json"))

    assert relation_for(ORDER, flat, TableChoices()).format == "debezium-json"


def test_siblings_in_several_places_tell_no_topic(project: ProjectSpec) -> None:
    first, second = project.relations
    mixed = replace(project, relations=(first, replace(second, topic="line")))

    assert relation_for(ORDER, mixed, TableChoices()).topic is None


def test_timestamps_in_milliseconds_are_told(project: ProjectSpec) -> None:
    columns = (*ORDER.columns, Column("at", "timestamp_ntz", unit="millis"))

    assert (
        relation_for(replace(ORDER, columns=columns), project, TableChoices()).time_unit == "millis"
    )


@pytest.mark.parametrize(
    ("odd", "choices", "message"),
    [
        (table("customer", "id"), TableChoices(), 'already has a relation "customer"'),
        (replace(ORDER, key=()), TableChoices(), '"public.order" has no primary key'),
        (ORDER, TableChoices(key=("nothing",)), '"public.order" has no column "nothing"'),
        (ORDER, TableChoices(source="b"), 'there is no source "b"'),
    ],
)
def test_what_cannot_join_is_refused(
    project: ProjectSpec, odd: SourceTable, choices: TableChoices, message: str
) -> None:
    with pytest.raises(OnboardError) as caught:
        relation_for(odd, project, choices)

    assert message in caught.value.message


def test_foreign_keys_suggest_embeds_both_ways(project: ProjectSpec) -> None:
    found = suggested(ORDER, project)

    assert [
        "orders in profile (many on {customer_id: id})",
        "order in basket (one on {id: order_id})",
        "orders in basket.buyer (many on {customer_id: id})",
    ] == [str(each) for each in found]
    assert ("products", "basket", "embed", "buyer", "embed") == found[2].path
    assert (("id", "id"), ("total", "total")) == found[0].embed.fields


def test_a_unique_foreign_key_embeds_one(project: ProjectSpec) -> None:
    only = replace(ORDER, foreign_keys=(foreign("order", "customer_id", "customer", unique=True),))

    assert "order in profile (one on {customer_id: id})" == str(suggested(only, project)[0])


def test_a_name_that_is_taken_is_not_suggested(project: ProjectSpec) -> None:
    named = replace(
        table("product_id", "id"), foreign_keys=(foreign("line", "product_id", "product_id"),)
    )

    assert "product in basket (one on {id: product_id})" == str(suggested(named, project)[0])


def test_a_column_that_the_other_side_lacks_suggests_nothing(project: ProjectSpec) -> None:
    key = ForeignKey(
        TableName("public", "order"), TableName("public", "customer"), (("customer_id", "number"),)
    )

    assert [] == suggested(replace(ORDER, foreign_keys=(key,)), project)


def test_a_table_of_another_schema_is_another_table(project: ProjectSpec) -> None:
    key = ForeignKey(
        TableName("public", "order"), TableName("old", "customer"), (("customer_id", "id"),)
    )

    assert [] == suggested(replace(ORDER, foreign_keys=(key,)), project)


def test_the_nearest_embed_is_chosen(project: ProjectSpec) -> None:
    found = suggested(ORDER, project)

    assert chosen(found, "basket", None).embed.cardinality == "one"
    assert chosen(found, "profile", "purchases").embed.name == "purchases"
    with pytest.raises(OnboardError, match='no foreign key joins the table to product "other"'):
        chosen(found, "other", None)


def test_two_ways_need_a_name(project: ProjectSpec) -> None:
    keys = (foreign("mail", "sender_id", "customer"), foreign("mail", "reader_id", "customer"))
    mail = replace(table("mail", "id", "sender_id", "reader_id"), foreign_keys=keys)
    found = suggested(mail, project)

    with pytest.raises(OnboardError, match="in several ways"):
        chosen(found, "profile", None)


@pytest.mark.parametrize(
    ("identity", "key", "warning"),
    [
        ("nothing", ("id",), "has REPLICA IDENTITY NOTHING: its updates and deletes cannot be"),
        ("default", (), "has no primary key: its updates and deletes cannot be captured"),
        ("index", ("id",), "lacks columns of its key"),
        ("full", (), "its messages have no key that orders them"),
    ],
)
def test_an_identity_that_is_not_safe_is_told(
    identity: Any, key: tuple[str, ...], warning: str
) -> None:
    columns = (Column("id", "long"), Column("total", "string", large=True))
    odd = replace(ORDER, columns=columns, identity=identity, key=key)

    (told,) = warnings_of(odd)

    assert warning in told


def test_large_values_that_are_left_out_are_told_once_for_all_tables() -> None:
    columns = (Column("id", "long"), Column("note", "string", large=True))
    some = replace(ORDER, columns=columns, identity="default")
    more = replace(some, name=TableName("public", "mail"), identity="index")
    safe = replace(some, name=TableName("public", "safe"), identity="full")

    told = large_warning([some, more, safe, replace(ORDER, identity="default")])

    assert '"public.order" (note), "public.mail" (note).' in told
    assert "ALTER TABLE public.mail REPLICA IDENTITY FULL" in told
    assert "safe" not in told
    assert "" == large_warning([safe])


def test_a_full_identity_is_safe() -> None:
    assert [] == list(warnings_of(replace(ORDER, identity="full")))


def test_nothing_is_told_of_an_identity_that_nobody_knows() -> None:
    assert [] == list(warnings_of(replace(ORDER, key=())))


def test_a_column_that_is_not_sent_is_told() -> None:
    (told,) = warnings_of(replace(ORDER, left_out=(("shape", "polygon"),)))

    assert 'column "shape" of "public.order" is left out: Debezium does not send polygon' == told


@pytest.mark.parametrize(
    ("kind", "at", "topic"),
    [
        ("postgres", "public", None),
        ("postgres", "stock", "stock.order"),
        ("mysql", "shop", None),
        ("mysql", "stock", "stock.order"),
    ],
)
def test_a_table_of_a_database_that_is_captured_is_named_as_its_source_names_it(
    project: ProjectSpec, kind: str, at: str, topic: str | None
) -> None:
    source = SourceSpec("db", kind, (("url", f"{kind}://h/shop"),))
    reading = replace(project, sources=(source,), relations=())
    due = Column("due", "timestamp_ntz", unit="millis")
    order = replace(ORDER, name=TableName(at, "order"), columns=(*ORDER.columns, due))

    relation = relation_for(order, reading, TableChoices())

    # Such a source has one format, and counts times in microseconds whatever their precision.
    assert (topic, None, "micros") == (relation.topic, relation.format, relation.time_unit)
