"""A record that kills the worker is singled out apart from the run, and becomes a dead letter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from joinery.sinks.line import read_rows

pytestmark = [pytest.mark.spark, pytest.mark.chaos]

# A text of 1.9 GB is more than this JVM has: it dies of the record with such a `copies`.
PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string, copies: int}}
products:
  profile:
    root: customer
    fields: {id: id, length: "length(repeat(name, copies))"}
    sink: {files: {path: out}}
run: {spark: {spark.master: "local[1]", spark.driver.memory: 600m}}
"""


def run_once(folder: Path) -> int:
    command = [sys.executable, "-m", "joinery.cli.main", "run", "--once"]
    return subprocess.run(command, cwd=folder, check=False).returncode


def test_a_record_that_kills_the_jvm_is_quarantined_at_the_third_start(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    folder = tmp_path / "data/customer"
    folder.mkdir(parents=True)
    rows = [
        {"id": number, "name": "x", "copies": 1_900_000_000 if number == 3 else number}
        for number in range(6)
    ]
    (folder / "1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))

    codes = [run_once(tmp_path) for _ in range(3)]

    assert [1, 1, 0] == codes
    documents = read_rows(sorted((tmp_path / "out/profile").glob("*.jsonl")))
    lengths = {row.key_values()["id"]: json.loads(row.value or "")["length"] for row in documents}
    assert {0: 0, 1: 1, 2: 2, 4: 4, 5: 5} == lengths
    (letters,) = (tmp_path / ".joinery/dead_letters").glob("*.jsonl")
    letter = json.loads(letters.read_text())
    assert ("poison", 4) == (letter["reason"], letter["line"])
    assert rows[3] == json.loads(letter["value"])
