"""Random intervals on `spark-state` against the reference and DuckDB, forty to a query.

The query is stopped and started again after each batch, and the last batch runs twice.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.compare import BATCHES, Trial, failures, prefix, trials
from tests.oracle.intervals import Log, random_forgetting, random_log, random_partial, truth

from joinery.plan.build import build_plan
from joinery.spark.testing import SparkRunner
from joinery.testing.conformance.runner import joined, load_text, prefixed
from joinery.testing.conformance.suite import parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRIALS = trials(60, few=20, together=60)


def deep(log: Log, seed: int) -> str:
    """Return a project whose interval hangs below another embed, in some of all cases."""
    if log.closed or random.Random(seed).random() < 0.5:
        return log.project
    near = log.project.partition("    embed:\n")[2].partition("    values:")[0]
    below = "".join(f"    {line}\n" for line in near.splitlines() if line.strip())
    values = "{count: size(all), total: sum(all.n), most: max(all.n)}"
    return (
        log.project.partition("products:")[0]
        + f"""  g: {{key: [u], fields: {{u: string}}}}
products:
  p:
    root: g
    embed:
      rows:
        many: r
        on: [u]
        fields: [id, x]
        embed:
{below}        values: {values}
"""
    )


def make_forgetting(seeds: list[int]) -> Trial:
    """Return projects that forget soon, leave out late rows, or leave columns out, as one."""
    logs = [(random_partial if seed % 2 else random_forgetting)(seed) for seed in seeds]
    return _joined(seeds, [(log, log.project) for log in logs])[0]


def make_intervals(seeds: list[int]) -> tuple[Trial, list[list[int]]]:
    """Return projects as one, and for each how many records each batch ends after."""
    logs = [(random_log(seed), seed) for seed in seeds]
    return _joined(seeds, [(log, deep(log, seed)) for log, seed in logs])


def _joined(seeds: list[int], logs: Iterable[tuple[Log, str]]) -> tuple[Trial, list[list[int]]]:
    specs, ends = [], []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed, (log, project) in zip(seeds, logs, strict=True):
        spec = prefixed(load_text(project), prefix(seed))
        relations = {each.name: each for each in build_plan(spec).products[0].relations}
        specs.append(spec)
        for number, change in enumerate(log.changes):
            relation = relations[prefix(seed) + change.relation]
            batches[number * BATCHES // len(log.changes)].append(change.change(relation))
        ends.append([-(-len(log.changes) * each // BATCHES) for each in range(1, BATCHES + 1)])
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches))), ends


@pytest.mark.parametrize("seeds", TRIALS)
def test_spark_state_keeps_the_intervals_that_the_reference_keeps(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial, _ = make_intervals(seeds)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))


@pytest.mark.parametrize("seeds", TRIALS)
def test_spark_state_forgets_what_the_reference_forgets(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_forgetting(seeds)

    assert [] == failures(trial, SparkRunner(spark, tmp_path / "run", replay=True))


def test_spark_state_holds_what_duckdb_computes(spark: SparkSession, tmp_path: Path) -> None:
    seeds = [each for each in range(200, 240) if deep(random_log(each), each).find("  g:") < 0]
    trial, ends = make_intervals(seeds)

    received = SparkRunner(spark, tmp_path / "run").run(trial.project, trial.batches)

    for seed, each in zip(seeds, ends, strict=True):
        held: dict[int, Any] = {}
        for sent, end in zip(received, each, strict=False):
            for line in sent.lines.get(f"{prefix(seed)}p", ()):
                parts = parse(line)
                key = parts["key"]["id"]
                if parts["value"] is None:
                    del held[key]
                else:
                    held[key] = parts["value"]
            assert truth(random_log(seed), end) == held, (seed, end)
