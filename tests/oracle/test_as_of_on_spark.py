"""Random embeds as of a time on `spark-state` against the reference, forty to a query.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.compare import BATCHES, Trial, chosen_seeds, failures, prefix

from joinery.plan.build import build_plan
from joinery.spark.testing import SparkRunner
from joinery.testing.conformance.runner import joined, load_text, prefixed

pytest.importorskip("duckdb")
from tests.oracle.as_of import random_log

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOGETHER = 40
SEEDS = chosen_seeds(40)
TRIALS = [SEEDS[at : at + TOGETHER] for at in range(0, len(SEEDS), TOGETHER)]


def make_embeds(seeds: list[int]) -> Trial:
    specs = []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        log = random_log(seed)
        spec = prefixed(load_text(log.project), prefix(seed))
        relations = {each.name: each for each in build_plan(spec).products[0].relations}
        specs.append(spec)
        for number, change in enumerate(log.changes):
            relation = relations[prefix(seed) + change.relation]
            batches[number * BATCHES // len(log.changes)].append(change.change(relation))
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches)))


@pytest.mark.parametrize("seeds", TRIALS, ids=lambda seeds: f"seeds-{seeds[0]}-to-{seeds[-1]}")
def test_spark_state_shows_the_versions_that_the_reference_shows(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_embeds(seeds)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))
