"""The driver is killed, suspended and replaced; the documents come out as if it had not been."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.chaos.crash import CHECKPOINT, POINTS
from tests.chaos.runs import CHAOS, LIMIT_S, RUN, crash, run_once
from tests.chaos.world import World, assert_documents, make_world, write_project
from tests.session_run import run_to_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

IN_EVERY_TEST = "files-after"


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=int(os.environ.get("JOINERY_CHAOS_SEED", "7")))


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, f"{what} did not come about"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "point", [each if each == IN_EVERY_TEST else pytest.param(each, marks=CHAOS) for each in POINTS]
)
def test_a_kill_leaves_no_trace_in_the_documents(
    spark: SparkSession, tmp_path: Path, world: World, point: str
) -> None:
    write_project(tmp_path, world)

    crash(tmp_path, point, batch=1)
    run_to_end(spark, tmp_path)

    assert_documents(tmp_path, world.documents())


@CHAOS
def test_two_kills_in_one_batch_leave_no_trace(tmp_path: Path, world: World) -> None:
    write_project(tmp_path, world)

    crash(tmp_path, "files-after", batch=2)
    crash(tmp_path, "sqlite-after", batch=2)
    run_once(tmp_path)

    assert_documents(tmp_path, world.documents())


@CHAOS
def test_a_batch_whose_commit_is_lost_is_run_again(tmp_path: Path, world: World) -> None:
    write_project(tmp_path, world)
    run_once(tmp_path)

    commits = tmp_path / CHECKPOINT / "commits"
    last = max(int(each.name) for each in commits.iterdir() if each.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    run_once(tmp_path)

    assert_documents(tmp_path, world.documents())


@CHAOS
def test_a_driver_that_slept_and_was_replaced_writes_nothing_more(
    tmp_path: Path, world: World
) -> None:
    write_project(tmp_path, world)
    with subprocess.Popen(
        RUN,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as first:
        wait_for((tmp_path / CHECKPOINT / "commits/0").exists, "the first batch")
        os.killpg(first.pid, signal.SIGSTOP)
        try:
            lapsed = time.monotonic() + 11
            wait_for(lambda: time.monotonic() > lapsed, "the lapse of the lease")
            run_once(tmp_path)
        finally:
            os.killpg(first.pid, signal.SIGCONT)
        _, told = first.communicate(timeout=LIMIT_S)

    assert first.returncode == 1
    assert "another run has taken over" in told
    assert_documents(tmp_path, world.documents())
