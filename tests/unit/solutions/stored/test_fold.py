"""Documents folded set at a time are those that are assembled row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from joinery.model.change import Row
from joinery.plan.build import build_plan
from joinery.semantics.assemble import Assembler
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings, Rows
from joinery.solutions.stored.column import RowTable
from joinery.solutions.stored.fold import Fold
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string, city: string}}
  order: {key: [id], fields: {id: long, user_id: long, item: string, total: int}}
  item: {key: [name], fields: {name: string, price: double}}
products:
  p:
    root: user
    where: name is not null
    fields: [id, {"`100 % mine`": name, "`orders as text`": upper(city), "`a\\"b`": city}]
    embed:
      orders:
        many: order
        on: {user_id: id}
        fields: [id, {price: i.price, fee: 10 / total}]
        where: item is not null
        order: [-total]
        limit: 2
        embed:
          i: {one: item, on: {name: item}, fields: [price]}
      by_item: {many: order, on: {user_id: id}, fields: [total], as: map, limit: 1, overflow: fail}
      last: {one: order, on: {user_id: id}, fields: [total], order: [-total], hidden: true}
    values: {best: last.total, count: size(orders), spent: sum(orders.fee)}
"""
USERS: list[Row] = [
    {"id": 1, "name": "a", "city": 'x"\\'},
    {"id": 2, "name": "b", "city": None},
    {"id": 3, "name": None, "city": "z"},
]
ORDERS: list[Row] = [
    {"id": 10, "user_id": 1, "item": "tea", "total": 5},
    {"id": 11, "user_id": 1, "item": "jam", "total": 0},
    {"id": 12, "user_id": 1, "item": None, "total": 9},
    {"id": 13, "user_id": 1, "item": "tea", "total": None},
    {"id": 14, "user_id": 2, "item": "tea", "total": 7},
    {"id": 15, "user_id": None, "item": "tea", "total": 1},
]
ITEMS: list[Row] = [{"name": "tea", "price": -0.0}, {"name": "jam", "price": float("nan")}]


def table(rows: Sequence[Row]) -> RowTable:
    names = list(rows[0])
    return RowTable(names, [tuple(row.values()) for row in rows], {})


@pytest.mark.parametrize("shape", [list, table])
def test_a_fold_gives_the_texts_of_the_assembler(shape: Any) -> None:
    root = build_plan(load_text(PROJECT)).products[0].root
    rows = Rows({"order": ORDERS, "item": ITEMS})
    one_by_one = [Assembler(root, Findings()).assemble(user, rows) for user in USERS]
    text, expected = renderer(root.output), [each for each in one_by_one if each is not None]

    def find(relation: str, columns: tuple[str, ...], values: Any) -> Sequence[Row]:
        found = [row for value in values for row in rows.matching(relation, columns, value)]
        return shape(found) if found else []

    folded = Fold(root, Findings(), value=False, text=True).fold(shape(USERS), find)

    assert [text(each.value) for each in expected] == list(folded.texts)
    assert [each.overflowed for each in expected] == list(folded.overflowed)
    assert [1, 2] == [row["id"] for row in folded.rows]


def test_the_values_of_a_fold_are_those_of_the_assembler() -> None:
    root = build_plan(load_text(PROJECT)).products[0].root
    rows = Rows({"order": ORDERS, "item": ITEMS})
    expected = [Assembler(root, Findings()).assemble(user, rows) for user in USERS[:2]]

    def find(relation: str, columns: tuple[str, ...], values: Any) -> Sequence[Row]:
        return [row for value in values for row in rows.matching(relation, columns, value)]

    folded = Fold(root, Findings(), value=True, text=False).fold(USERS, find)

    assert repr([each.value for each in expected if each]) == repr(list(folded.values))


def test_rows_of_a_table_are_those_of_mappings() -> None:
    rows = table(USERS)

    assert USERS == list(rows)
    assert USERS == rows
    assert USERS[1] == rows[1]
    assert USERS[:2] == list(rows.kept([True, True, False]))
    assert ["a", "b", None] == rows.column("name")
