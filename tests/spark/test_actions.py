"""Who did what to a project, and how far it is, as its commands and its status tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joinery as jn
from joinery.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {format: json, key: [id], fields: {id: long, name: string}}}
products:
  card: {root: customer, sink: {files: {path: out}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    topic = tmp_path / "data" / "customer"
    topic.mkdir(parents=True)
    (topic / "1.jsonl").write_text('{"id": 7, "name": "Ada"}\n{"id": <i>}\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def joinery(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["joinery", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def run_once(spark: SparkSession, folder: Path, *, rebuild: bool = False) -> None:
    jn.run(spark, jn.load(folder), once=True, rebuild=rebuild).await_termination()


def rescale(partitions: int) -> None:
    """Rescale in a process of its own, which has a session of its own."""
    command = [sys.executable, "-m", "joinery.cli.main", "rescale", "--partitions"]
    subprocess.run([*command, str(partitions)], check=True, capture_output=True)


def test_what_people_do_is_on_record_and_shown(
    spark: SparkSession,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    run_once(spark, folder)
    for each in (["mark", "card"], ["dlq", "drop", "--all"]):
        assert 0 == joinery(monkeypatch, *each), each
    rescale(3)
    for each in (["pause", "card", "--why", "the night"], ["resume", "card"]):
        assert 0 == joinery(monkeypatch, *each), each
    run_once(spark, folder, rebuild=True)
    capsys.readouterr()

    assert 0 == joinery(monkeypatch, "status", "--actions", "--json")
    done = json.loads(capsys.readouterr().out)
    assert 0 == joinery(monkeypatch, "status", "card")
    shown = capsys.readouterr().out.splitlines()
    assert 0 == joinery(monkeypatch, "status", "card", "--actions")
    listed = capsys.readouterr().out.splitlines()

    assert [
        ("run --rebuild", [], ""),
        ("resume", ["card"], ""),
        ("pause", ["card"], "the night"),
        ("rescale", ["card"], "3 partitions, n before"),
        ("dlq drop", ["customer"], "1 dead letter"),
        ("mark", ["card"], "batch 0"),
    ] == [(each["verb"], each["about"], re.sub("[0-9]+ b", "n b", each["told"])) for each in done]
    assert {"ada"} == {each["by"].partition("@")[0] for each in done}
    assert "    shows changes up to customer/1.jsonl" in shown
    last = [line.partition(" by ")[0] for line in shown if " by ada@" in line]
    assert ["    run --rebuild", "    resume", "    pause"] == last
    assert ["at", "action", "of", "by"] == listed[0].split()
    assert len(done) == len(listed[1:])
