"""The disk is full in the middle of a run; with room again the documents come out as they must.

A file that may not grow stands for the disk: the limit of the process on a file's size, under
which writes fail in Spark and in Python alike.
"""

from __future__ import annotations

import resource
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
from tests.chaos.runs import RUN, run_once
from tests.chaos.world import assert_documents, make_world, write_project

pytestmark = [pytest.mark.spark, pytest.mark.chaos]

PATIENCE_S = 90


def run_short_of_room(folder: Path, limit: int) -> tuple[int, str]:
    """Run until the lack of room ends it, or until it has waited long enough for room."""
    with subprocess.Popen(
        [*RUN, "--once"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit)),
    ) as process:
        try:
            return process.wait(PATIENCE_S), process.communicate()[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            return process.wait(PATIENCE_S), process.communicate()[1]


@pytest.mark.parametrize("limit", [6_000, 14_000, 30_000])
def test_a_disk_that_is_full_costs_no_document(tmp_path: Path, limit: int) -> None:
    world = make_world(seed=limit)
    write_project(tmp_path, world)

    code, told = run_short_of_room(tmp_path, limit)

    assert code == 1, told
    assert "Traceback" not in told
    run_once(tmp_path)
    assert_documents(tmp_path, world.documents())
