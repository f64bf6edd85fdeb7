"""The cases of streams on Spark: many to a query, restarted after each batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.conformance.apart import apart

from joinery.project.product import ProjectSpec
from joinery.solutions.protocol import Sent
from joinery.spark.testing import SparkRunner, SparkStreamRunner
from joinery.testing.conformance.stream_case import StreamCase
from joinery.testing.conformance.stream_cases import stream_cases
from joinery.testing.conformance.stream_suite import StreamBatch, examine_streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs batches as fast as they come: cases that move the clock are the kernel's own tests."""

    runner: SparkStreamRunner

    def run(self, project: ProjectSpec, batches: Sequence[StreamBatch]) -> Sequence[Sent]:
        return self.runner.run(project, [each.changes for each in batches])


def cases() -> list[StreamCase]:
    return [each for each in stream_cases() if not each.timed]


@pytest.fixture(scope="module")
def problems(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("streams")
    runner = Runner(SparkStreamRunner(SparkRunner(spark, folder, replay=True)))
    examined = (examine_streams(runner, part) for part in apart(cases()))
    return {case.sentence: problem for part in examined for case, problem in part}


@pytest.mark.parametrize("case", cases(), ids=str)
def test_spark_does_what_a_case_says(case: StreamCase, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""
