"""Random intervals: after each batch the sink holds what DuckDB makes of the same rows."""

from __future__ import annotations

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.intervals import (
    Log,
    cuts,
    random_alike,
    random_append,
    random_append_alike,
    random_forgetting,
    random_log,
    random_partial,
    truth,
)

from joinery.plan.build import build_plan
from joinery.testing.changes import RowChange
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver


@pytest.mark.parametrize("seed", each_seed(range(80), few=20))
def test_the_reference_holds_what_duckdb_computes(seed: int) -> None:
    _holds_what_duckdb_computes(random_log(seed), seed)


@pytest.mark.parametrize("seed", each_seed(range(30), few=10))
def test_the_reference_holds_what_duckdb_computes_of_all_rows_but_those_too_late(
    seed: int,
) -> None:
    _holds_what_duckdb_computes(random_forgetting(seed, recent=True), seed)


@pytest.mark.parametrize("seed", each_seed(range(40), few=12))
def test_the_reference_holds_what_duckdb_computes_of_logs_whose_rows_never_change(
    seed: int,
) -> None:
    _holds_what_duckdb_computes(random_append(seed), seed)


@pytest.mark.parametrize("seed", each_seed(range(40), few=12))
def test_the_reference_holds_what_duckdb_computes_of_logs_whose_rows_it_forgets(seed: int) -> None:
    log = random_partial(seed)
    driver = Driver(build_plan(load_text(log.project)).products[0])
    behind = [each for each in log.changes if each.relation == ("r" if seed % 2 else "c")]
    others = [each for each in log.changes if each not in behind]

    parts = 2 + seed % 9
    for part in range(parts + 2):
        driver.send(_part(others, part, parts) + _part(behind, part - 2, parts))
    driver.until_closed()

    assert truth(log, len(log.changes), ended=True) == dict(driver.documents())


@pytest.mark.parametrize("seed", each_seed(range(40), few=12))
def test_of_logs_whose_rows_it_forgets_it_holds_the_same_where_roots_go_and_no_state_has_gone(
    seed: int,
) -> None:
    log = random_partial(seed, roots_go=True)
    driver = Driver(build_plan(load_text(log.project)).products[0])
    above = [each for each in log.changes if each.relation == "r"]

    parts = 1 + seed % 6
    for part in range(parts):
        driver.send(_part(above, part, parts))
    driver.send([each for each in log.changes if each.relation == "c"])
    driver.until_closed()

    assert truth(log, len(log.changes), ended=True) == dict(driver.documents())


@pytest.mark.parametrize("seed", each_seed(range(40), few=12))
def test_the_reference_holds_what_duckdb_computes_where_rows_are_near_one_another(
    seed: int,
) -> None:
    _holds_what_duckdb_computes(random_alike(seed, recent=True), seed)


@pytest.mark.parametrize("seed", each_seed(range(60), few=16))
def test_of_logs_whose_rows_are_near_one_another_it_holds_the_same_once_it_has_forgotten_some(
    seed: int,
) -> None:
    log = random_alike(seed)
    driver = Driver(build_plan(load_text(log.project)).products[0])

    parts = 1 + seed % 9
    for part in range(parts):
        driver.send(_part(log.changes, part, parts))
    driver.until_closed()

    assert truth(log, len(log.changes), ended=True) == dict(driver.documents())


@pytest.mark.parametrize("seed", each_seed(range(30), few=4))
def test_a_root_keeps_what_is_near_it_until_it_is_forgotten_itself(seed: int) -> None:
    log = random_append_alike(seed)
    driver = Driver(build_plan(load_text(log.project)).products[0])

    for part in range(40):
        driver.send(_part(log.changes, part, 40))
    driver.until_closed()

    assert truth(log, len(log.changes), ended=True) == dict(driver.documents())


def _part(changes: list[RowChange], part: int, parts: int) -> list[RowChange]:
    start, end = max(0, part * len(changes) // parts), (part + 1) * len(changes) // parts
    return changes[start : max(0, end)]


def _holds_what_duckdb_computes(log: Log, seed: int) -> None:
    driver = Driver(build_plan(load_text(log.project)).products[0])

    start = 0
    for end in cuts(seed, len(log.changes)):
        driver.send(log.changes[start:end])
        start = end
        expected = truth(log, end)
        assert expected == dict(driver.documents()), (end, log.project)
