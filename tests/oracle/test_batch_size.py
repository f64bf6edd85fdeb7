"""Documents do not depend on how large batches are: random projects, in one and in many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import make_trial, trials

from joinery.plan.build import build_plan
from joinery.project.product import with_solution
from joinery.spark.testing import SparkRunner
from joinery.testing.conformance.runner import ReferenceRunner
from joinery.testing.conformance.suite import parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from joinery.plan.product import Plan
    from joinery.project.product import ProjectSpec
    from joinery.solutions.protocol import Sent

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TINY = 150


def documents(sent: Sequence[Sent]) -> dict[tuple[str, str], object]:
    """Return the last document of each key of the products that have no dead letters.

    What a document was before it became a dead letter stays, if a batch ended then.
    """
    dead = {product for each in sent for product in each.dead}
    found: dict[tuple[str, str], object] = {}
    for each in sent:
        for product in each.lines.keys() - dead:
            for line in each.lines[product]:
                parts = parse(line)
                found[product, repr(parts["key"])] = parts["value"]
    return {key: value for key, value in found.items() if value is not None}


@pytest.mark.parametrize("seeds", trials(40, few=4, together=40))
@pytest.mark.parametrize("solution", ["spark-state", "rdbms-store"])
@pytest.mark.parametrize("rows", [None, TINY], ids=["auto", "tiny"])
def test_documents_are_the_same_whatever_a_batch_takes(
    seeds: list[int], rows: int | None, solution: str, spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_trial(seeds)
    whole = [[change for batch in trial.batches for change in batch]]

    def planner(spec: ProjectSpec) -> Plan:
        return build_plan(with_solution(spec, solution))

    runner = SparkRunner(spark, tmp_path / "run", planner=planner, rows=rows)

    expected = documents(ReferenceRunner().run(trial.project, trial.batches))
    assert len(expected) > 2 * len(seeds)
    assert expected == documents(runner.run(trial.project, whole))
