"""Runs of a project as processes of their own: to their end, or until a trap kills them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

CRASH = [sys.executable, str(Path(__file__).with_name("crash.py"))]
RUN = [sys.executable, "-m", "joinery.cli.main", "run"]
LIMIT_S = 600
CHAOS = pytest.mark.chaos


def run_once(folder: Path, *options: str) -> None:
    done = subprocess.run(
        [*RUN, "--once", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def crash(folder: Path, point: str, batch: int) -> None:
    """Run until the trap kills the run; anything else is a failure of the trap."""
    done = subprocess.run(
        [*CRASH, point, str(batch), "--once"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == -signal.SIGKILL, f"{point} was not reached: {done.stderr}"
