"""Random projects of all forms on `spark-state` against the reference.

The query is stopped and started again after each batch, and the last batch runs twice. A query
costs its start, so the first trials of all forms, which `make test` has, are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import failures, of_all_forms
from tests.oracle.forms import FORMS

from joinery.spark.testing import SparkRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

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
