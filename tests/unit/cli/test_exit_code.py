"""The exit code of a command is its own, whatever signal comes as it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.looking import rest

from joinery.cli.ending import WRONG


def test_a_supervisor_that_ends_a_run_that_has_failed_sees_its_exit_code(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "joinery.cli.main", "run", str(tmp_path / "nowhere.yaml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        said = run.stderr.readline()
        while run.poll() is None:
            begun = time.monotonic()
            run.send_signal(signal.SIGTERM)
            rest(begun, 0.005)

    assert b"SPEC_FILE_MISSING" in said
    assert WRONG == run.returncode
