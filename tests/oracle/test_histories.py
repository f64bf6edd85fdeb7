"""Random histories in the reference against SQLite, after each batch."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.histories import known_truth, random_log, truth

from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver


@pytest.mark.parametrize("seed", each_seed(range(150), few=40))
def test_the_reference_keeps_the_versions_that_sqlite_finds(seed: int) -> None:
    log = random_log(seed, whole=True)
    pick = random.Random(seed)
    cuts = sorted({0, len(log.changes), *(pick.randrange(len(log.changes)) for _ in range(5))})
    driver = Driver(build_plan(load_text(log.project)).products[0])

    for first, end in pairwise(cuts):
        driver.send(log.changes[first:end])

        assert truth(log, log.changes[:end]) == driver.documents()


@pytest.mark.parametrize("seed", each_seed(range(20), few=8))
def test_rows_of_a_key_neither_overlap_nor_leave_gaps_without_deletes(seed: int) -> None:
    log = random_log(seed, changes=100)
    log.changes = [each for each in log.changes if each.op in ("insert", "update")]
    log.where = ""
    driver = Driver(build_plan(load_text(log.project)).products[0])

    for each in log.changes:
        driver.send([each])

        rows = sorted(driver.documents().items())
        for (key, row), (after, _) in pairwise(rows):
            same = key[:2] == after[:2]
            assert row["valid_to"] == (after[2] if same else None)


@pytest.mark.parametrize("seed", each_seed(range(30), few=10))
def test_the_reference_keeps_when_versions_were_known(seed: int) -> None:
    log = random_log(seed, changes=50, whole=True, known=True)
    pick = random.Random(seed)
    cuts = sorted({0, len(log.changes), *(pick.randrange(len(log.changes)) for _ in range(3))})
    driver = Driver(build_plan(load_text(log.project)).products[0])

    for first, end in pairwise(cuts):
        driver.send(log.changes[first:end])

        assert known_truth(log, log.changes[:end]) == driver.documents()
