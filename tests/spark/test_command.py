"""The command as a process of its own: signals, and a second run beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from joinery.cli.init import run_init

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COMMAND = [sys.executable, "-m", "joinery.cli.main", "run"]
LIMIT_S = 300


def test_a_run_refuses_a_second_one_and_ends_well_when_asked(tmp_path: Path) -> None:
    run_init(tmp_path)
    told = tmp_path / "told.jsonl"
    with (
        told.open("w") as output,
        subprocess.Popen(
            COMMAND,
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as first,
    ):
        _wait_for(lambda: '"batch"' in told.read_text() or first.poll() is not None)

        second = subprocess.run(
            [*COMMAND, "--once"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        os.killpg(first.pid, signal.SIGTERM)  # the JVM gets it, too, as from a supervisor
        _, noise = first.communicate(timeout=LIMIT_S)

    assert (second.returncode, second.stdout) == (1, "")
    assert f"process {first.pid}" in second.stderr
    assert (first.returncode, noise) == (0, b"")
    last = json.loads(told.read_text().splitlines()[-1])
    assert {"event": "end", "read": 11, "dead": 0, "documents": 2}.items() <= last.items()
    documents = [json.loads(line) for line in _lines(tmp_path / "out/customer_profile")]
    assert [1, 2] == sorted(each["key"]["id"] for each in documents)


def _lines(folder: Path) -> list[str]:
    return [line for file in sorted(folder.glob("*.jsonl")) for line in file.open()]


def _wait_for(condition: object) -> None:
    deadline = time.monotonic() + LIMIT_S
    while callable(condition) and not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
