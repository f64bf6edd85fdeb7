"""Groups in stores: what the reference must do of them, through crashes, and random groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from tests.conformance.group_cases import CASES, supported
from tests.oracle.groups import Log, cuts, random_log, truth

from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.load import load_spec
from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.state import KeyValueJoinState
from joinery.solutions.relational.sqlite import SqliteState
from joinery.solutions.stored.driver import StoreDriver
from joinery.testing import conformance
from joinery.testing.changes import insert
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver
from joinery.testing.stores import Break, StoreRunner

SOLUTIONS = ("kv", "rdbms-store")
NULLS = """
relations: {sale: {key: [id], fields: {id: int, a: string, b: string}}}
products: {p: {aggregate: sale, by: [a, b], values: {n: count(*)}}}
"""
Open = Callable[[Sequence[Product], Break[Any]], StoreDriver]


def opener(solution: str, folder: Path) -> Open:
    """Return what opens a solution over a place that is empty at first."""
    store = MemoryStore()
    path = Path(mkdtemp(dir=folder)) / "state.db"

    def open_(products: Sequence[Product], break_: Break[Any]) -> StoreDriver:
        if solution == "kv":
            return StoreDriver(products, KeyValueJoinState(products, break_(store)))
        return StoreDriver(products, break_(SqliteState(products, path)), together=3)

    return open_


def test_stores_run_most_of_the_cases() -> None:
    assert len(CASES) > 12


@pytest.mark.parametrize("solution", SOLUTIONS)
@pytest.mark.parametrize("crashes", [0, 4])
def test_groups_in_a_store_hold(solution: str, crashes: int, tmp_path: Path) -> None:
    runner = StoreRunner(opener(solution, tmp_path), replay=True, crashes=crashes)

    conformance.check(runner, CASES)

    assert (runner.crashed > 0) == (crashes > 0)


def _products(log: Log, folder: Path) -> tuple[Product, ...]:
    file = folder / "joinery.yaml"
    file.write_text(log.project, encoding="utf-8")
    return build_plan(load_spec(file)).products


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_random_groups_in_a_store_are_those_of_duckdb(solution: str, tmp_path: Path) -> None:
    run = 0
    for seed in range(120):
        log = random_log(seed)
        products = _products(log, tmp_path)
        if not all(map(supported, products)):
            continue
        run += 1
        driver = Driver(products[0], opener(solution, tmp_path)(products, lambda each: each))
        start = 0
        for end in cuts(seed, len(log.changes)):
            driver.send(log.changes[start:end])
            start = end
            found = {
                key if isinstance(key, tuple) else (key,): dict(value)
                for key, value in driver.documents().items()
            }
            _compare(truth(log, end), found, log)
    assert run > 10


def _compare(expected: dict[Any, Any], found: dict[Any, Any], log: Log) -> None:
    assert expected.keys() == found.keys(), log.project
    for key, value in expected.items():
        assert list(value) == list(found[key])
        for name, wanted in value.items():
            mine = found[key][name]
            if isinstance(wanted, float) and isinstance(mine, float):
                assert math.isclose(wanted, mine, rel_tol=1e-12)
            else:
                assert wanted == mine, (log.project, value, found[key])


@pytest.mark.parametrize("solution", ["reference", *SOLUTIONS])
def test_a_driver_shows_the_groups_of_nulls_first(solution: str) -> None:
    spec = load_text(NULLS)
    driver = Driver(build_plan(spec).products[0], solution=solution)
    keys = [("null", None), (None, "b"), ("", None), (None, None)]

    emitted = driver.send(insert("sale", id=at, a=a, b=b) for at, (a, b) in enumerate(keys))

    assert [(None, None), (None, "b"), ("", None), ("null", None)] == [e.key for e in emitted]
