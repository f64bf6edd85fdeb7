"""Random projects of all forms on `spark-state` against the reference.

The query is stopped and started again after each batch, and the last batch runs twice. A query
costs its start, so the first trials of all forms, which `make test` has, are one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pytest
from tests.oracle import (
    fold_trial,
    group_trial,
    history_trial,
    interval_trial,
    match_reading_trial,
    pattern_trial,
    reading_trial,
    search_trial,
    version_trial,
)
from tests.oracle.compare import (
    Trial,
    failures,
    make_through_trial,
    make_trial,
    of_all_forms,
    trial_of_logs,
    trials,
)
from tests.oracle.searches import random_search_of_a_log, random_text_search

from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FORMS: Mapping[str, tuple[Sequence[pytest.ParameterSet], Callable[[list[int]], Trial]]] = {
    "document": (trials(300, few=6, together=100), make_trial),
    "through": (trials(100, few=4, together=100), make_through_trial),
    "group": (group_trial.TRIALS, group_trial.make_groups),
    "reader": (reading_trial.TRIALS, reading_trial.make_readers),
    "matches": (match_reading_trial.TRIALS, match_reading_trial.make_match_readers),
    "interval": (interval_trial.TRIALS, lambda seeds: interval_trial.make_intervals(seeds)[0]),
    "forgetting": (interval_trial.TRIALS, interval_trial.make_forgetting),
    "alike": (interval_trial.TRIALS, interval_trial.make_alike),
    "appended": (interval_trial.TRIALS, interval_trial.make_appended),
    "version": (version_trial.TRIALS, lambda seeds: trial_of_logs(seeds, version_trial.make_log)),
    "history": (history_trial.TRIALS, lambda seeds: trial_of_logs(seeds, history_trial.make_log)),
    "fold": (fold_trial.TRIALS, lambda seeds: trial_of_logs(seeds, fold_trial.make_log)),
    "pattern": (pattern_trial.TRIALS, lambda seeds: trial_of_logs(seeds, pattern_trial.make_log)),
    "search": (search_trial.TRIALS, search_trial.make_searches),
    "text": (
        search_trial.TEXT_TRIALS,
        lambda seeds: search_trial.make_searches(seeds, random_text_search),
    ),
    "searched_log": (
        search_trial.LOG_TRIALS,
        lambda seeds: search_trial.make_searches(seeds, random_search_of_a_log),
    ),
}
OTHERS = [
    pytest.param(form, *each.values, marks=each.marks, id=f"{form}-{each.id}")
    for form, (made, _) in FORMS.items()
    for each in made[1:]
]


def _first(trials: Sequence[pytest.ParameterSet]) -> list[int]:
    """Return the seeds of the first trial."""
    (seeds,) = trials[0].values
    assert isinstance(seeds, list)
    return seeds


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A line for each product on which `spark-state` differs, first the name of its form."""
    made = {form: make(_first(trials)) for form, (trials, make) in FORMS.items()}
    runner = SparkRunner(spark, tmp_path_factory.mktemp("forms"), replay=True)
    return failures(of_all_forms(made), runner)


@pytest.mark.parametrize("form", FORMS)
def test_spark_state_sends_what_the_reference_sends(form: str, told: list[str]) -> None:
    assert [] == [each for each in told if each.startswith(f"{form}_")]


@pytest.mark.parametrize(("form", "seeds"), OTHERS)
def test_spark_state_sends_what_the_reference_sends_of_more_seeds(
    form: str, seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    _, make = FORMS[form]

    assert [] == failures(make(seeds), SparkRunner(spark, tmp_path / "run", replay=True))
