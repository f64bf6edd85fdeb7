"""A secret stands where the user put it, and nowhere else: not on the screen, in no file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECRET = "plAnted-5ecret-7f3a"
COMMAND = [sys.executable, "-m", "joinery.cli.main"]
LIMIT_S = 300
PROJECT = """\
name: shop
sources: {changes: SOURCE}
defaults: {format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile:
    root: customer
    sink:
      - files: {path: out}
      - redis: {url: "redis://:${PLANTED}@127.0.0.1:9/0"}
      - opensearch: {url: "http://127.0.0.1:9", user: admin, password: "${PLANTED}"}
run:
  lineage: {url: "http://127.0.0.1:9", api_key: "${PLANTED}"}
"""
FILES = "{files: {path: data}}"
KAFKA = (
    '{kafka: {bootstrap: "127.0.0.1:9", properties: {security.protocol: SASL_PLAINTEXT,'
    " sasl.mechanism: PLAIN, default.api.timeout.ms: 2000, request.timeout.ms: 1000,"
    " sasl.jaas.config: 'org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' username="u" password="${PLANTED}";\'}}}'
)


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "PLANTED": SECRET}


def write_project(folder: Path, source: str) -> None:
    (folder / "joinery.yaml").write_text(PROJECT.replace("SOURCE", source))
    (folder / "data/customer").mkdir(parents=True)
    lines = '{"id": 1, "name": "Ada"}\n{"id": "no number"}\n'
    (folder / "data/customer/1.jsonl").write_text(lines)


def leaks(folder: Path, *told: str) -> Iterator[str]:
    """Yield where the secret stands that is not the user's own file."""
    for index, text in enumerate(told):
        if SECRET in text:
            yield f"output {index}: {text}"
    for file in folder.rglob("*"):
        if file.is_file() and SECRET.encode() in file.read_bytes():
            yield str(file)


@pytest.mark.parametrize("command", [["check"], ["check", "--json"], ["explain"]])
def test_what_reads_the_file_shows_no_secret(
    tmp_path: Path, environment: dict[str, str], command: list[str]
) -> None:
    write_project(tmp_path, KAFKA)

    done = subprocess.run(
        [*COMMAND, *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert list(leaks(tmp_path, done.stdout, done.stderr)) == []


def test_a_run_whose_sinks_are_away_leaves_no_secret(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    write_project(tmp_path, FILES)
    log = tmp_path / ".joinery/checkpoint/_logs/joinery.jsonl"
    with subprocess.Popen(
        [*COMMAND, "run"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        until = time.monotonic() + LIMIT_S
        while not (log.exists() and "waiting for a sink" in log.read_text()):
            assert run.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        run.send_signal(signal.SIGTERM)
        told = run.communicate(timeout=LIMIT_S)

    assert run.returncode == 0, told
    assert list(leaks(tmp_path, *told)) == []


def test_a_run_whose_broker_is_away_leaves_no_secret(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    write_project(tmp_path, KAFKA)

    done = subprocess.run(
        [*COMMAND, "run", "--once"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert list(leaks(tmp_path, done.stdout, done.stderr)) == []
