"""The conformance suite on `spark-state`: cases of all forms a query, restarted after each batch.

A query costs its start, hardly what it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.apart import problems_of

from joinery.plan.build import build_plan
from joinery.plan.support import missing
from joinery.spark.testing import SparkRunner
from joinery.testing.conformance import (
    Case,
    aggregate_cases,
    all_cases,
    as_of_cases,
    clock_cases,
    closed_cases,
    closed_reading_cases,
    closed_session_cases,
    closed_within_cases,
    fold_cases,
    history_cases,
    late_cases,
    pattern_cases,
    reading_cases,
    search_cases,
    session_cases,
    sliding_cases,
    through_aggregate_cases,
    through_cases,
    waiting_pattern_cases,
    within_cases,
)
from joinery.testing.conformance.joined import joined
from joinery.testing.conformance.project import load_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


GROUPS = (
    *aggregate_cases(),
    *session_cases(),
    *closed_session_cases(),
    *late_cases(),
    *sliding_cases(),
    *reading_cases(),
    *closed_cases(),
    *closed_reading_cases(),
    *clock_cases(),
    *within_cases(),
    *closed_within_cases(),
    *search_cases(),
)
LACKING = "aggregates read the whole list, before its limit"
THROUGH = tuple(
    each for each in (*through_cases(), *through_aggregate_cases()) if each.sentence != LACKING
)
VERSIONS = (*history_cases(), *as_of_cases())
PATTERNS = (*pattern_cases(), *waiting_pattern_cases())
OTHERS = (*THROUGH, *VERSIONS, *fold_cases(), *PATTERNS)


@pytest.fixture(scope="module")
def problems(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is wrong with each case, by its sentence."""
    runner = SparkRunner(spark, tmp_path_factory.mktemp("conformance"), replay=True)
    return problems_of(runner, (*all_cases(), *GROUPS, *OTHERS))


def test_one_case_asks_for_what_spark_state_lacks() -> None:
    (case,) = (each for each in through_aggregate_cases() if each.sentence == LACKING)

    plan = build_plan(joined([load_text(case.project)]))

    assert any(missing(each) for each in plan.products)


@pytest.mark.parametrize("case", GROUPS, ids=str)
def test_spark_state_keeps_groups(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.parametrize("case", THROUGH, ids=str)
def test_spark_state_embeds_through_a_relation(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.parametrize("case", VERSIONS, ids=str)
def test_spark_state_keeps_versions(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.parametrize("case", fold_cases(), ids=str)
def test_spark_state_folds_events(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.parametrize("case", PATTERNS, ids=str)
def test_spark_state_finds_patterns(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_spark_state_holds(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""
