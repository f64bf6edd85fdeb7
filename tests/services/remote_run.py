"""Runs of a project whose checkpoint is in an object store or HDFS, in processes to be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.world import World, write_project

from joinery.place.remote_path import RemotePath

Run = subprocess.Popen[str]
Begin = Callable[..., Run]

COMMAND = [sys.executable, "-m", "joinery.cli.main"]
LIMIT_S = 600
POISON = '{"id": "one", "name": "x", "rev": 1}\n'


def declare(folder: Path, world: World, place: RemotePath, settings: Mapping[str, str]) -> None:
    """Write a project whose checkpoint is at `place`."""
    write_project(folder, world)
    small = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    told = f"run: {{checkpoint: '{place}', spark: {json.dumps({**settings, **small})}, "
    file = folder / "joinery.yaml"
    file.write_text(file.read_text().replace("run: {", told))


@contextmanager
def beginning() -> Iterator[Begin]:
    """Give what begins a run of a folder's project; those that still run at the end are killed."""
    runs: list[Run] = []

    def begin(folder: Path, *more: str, once: bool = True) -> Run:
        runs.append(
            subprocess.Popen(
                [*COMMAND, "run", *(["--once"] if once else []), *more],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
            )
        )
        return runs[-1]

    try:
        yield begin
    finally:
        for run in runs:
            if run.poll() is None:
                kill(run)


def kill(run: Run) -> None:
    """End a run without warning, and what it started."""
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()


def ended(run: Run) -> tuple[int, str]:
    """Wait for the end of a run; return its exit code and what it wrote as errors."""
    _, errors = run.communicate(timeout=LIMIT_S)
    return run.returncode, errors


def until_committed(checkpoint: RemotePath, run: Run, batch: int = 0) -> None:
    """Wait until a run has committed a batch of its one query."""
    until_there(checkpoint / "profile" / "commits" / f"{batch}", run)


def until_there(file: RemotePath, run: Run) -> None:
    """Wait until a run has put a file."""
    while not file.is_file():
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)


def one_line(errors: str) -> bool:
    """Return whether there is one line for a person, whatever Spark says besides."""
    told = [each for each in errors.splitlines() if each.startswith("error: ")]
    return len(told) == 1 and "Traceback" not in errors
