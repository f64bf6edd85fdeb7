"""The driver of store-backed solutions: what it asks of a store, and what it sends."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from joinery.model.change import Change, Key, Row
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.semantics.rows import JoinValue
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import Batch, BatchResult, StoreFencedError
from joinery.testing.conformance.project import load_text
from joinery.testing.memory_state import MemoryState

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string, seen: int}}
  order: {key: [id], fields: {id: long, user: long, total: int, note: string}}
products:
  profile:
    root: user
    fields: [name]
    embed:
      orders: {many: order, on: {user: id}, fields: [total]}
"""


class Watched(MemoryState):
    """Remembers what was asked of it."""

    def __init__(self, products: Sequence[Product]) -> None:
        super().__init__(products)
        self.asked: list[tuple[str, int]] = []

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        self.asked.append((relation, len(values)))
        return super().matching(relation, columns, values)

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        self.asked += [("mark", len(keys)) for keys in roots.values()]
        super().mark(roots)


@pytest.fixture
def products() -> Sequence[Product]:
    return build_plan(load_text(PROJECT)).products


@pytest.fixture
def state(products: Sequence[Product]) -> Watched:
    return Watched(products)


@pytest.fixture
def driver(products: Sequence[Product], state: Watched) -> StoreDriver:
    return StoreDriver(products, state)


def user(id: int, **columns: Any) -> Change:
    return Change("user", {"id": id}, {"name": None, "seen": None, **columns})


def order(id: int, **columns: Any) -> Change:
    return Change("order", {"id": id}, {"user": None, "total": None, "note": None, **columns})


def batch(number: int, *, epoch: int = 1) -> Batch:
    return Batch("query", number, epoch, (number + 1) * 1000)


def sent(outcome: BatchResult) -> dict[Key, tuple[str | None, int]]:
    documents = outcome.emitted["profile"].documents
    return {key: (each.text, each.version) for key, each in documents.items()}


def test_a_batch_sends_what_it_changed(driver: StoreDriver) -> None:
    driver.apply([user(1, name="a"), user(2, name="b")], batch(0))

    outcome = driver.apply([order(7, user=2, total=5)], batch(1))

    assert {(2,): ('{"name":"b","orders":[{"total":5}]}', 2000)} == sent(outcome)


def test_all_rows_of_an_edge_are_one_request(driver: StoreDriver, state: Watched) -> None:
    driver.apply([user(number) for number in range(50)], batch(0))
    state.asked.clear()

    driver.apply([order(number, user=number) for number in range(50)], batch(1))

    assert [("user", 50), ("mark", 50), ("user", 50), ("order", 50)] == state.asked


def test_a_column_that_nobody_shows_affects_no_document(
    driver: StoreDriver, state: Watched
) -> None:
    driver.apply([user(1), order(7, user=1, note="old")], batch(0))
    state.asked.clear()

    driver.apply([order(7, user=1, note="new"), user(1, seen=2)], batch(1))

    assert [] == state.asked


def test_a_moved_row_affects_the_root_it_left(driver: StoreDriver) -> None:
    driver.apply([user(1), user(2), order(7, user=1)], batch(0))

    outcome = driver.apply([order(7, user=2)], batch(1))

    assert {(1,), (2,)} == sent(outcome).keys()


def test_an_acknowledged_batch_is_told_again(driver: StoreDriver) -> None:
    first = driver.apply([user(1, name="a")], batch(0))

    again = driver.apply([user(1, name="a")], batch(0))

    assert first.emitted == again.emitted


def test_versions_rise_when_the_clock_stands(driver: StoreDriver) -> None:
    driver.apply([user(1, name="a")], Batch("query", 0, 1, 1000))

    outcome = driver.apply([user(1, name="b")], Batch("query", 1, 1, 999))

    assert {(1,): ('{"name":"b","orders":[]}', 1001)} == sent(outcome)


def test_a_run_that_was_replaced_writes_nothing(driver: StoreDriver) -> None:
    driver.apply([user(1)], batch(0, epoch=2))

    with pytest.raises(StoreFencedError):
        driver.apply([user(2)], batch(1, epoch=1))


def test_changes_are_counted(driver: StoreDriver) -> None:
    told = Change("user", {"id": 1}, {"name": "a"}, position=5)
    driver.apply([told], batch(0))

    outcome = driver.apply([Change("user", {"id": 1}, {"name": "b"}, position=4)], batch(1))

    assert {"user": {"stale": 1}} == outcome.relations


def test_a_deleted_row_is_forgotten_after_its_time(driver: StoreDriver, state: Watched) -> None:
    driver.apply([Change("user", {"id": 1}, None, position=9)], batch(0))

    driver.forget(1001)

    assert {} == state.rows("user", [(1,)])


def test_what_a_store_is_asked_is_counted(driver: StoreDriver) -> None:
    outcome = driver.apply([user(1, name="a"), order(7, user=1)], batch(0))

    assert {"requests": 12, "entries_read": 2, "entries_written": 4} == outcome.usage
