"""Random intervals: after each batch the sink holds what DuckDB makes of the same rows."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.testing.conformance.runner import load_text
from joinery.testing.driver import Driver

pytest.importorskip("duckdb")
from tests.oracle.intervals import Log, cuts, random_forgetting, random_log, truth


@pytest.mark.parametrize("seed", range(80))
def test_the_reference_holds_what_duckdb_computes(seed: int) -> None:
    _holds_what_duckdb_computes(random_log(seed), seed)


@pytest.mark.parametrize("seed", range(30))
def test_the_reference_holds_what_duckdb_computes_of_all_rows_but_those_too_late(
    seed: int,
) -> None:
    _holds_what_duckdb_computes(random_forgetting(seed, recent=True), seed)


def _holds_what_duckdb_computes(log: Log, seed: int) -> None:
    driver = Driver(build_plan(load_text(log.project)).products[0])

    start = 0
    for end in cuts(seed, len(log.changes)):
        driver.send(log.changes[start:end])
        start = end
        expected = truth(log, end)
        assert expected == dict(driver.documents()), (end, log.project)
