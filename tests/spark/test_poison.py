"""A record that kills the worker is singled out apart from the run, and becomes a dead letter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    return joinery(folder, "run", "--once")


def joinery(folder: Path, *words: str) -> int:
    command = [sys.executable, "-m", "joinery.cli.main", *words]
    return subprocess.run(command, cwd=folder, check=False).returncode


def write_rows(folder: Path) -> list[dict[str, Any]]:
    """Write the rows of a change file, of which the fourth is poison; return them."""
    rows = [
        {"id": number, "name": "x", "copies": 1_900_000_000 if number == 3 else number}
        for number in range(6)
    ]
    file = folder / "data/customer/1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return rows


def assert_one_letter(folder: Path, row: dict[str, Any]) -> None:
    """See that all rows but one became documents, and that one a dead letter."""
    documents = read_rows(sorted((folder / "out/profile").glob("*.jsonl")))
    lengths = {row.key_values()["id"]: json.loads(row.value or "")["length"] for row in documents}
    assert {0: 0, 1: 1, 2: 2, 4: 4, 5: 5} == lengths
    (letters,) = (folder / ".joinery/dead_letters").glob("*.jsonl")
    letter = json.loads(letters.read_text())
    assert ("poison", 4) == (letter["reason"], letter["line"])
    assert row == json.loads(letter["value"])


def test_a_record_that_kills_the_jvm_is_quarantined_at_the_third_start(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    rows = write_rows(tmp_path)

    codes = [run_once(tmp_path) for _ in range(3)]

    assert [1, 1, 0] == codes
    assert_one_letter(tmp_path, rows[3])


def test_a_record_that_kills_the_jvm_as_a_log_is_read_again_is_quarantined(
    tmp_path: Path,
) -> None:
    """Who read it before did not die of it; the product that `apply` added does."""
    file = tmp_path / "joinery.yaml"
    grouped = PROJECT.replace("    root:", "    group: g\n    root:")
    profile = grouped[grouped.index("  profile:") : grouped.index("run:")]
    names = "  names: {group: g, root: customer, fields: [name], sink: {files: {path: out}}}\n"
    rows = write_rows(tmp_path)
    file.write_text(grouped.replace(profile, names))
    assert 0 == run_once(tmp_path)
    file.write_text(grouped.replace(profile, names + profile))
    assert 0 == joinery(tmp_path, "apply")

    codes = [run_once(tmp_path) for _ in range(3)]

    assert [1, 1, 0] == codes
    assert_one_letter(tmp_path, rows[3])
