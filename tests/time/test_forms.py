"""What products of other forms hold is a function of their logs, too: eight settings agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.time.forms import logs, project_text

import joinery as jn
from joinery.dev.kafka import kafka
from joinery.testing.settings import SETTINGS, disagreements, in_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# Batches of 1,000 rows, and rows that arrive in another order.
QUICK = tuple(each for each in SETTINGS if each.rows == 1_000 or each.shuffled)


def load(folder: Path) -> jn.Project:
    file = folder / "joinery.yaml"
    file.write_text(project_text(), encoding="utf-8")
    return jn.load(file)


def test_settings_leave_what_the_reference_holds(spark: SparkSession, tmp_path: Path) -> None:
    found = disagreements(
        load(tmp_path),
        logs(7, rows=3_000),
        settings=QUICK,
        runner=in_session(spark),
        folder=tmp_path / "runs",
    )

    assert [] == [str(each) for each in found]


@pytest.mark.time
@pytest.mark.services
@pytest.mark.parametrize("seed", [1, 2])
def test_eight_settings_leave_what_the_reference_holds(tmp_path: Path, seed: int) -> None:
    project = load(tmp_path)

    with kafka(tmp_path / "kafka").started() as broker:
        found = disagreements(
            project, logs(seed, rows=9_000), kafka=broker.address, folder=tmp_path / "runs"
        )

    assert [] == [str(each) for each in found]
