"""Random stored queries: after each batch the sink holds what DuckDB finds in the same rows."""

from __future__ import annotations

import random

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.searches import random_search, truth

from joinery.plan.build import build_plan
from joinery.testing.conformance.joined import joined
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver


@pytest.mark.parametrize("seed", each_seed(range(60), few=20))
def test_the_reference_holds_what_duckdb_finds(seed: int) -> None:
    log = random_search(seed)
    (product,) = build_plan(joined([load_text(log.project)])).products
    driver = Driver(product)
    pick = random.Random(seed)

    start = 0
    for end in [*sorted(pick.sample(range(1, len(log.changes)), 5)), len(log.changes)]:
        driver.send(log.changes[start:end])
        start = end
        shown = {
            key: {name: each for name, each in value.items() if name not in ("query", "document")}
            for key, value in driver.documents().items()
        }
        assert truth(log, log.changes[:end]) == shown, (end, log.project)
