"""A run that is asked to end before Spark is there ends."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from tests.looking import rest

import joinery as jn
from joinery.cli.ending import DONE
from joinery.cli.live import JsonDisplay
from joinery.cli.run import Command, StopSignals
from joinery.cli.run_arguments import RunArguments

PROJECT = """\
sources: {changes: {files: {path: data}}}
relations:
  customer:
    format: json
    key: [id]
    fields: {id: long, name: string}
    personal: {subject: id, fields: [name]}
products:
  card: {root: customer, sink: {files: {path: out}}}
vault:
  postgres: {url: "postgresql://ada@127.0.0.1:1/keys"}
  master: not a secret since this is only a test
"""


@pytest.mark.timeout(60)
def test_a_run_that_waits_for_its_vault_ends_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT)
    project, ending = jn.load(file), StopSignals()

    def ask() -> None:
        while "it waits" not in jn.status(file).products[0].because:
            rest(time.monotonic(), 0.05)
        ending.ask()

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    code = Command(RunArguments(file=file), project.spec, project.plan, ending, JsonDisplay()).run()

    assert DONE == code
    assert "ended" == jn.status(file).products[0].state
    assert_ends_once(capsys.readouterr().out)


def test_a_run_that_was_asked_to_end_before_it_began_says_so_in_its_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT)
    project, ending = jn.load(file), StopSignals()
    ending.ask()

    code = Command(RunArguments(file=file), project.spec, project.plan, ending, JsonDisplay()).run()

    assert DONE == code
    assert_ends_once(capsys.readouterr().out)
    assert not (tmp_path / "out").exists()


def assert_ends_once(output: str) -> None:
    """Check that the last line tells of the end, and no other does."""
    events = [json.loads(each)["event"] for each in output.splitlines()]
    assert (1, ["end"]) == (events.count("end"), events[-1:])
