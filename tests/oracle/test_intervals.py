"""Random intervals: after each batch the sink holds what DuckDB makes of the same rows."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.testing.conformance.runner import load_text
from joinery.testing.driver import Driver

pytest.importorskip("duckdb")
from tests.oracle.intervals import cuts, random_log, truth


@pytest.mark.parametrize("seed", range(80))
def test_the_reference_holds_what_duckdb_computes(seed: int) -> None:
    log = random_log(seed)
    driver = Driver(build_plan(load_text(log.project)).products[0])

    start = 0
    for end in cuts(seed, len(log.changes)):
        driver.send(log.changes[start:end])
        start = end
        expected = truth(log, end)
        assert expected == dict(driver.documents()), (end, log.project)
