"""The demo on real servers: PostgreSQL, Spark, OpenSearch; Debezium and Kafka between, if asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.services, pytest.mark.slow]


def demo(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "joinery.cli.main", "demo", str(folder), "--real", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def running(folder: Path) -> list[str]:
    """Return the services of a folder that its own record says are started."""
    told = {
        each.parent.name: json.loads(each.read_text(encoding="utf-8"))["process"]
        for each in (folder / ".joinery" / "dev").glob("*/service.json")
    }
    return [name for name, process in told.items() if process]


@pytest.mark.parametrize(
    ("options", "servers"),
    [
        ((), {"postgres", "opensearch"}),
        pytest.param(
            ("--kafka",),
            {"postgres", "kafka", "connect", "opensearch"},
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_every_document_ends_as_the_five_tables_say(
    tmp_path: Path, options: tuple[str, ...], servers: set[str]
) -> None:
    with demo(tmp_path, "--seconds", "8", "--rate", "20", *options) as process:
        told, errors = process.communicate()

    assert (process.returncode, errors) == (0, "")
    assert "Every document in OpenSearch and PostgreSQL equals" in told
    assert "PostgreSQL commit to document in OpenSearch" in told
    assert running(tmp_path) == []
    assert {e.parent.name for e in (tmp_path / ".joinery/dev").glob("*/service.json")} == servers


@pytest.mark.exhaustive
def test_an_interrupt_ends_the_run_and_its_servers(tmp_path: Path) -> None:
    with demo(tmp_path, "--seconds", "0") as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any(line.startswith("batch 0") for line in lines)

        process.send_signal(signal.SIGINT)
        process.communicate()

    assert process.returncode == 0
    assert running(tmp_path) == []
