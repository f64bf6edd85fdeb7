"""A run whose join state is in a store is killed between two calls of it, and run again."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.chaos.crash import STORE_POINTS
from tests.chaos.runs import CHAOS, CRASH, LIMIT_S
from tests.chaos.world import assert_documents, make_world, write_project
from tests.session_run import run_to_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

IN_EVERY_TEST = "store-written"


@pytest.mark.parametrize(
    "point",
    [each if each == IN_EVERY_TEST else pytest.param(each, marks=CHAOS) for each in STORE_POINTS],
)
def test_a_kill_between_calls_of_a_store_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, point: str
) -> None:
    world = make_world(seed=7)
    write_project(tmp_path, world)

    killed = subprocess.run(
        [*CRASH, point, "1", "--once", "--solution", "kv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        start_new_session=True,
    )
    run_to_end(spark, tmp_path, solution="kv")

    assert killed.returncode == -signal.SIGKILL, f"{point} was not reached: {killed.stderr}"
    assert_documents(tmp_path, world.documents())
