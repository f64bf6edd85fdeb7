"""How far event times have come: by partition, kept with the checkpoint, shown to operators."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joinery as jn
from joinery.spark.batch.run import Run, RunOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: web
sources: {log: {files: {path: data}}}
relations:
  views:
    append: true
    time: at
    watermark: {delay: 10s}
    fields: {id: long, millis: long}
    derive: {at: timestamp_millis(millis)}
streams:
  seen: {from: views, steps: [{select: [id, at]}], sink: {files: {path: out}}}
"""


def write(folder: Path, name: str, seconds: Sequence[int]) -> None:
    target = folder / "data/views" / f"{name}.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": n, "millis": 1000 * each}) for n, each in enumerate(seconds)]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(spark: SparkSession, folder: Path) -> Run:
    (folder / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    made = jn.load(folder / "joinery.yaml")
    started = Run(made.spec, made.plan, RunOptions(once=True))
    started.prepare()
    started.start(spark)
    started.await_termination(300)
    return started


def kept(folder: Path) -> Mapping[str, object]:
    """Return what is kept before each batch."""
    files = (folder / ".joinery/checkpoint/seen/watermarks").glob("*.json")
    return {each.stem: json.loads(each.read_text(encoding="utf-8")) for each in files}


def test_times_go_on_over_batches_and_a_batch_that_runs_again_begins_as_it_did(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, "a", [100, 90, 120])
    run(spark, tmp_path)
    write(tmp_path, "b", [95, 130])

    ended = run(spark, tmp_path)
    first = kept(tmp_path)
    (tmp_path / ".joinery/checkpoint/seen/commits/1").unlink()
    (tmp_path / ".joinery/checkpoint/seen/commits/.1.crc").unlink(missing_ok=True)
    run(spark, tmp_path)

    times = ended.progress.latest["seen"].event_times["views"]
    assert ({"0": 130_000_000}, 120_000_000) == (times.newest_us, times.watermark_us)
    # 95 s came 25 s behind the newest of the batch before.
    assert (5, True) == (times.rows, 25_000_000 <= times.behind_us(1.0) <= 31_000_000)
    assert {"1", "2"} == first.keys()
    assert first == kept(tmp_path)


def test_operators_see_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "a", [100, 90, 120])

    ended = run(spark, tmp_path)

    status = json.loads((tmp_path / ".joinery/checkpoint/_status/seen.json").read_text())
    assert "1970-01-01T00:01:50Z" == status["watermarks"]["views"]["watermark"]
    line = ended.progress.latest["seen"].to_json()
    assert status["watermarks"] == line["watermarks"]
