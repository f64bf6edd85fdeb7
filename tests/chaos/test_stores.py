"""A run whose join state is in a store is killed between two calls of it, and run again."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.chaos.crash import STORE_POINTS
from tests.chaos.runs import CHAOS, CRASH, LIMIT_S, run_once
from tests.chaos.world import assert_documents, make_world, write_project

pytestmark = pytest.mark.spark

IN_EVERY_TEST = "store-written"


@pytest.mark.parametrize(
    "point",
    [each if each == IN_EVERY_TEST else pytest.param(each, marks=CHAOS) for each in STORE_POINTS],
)
def test_a_kill_between_calls_of_a_store_leaves_no_trace(tmp_path: Path, point: str) -> None:
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
    run_once(tmp_path, "--solution", "kv")

    assert killed.returncode == -signal.SIGKILL, f"{point} was not reached: {killed.stderr}"
    assert_documents(tmp_path, world.documents())
