"""Timelines against DuckDB after each batch: the reference, and `spark-state` with restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.timelines import HOT_ABOVE, PROJECT, Moment, make_timelines

from joinery.plan.build import build_plan
from joinery.spark.testing import SparkRunner
from joinery.testing.conformance import ReferenceRunner, Sent
from joinery.testing.conformance.joined import joined
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.runner import Runner
from joinery.testing.conformance.suite import parse

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def run(runner: Runner, moments: Sequence[Moment]) -> list[dict[int, Any]]:
    """Return the documents that stand after each batch."""
    project = joined([load_text(PROJECT)])
    relations = {each.name: each for each in build_plan(project).products[0].relations}
    batches = [[told.change(relations[told.relation]) for told in each.changes] for each in moments]
    held: dict[int, Any] = {}
    return [dict(_held(held, sent)) for sent in runner.run(project, batches)]


def _held(held: dict[int, Any], sent: Sent) -> dict[int, Any]:
    for line in sent.lines.get("timeline", ()):
        parts = parse(line)
        key = parts["key"]["id"]
        if parts["value"] is None:
            del held[key]
        else:
            held[key] = parts["value"]
    return held


def hot_users(moments: Sequence[Moment]) -> list[int]:
    """Return how many users are told of somebody hot, after each batch."""
    return [sum(bool(each["posts_hot"]) for each in one.documents.values()) for one in moments]


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_keeps_the_timelines_of_a_database(seed: int) -> None:
    moments = make_timelines(seed, followers=50, steps=60)

    documents = run(ReferenceRunner(), moments)

    assert [each.documents for each in moments] == documents


@pytest.mark.spark
@pytest.mark.slow
def test_spark_state_keeps_the_timelines_of_a_database(spark: SparkSession, tmp_path: Path) -> None:
    moments = make_timelines(1, followers=HOT_ABOVE - 100, steps=300)
    assert 0 == hot_users(moments)[0]
    assert 0 < max(hot_users(moments))
    assert 0 == hot_users(moments)[-1]

    documents = run(SparkRunner(spark, tmp_path / "run", replay=True), moments)

    assert [each.documents for each in moments] == documents
