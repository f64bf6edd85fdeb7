"""The drill of docs/drills/dead_letters.md goes as the page tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.session_run import run_to_end
from tests.unit.drill import Drill
from typer.testing import CliRunner

import joinery as jn
from joinery.cli.commands import app
from joinery.dead_letters.queue import DeadLetterQueue, Selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_dead_letters_are_fixed_as_the_drill_tells(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert 0 == CliRunner().invoke(app, ["init", "hello"]).exit_code
    folder = tmp_path / "hello"
    monkeypatch.chdir(folder)
    drill = Drill("dead_letters", {})
    orders = folder / "data" / "order"
    (orders / "0002.jsonl").unlink()
    (orders / "0003.jsonl").write_text(drill.page.blocks["json"])
    run_to_end(spark, folder)

    drill.ids = ids(folder, drill)
    drill.type()
    drill.type()
    drill.type()
    line, _ = drill.next()
    *shows, fixed = line.replace(">", "").split()
    raw = CliRunner().invoke(app, shows).stdout
    (folder / fixed).write_text(raw.replace('"two"', "2.00"))
    drill.type()
    drill.type()
    run_to_end(spark, folder)
    drill.type()
    drill.type()

    assert drill.over()


def ids(folder: Path, drill: Drill) -> dict[str, str]:
    """Return by the id of each letter what the page calls it: the first line, then the second."""
    project = jn.load(folder / "joinery.yaml")
    found = DeadLetterQueue(project.spec, project.plan).find(Selection())
    lines = {
        int(line): name
        for name, line in re.findall(r"^  ([0-9a-f]{12})  0003\.jsonl:(\d):", drill.page.text, re.M)
    }
    return {each.id: lines[int(each.place.rpartition(":")[2])] for each in found}
