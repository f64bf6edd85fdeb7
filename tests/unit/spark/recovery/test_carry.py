"""Join state carried from one store to another, which goes on as the first one would."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.rocksdb import RocksDbStore
from joinery.solutions.key_value.state import KeyValueJoinState, PortableKeyValueState
from joinery.solutions.relational.sqlite import SqliteState
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import Batch, JoinState
from joinery.spark.recovery.takeover import TakeoverError, carry, check_statements
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user:
    key: [at, day, id, price, tag]
    fields: {at: timestamp, day: date, id: long, price: "decimal(6,2)", tag: binary, name: string}
  order: {key: [id], fields: {id: double, user: long, total: int}}
products:
  profile:
    root: user
    group: q
    fields: [name]
    embed:
      orders: {many: order, on: {user: id}, fields: [total]}
  spent: {aggregate: order, by: [user], values: {orders: "count(*)", total: sum(total)}, group: q}
"""
ALONE = """
relations:
  user: {{key: [id], fields: {{id: long}}}}
products:
  user: {{root: user, solution: {}}}
"""
Make = Callable[[Sequence[Product], Path], JoinState]


def sqlite(products: Sequence[Product], folder: Path) -> JoinState:
    return SqliteState(products, folder / "state.db")


def rocksdb(products: Sequence[Product], folder: Path) -> JoinState:
    return PortableKeyValueState(products, RocksDbStore(folder / "rocksdb", cache_mb=8))


def user(number: int, name: str | None) -> Change:
    key = {
        "at": datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC),
        "day": date(2026, 1, number),
        "id": number,
        "price": Decimal(number) / 4,
        "tag": b"\xff\x00",
    }
    return Change("user", key, None if name is None else {**key, "name": name}, number)


def order(number: float, user: int, total: int | None, position: int) -> Change:
    row = None if total is None else {"id": number, "user": user, "total": total}
    return Change("order", {"id": number}, row, position)


BATCHES = [
    [user(1, "ann"), user(2, "bob"), user(3, "cy"), order(0.5, 1, 5, 1), order(2.0, 2, 6, 7)],
    [user(3, None), order(2.0, 2, None, 9)],
    [order(2.0, 2, 8, 8), order(7.25, 1, 9, 1), user(2, "bea")],
]


def apply(driver: StoreDriver, number: int) -> Any:
    return driver.apply(BATCHES[number], Batch("q", number, 1, 1000 * (number + 1))).emitted


@pytest.mark.parametrize(("first", "second"), [(sqlite, rocksdb), (rocksdb, sqlite)])
def test_the_other_store_goes_on_as_the_first_would(
    first: Make, second: Make, tmp_path: Path
) -> None:
    products = build_plan(load_text(PROJECT)).products
    (tmp_path / "second").mkdir()
    source = StoreDriver(products, first(products, tmp_path))
    for number in range(2):
        apply(source, number)
    source.close()
    held = StoreDriver(products, first(products, tmp_path))
    target = StoreDriver(products, second(products, tmp_path / "second"))

    assert held.portable is not None
    assert held.portable.last_number("another") is None
    assert 1 == held.portable.last_number("q")
    carry(held.portable, target.state, products, Batch("q", 1, 0, 0))
    emitted = apply(target, 2)

    assert apply(held, 2) == emitted
    assert [14] == [json.loads(e.text)["total"] for e in emitted["spent"].documents.values()]
    assert 2 == len(emitted["profile"].documents)  # the order that was deleted later stays away
    assert all('"total":8' not in (e.text or "") for e in emitted["profile"].documents.values())
    target.close()
    held.close()


def test_a_store_that_cannot_list_is_not_portable() -> None:
    products = build_plan(load_text(PROJECT)).products

    assert StoreDriver(products, KeyValueJoinState(products, MemoryStore())).portable is None


def test_documents_of_other_statements_are_not_carried_over() -> None:
    own = build_plan(load_text(ALONE.format("{rdbms-trigger: {sql: {documents: SELECT 1}}}")))
    generated, rows = (
        build_plan(load_text(ALONE.format(each))).products for each in ("rdbms-trigger", "kv")
    )

    check_statements(generated, rows)
    with pytest.raises(TakeoverError, match="are made by different statements"):
        check_statements(own.products, rows)
