"""What was deleted leaves the state on Spark once its retention is over, documents untouched."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.churn.measure import run_once
from tests.churn.world import Churn, published, write_changes, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LIVE, CHANGES, LIMIT_S = 200, 6_000, 240


def test_deleted_rows_leave_the_state_after_their_retention(
    spark: SparkSession, tmp_path: Path
) -> None:
    churn, rounds = Churn(LIVE), count()
    write_project(tmp_path, rows=100_000, retention="1s")
    write_changes(tmp_path, next(rounds), churn.changes(CHANGES))
    measured = run_once(spark, tmp_path)
    first = measured.rows

    until = time.monotonic() + LIMIT_S
    while measured.rows > 3 * LIVE and time.monotonic() < until:
        write_changes(tmp_path, next(rounds), churn.changes(CHANGES // 10))
        measured = run_once(spark, tmp_path)

    assert first > CHANGES / 8, "a batch remembers what it deletes"
    assert measured.rows <= 3 * LIVE
    assert churn.documents() == published(tmp_path)
