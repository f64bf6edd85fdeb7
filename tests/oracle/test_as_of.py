"""Random embeds as of a time: after each batch the sink holds what DuckDB's ASOF JOIN finds."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from tests.oracle.as_of import random_log, truth
from tests.oracle.compare import each_seed

from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver


@pytest.mark.parametrize("seed", each_seed(range(40), few=15))
def test_the_reference_shows_the_versions_that_duckdb_finds(seed: int) -> None:
    log = random_log(seed, whole=True)
    pick = random.Random(seed)
    cuts = sorted({0, len(log.changes), *(pick.randrange(len(log.changes)) for _ in range(2))})
    driver = Driver(build_plan(load_text(log.project)).products[0])

    for first, end in pairwise(cuts):
        driver.send(log.changes[first:end])

        assert truth(log, log.changes[:end]) == driver.documents()
