"""Rows come and go many times over, and state and batches stay as they were.

`make churn CHANGES=2000000` says how many inserts and deletes there are; it prints a line a round.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest
from tests.churn.measure import Measured, run_once
from tests.churn.world import Churn, published, write_changes, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.churn]

CHANGES = int(os.environ.get("JOINERY_CHURN", "10000000"))
ROUNDS = 10
LIVE = min(100_000, CHANGES // 20)
ROWS_A_BATCH = max(1_000, CHANGES // ROUNDS // 5)
FLAT = 1.25
NOISE = 1.5


def test_state_and_batch_times_stay_flat(spark: SparkSession, tmp_path: Path) -> None:
    churn = Churn(LIVE)
    write_project(tmp_path, rows=ROWS_A_BATCH, retention="2s")
    rounds: list[Measured] = []
    print(f"\n{CHANGES:,} changes, {LIVE:,} live rows, {ROWS_A_BATCH:,} rows a batch")
    print("changes    run s  batch s  entries  state MB  on disk MB")

    for number in range(ROUNDS):
        write_changes(tmp_path, number, churn.changes(CHANGES // ROUNDS))
        rounds.append(run_once(spark, tmp_path))
        print(_line((number + 1) * CHANGES // ROUNDS, rounds[-1]))

    settled, last = rounds[1 : ROUNDS // 2], rounds[-ROUNDS // 3 :]
    assert max(each.rows for each in last) <= FLAT * max(each.rows for each in settled)
    assert max(each.state_bytes for each in last) <= FLAT * max(
        each.state_bytes for each in settled
    )
    assert median(map(_batch_s, last)) <= NOISE * median(map(_batch_s, settled))
    assert churn.documents() == published(tmp_path)


def _batch_s(round_: Measured) -> float:
    """Return the median of a round's batches but its first, which waits for compilers."""
    return median(each.seconds for each in round_.batches[1:] or round_.batches)


def _line(changes: int, round_: Measured) -> str:
    disk = (round_.batches[-1].state_bytes or 0) / 1e6
    return (
        f"{changes:<10,} {round_.seconds:5.1f}  {_batch_s(round_):7.2f}  {round_.rows:7,}"
        f"  {round_.state_bytes / 1e6:8.1f}  {disk:10.1f}"
    )
