"""The rules by which a row and the rows below it become an object."""

from __future__ import annotations

from typing import Any

from joinery.plan.build import build_plan
from joinery.semantics.assemble import Assembler
from joinery.semantics.rows import Findings, Rows, join_value
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  order: {key: [id], fields: {id: long, user_id: long, total: int}}
products:
  p:
    root: user
    fields: [name]
    embed:
      orders: {many: order, on: {user_id: id}, fields: [id], limit: 1, overflow: fail}
      first: {one: order, on: {user_id: id}, fields: [total], order: [-total], hidden: true}
    values: {best: first.total, ratio: 10 / first.total}
"""


def assembled(*orders: dict[str, Any]) -> tuple[Any, Findings]:
    findings = Findings()
    assembler = Assembler(build_plan(load_text(PROJECT)).products[0].root, findings)
    rows = Rows({"order": orders})
    return assembler.assemble({"id": 1, "name": "a"}, rows), findings


def order(key: int, total: int | None) -> dict[str, Any]:
    return {"id": key, "user_id": 1, "total": total}


def test_outputs_stand_in_the_order_of_the_plan() -> None:
    found, _ = assembled(order(10, 5))

    assert {"name": "a", "orders": [{"id": 10}], "best": 5, "ratio": 2.0} == found.value
    assert ["name", "orders", "best", "ratio"] == list(found.value)


def test_an_embed_above_its_limit_is_told_by_its_path() -> None:
    found, _ = assembled(order(10, 5), order(11, 6))

    assert ("p/orders",) == found.overflowed


def test_several_matches_of_a_lookup_are_found() -> None:
    _, findings = assembled(order(10, 5), order(11, 6))

    assert {("p/first", (1,))} == findings.multiple


def test_an_expression_that_fails_is_null_and_found() -> None:
    found, findings = assembled(order(10, 0))

    assert found.value["ratio"] is None
    assert 1 == findings.failures


def test_nan_joins_nan_and_null_joins_nothing() -> None:
    nan = float("nan")

    assert join_value({"x": nan}, ["x"]) == join_value({"x": -nan}, ["x"])
    assert join_value({"x": None}, ["x"]) is None
