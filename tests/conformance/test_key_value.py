"""The conformance suite on key-value stores, with crashes between any two of their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.oracle.beside import Beside
from tests.oracle.compare import chosen_seeds, each_seed, failures, make_trial

from joinery.plan.product import Product
from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.rocksdb import RocksDbStore
from joinery.solutions.key_value.state import KeyValueJoinState, KeyValueReader
from joinery.solutions.key_value.store import Address, KeyValueStore
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.testing import conformance
from joinery.testing.conformance import Case, all_cases
from joinery.testing.stores import Break, Opener, StoreRunner, check_replaced

SEEDS = chosen_seeds(10)


class ScatteringStore:
    """Writes the entries of one call in two calls, cut at random, so that a crash may part them."""

    def __init__(self, store: KeyValueStore, random: Random) -> None:
        self._store, self._random = store, random
        self.get_many, self.scan, self.close = store.get_many, store.scan, store.close

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        first = {at: value for at, value in entries.items() if self._random.random() < 0.5}
        self._store.put_many(first)
        self._store.put_many({at: value for at, value in entries.items() if at not in first})


def opener(make: Callable[[], KeyValueStore]) -> Opener:
    """Return what opens join state over a store that may break between any two writes."""
    random = Random(7)

    def open_(products: Sequence[Product], break_: Break[Any]) -> StoreDriver:
        store = ScatteringStore(break_(make()), random)
        return StoreDriver(products, KeyValueJoinState(products, store))

    return open_


def in_memory() -> Opener:
    store = MemoryStore()
    return opener(lambda: store)


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    outcomes = conformance.examine(StoreRunner(in_memory(), replay=True))
    return {each.case.sentence: each.problem for each in outcomes}


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_the_memory_store_holds(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.slow
def test_rocksdb_holds_through_crashes(tmp_path: Path) -> None:
    open_ = opener(lambda: RocksDbStore(tmp_path / "store", cache_mb=8))
    runner = StoreRunner(open_, replay=True, crashes=2)

    conformance.check(runner)

    assert runner.crashed > 0


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=4))
def test_a_crash_after_any_write_changes_nothing(seed: int) -> None:
    runner = StoreRunner(in_memory(), replay=True, crashes=-1)

    assert [] == failures(make_trial([seed]), runner)


@pytest.mark.slow
def test_documents_made_elsewhere_from_rocksdb_are_the_same_through_crashes(tmp_path: Path) -> None:
    def open_(products: Sequence[Product], break_: Break[Any]) -> StoreDriver:
        store = RocksDbStore(tmp_path / "store", cache_mb=8)
        state = KeyValueJoinState(products, break_(store))
        task = Task(products, partial(KeyValueReader, products, store.reader()))
        return StoreDriver(products, state, together=3, team=Beside(task), alone=-1)

    runner = StoreRunner(open_, replay=True, crashes=2)

    assert [] == failures(make_trial([SEEDS[0]]), runner)


def test_what_a_document_that_settles_replaces_is_told() -> None:
    check_replaced(in_memory())
