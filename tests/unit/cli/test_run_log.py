"""The log is one JSON object an event."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from joinery.cli.run_log import log_to
from joinery.errors import RunError


def test_an_event_is_one_line_with_its_facts(tmp_path: Path) -> None:
    log_to(tmp_path / "logs" / "joinery.jsonl")

    logging.getLogger("joinery.run").warning("a sink is back", extra={"target": "redis", "n": 3})

    (line,) = (tmp_path / "logs" / "joinery.jsonl").read_text().splitlines()
    facts = json.loads(line)
    assert facts.pop("time").endswith("Z")
    expected = {"level": "warning", "logger": "joinery.run", "event": "a sink is back"}
    assert facts == expected | {"target": "redis", "n": 3}


def test_a_second_run_writes_to_its_own_file(tmp_path: Path) -> None:
    log_to(tmp_path / "a.jsonl")
    log_to(tmp_path / "b.jsonl")

    logging.getLogger("joinery.run").info("run ended")

    assert (tmp_path / "a.jsonl").read_text() == ""
    assert "run ended" in (tmp_path / "b.jsonl").read_text()


def test_a_place_that_is_no_folder_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("")

    with pytest.raises(RunError, match=r"could not write into .*_logs: Not a directory"):
        log_to(tmp_path / "checkpoint" / "_logs" / "joinery.jsonl")
