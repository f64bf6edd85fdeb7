"""Invariants of plans: a plan that breaks one is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from joinery.errors import PlanError
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import BOOLEAN, LONG, STRING, Array, Field
from joinery.plan.node import Node
from joinery.plan.product import DocumentForm, Plan, Product
from joinery.plan.relation import Computed, JoinPair, OrderKey, Relation
from joinery.plan.verify import verify

ID = Expression("id", LONG, frozenset({"id"}))
USER = Relation("user", "", "user", "json", ("id",), (Field("id", LONG), Field("n", STRING)))
CHILD = Node(
    "c",
    "p/c",
    "many",
    USER,
    on=(JoinPair("id", "id", LONG),),
    fields=(Computed("id", ID),),
    order=(OrderKey(ID),),
    limit=2,
)
ROOT = Node("p", "p", "root", USER, fields=(Computed("id", ID),), embeds=(CHILD,))


def plan_of(root: Node, **parts: Any) -> Plan:
    """Return a plan of one product."""
    return Plan((replace(Product("p", DocumentForm(root)), **parts),))


def with_child(**parts: Any) -> Node:
    """Return the root with a changed child."""
    return replace(ROOT, embeds=(replace(CHILD, **parts),))


def test_a_sound_plan_is_accepted() -> None:
    verify(plan_of(ROOT))


@pytest.mark.parametrize(
    "root",
    [
        replace(ROOT, cardinality="many"),
        replace(ROOT, embeds=(CHILD, CHILD)),
        replace(ROOT, fields=(Computed("x", Expression("nope", LONG, frozenset({"nope"}))),)),
        replace(ROOT, fields=(Computed("c_total", ID),)),
        replace(ROOT, where=ID),
        replace(ROOT, where=Expression("c is null", BOOLEAN, frozenset({"c"}))),
        replace(ROOT, relation=replace(USER, key=("gone",))),
        with_child(limit=0),
        with_child(on=()),
        with_child(on=(JoinPair("id", "n", LONG),)),
        with_child(on=(JoinPair("id", "id", STRING),)),
        with_child(path="p/elsewhere"),
        with_child(cardinality="one"),
        with_child(order=(OrderKey(Expression("x", Array(LONG), frozenset({"id"}))),)),
        replace(
            ROOT,
            aggregates=(Aggregate("__agg_0", "nope", "count", None, None, LONG),),
        ),
        replace(
            ROOT,
            values=(
                Computed("a", Expression("b", LONG, frozenset({"b"}))),
                Computed("b", ID),
            ),
        ),
    ],
)
def test_a_plan_that_breaks_an_invariant_is_refused(root: Node) -> None:
    with pytest.raises(PlanError):
        verify(plan_of(root))


def test_two_products_of_one_name_are_refused() -> None:
    with pytest.raises(PlanError):
        verify(Plan((Product("p", DocumentForm(ROOT)), Product("p", DocumentForm(ROOT)))))


def test_a_product_cannot_wait_for_what_it_does_not_read() -> None:
    with pytest.raises(PlanError):
        verify(plan_of(ROOT, ready=("star",)))
