"""Which names the expressions of a node may use."""

from __future__ import annotations

from typing import Any

from joinery.expression.typed import column_expression
from joinery.model.type import LONG, STRING, Array, Field, Struct
from joinery.plan.node import Node, types_of
from joinery.plan.relation import Computed, JoinPair, Relation

USER = Relation("user", "", "user", "json", ("id",), (Field("id", LONG), Field("n", STRING)))


def embed(name: str, cardinality: Any, **parts: Any) -> Node:
    return Node(
        name,
        f"p/{name}",
        cardinality,
        USER,
        on=(JoinPair("id", "id", LONG),),
        fields=(Computed("id", column_expression("id", LONG)),),
        **parts,
    )


OBJECT = Struct((Field("id", LONG),))
NODE = Node(
    "p",
    "p",
    "root",
    USER,
    fields=(Computed("id", column_expression("id", LONG)),),
    embeds=(embed("n", "one"), embed("c", "many", limit=2, hidden=True)),
    values=(Computed("c", column_expression("c_total", LONG)),),
)


def test_fields_see_the_columns_hidden_by_to_one_embeds() -> None:
    assert {"id": LONG, "n": OBJECT} == types_of(NODE.fields_scope)


def test_where_and_order_see_the_values_over_what_fields_see() -> None:
    assert {"id": LONG, "n": OBJECT, "c": LONG} == types_of(NODE.rank_scope)


def test_a_value_sees_a_hidden_embed_of_its_own_name_and_not_itself() -> None:
    scope = types_of(NODE.values_scope(before=0))

    assert {"id": LONG, "n": OBJECT, "c": Array(OBJECT), "c_total": LONG} == scope


def test_an_object_shows_its_visible_embeds_in_their_place() -> None:
    assert Struct((Field("id", LONG), Field("n", OBJECT), Field("c", LONG))) == NODE.output
