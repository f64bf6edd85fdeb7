"""The log is one JSON object an event."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from joinery.cli.log import log_to


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
