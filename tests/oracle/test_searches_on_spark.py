"""Random stored queries on `spark-state` against the reference, twenty to a query.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.compare import BATCHES, Trial, failures, prefix, trials
from tests.oracle.searches import Log, random_search, random_text_search

from joinery.plan.build import build_plan
from joinery.spark.testing import SparkRunner
from joinery.testing.conformance.runner import joined, load_text, prefixed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRIALS = trials(40, few=10, together=20)
TEXT_TRIALS = trials(20, few=5, together=20)


def make_searches(seeds: list[int], make: Callable[[int], Log] = random_search) -> Trial:
    specs = []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        log = make(seed)
        spec = prefixed(load_text(log.project), prefix(seed))
        (product,) = build_plan(joined([spec])).products
        known = {each.name: each for each in product.relations}
        specs.append(spec)
        for number, change in enumerate(log.changes):
            made = change.change(known[prefix(seed) + change.relation])
            batches[number * BATCHES // len(log.changes)].append(made)
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches)))


@pytest.mark.parametrize("seeds", TRIALS)
def test_spark_state_sends_what_the_reference_sends(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_searches(seeds)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))


@pytest.mark.parametrize("seeds", TEXT_TRIALS)
def test_spark_state_sends_what_the_reference_sends_of_text_queries(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_searches(seeds, random_text_search)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))
