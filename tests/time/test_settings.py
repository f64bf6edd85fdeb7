"""What an aggregate holds is a function of its logs: eight settings leave the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.time.cases import CASES, logs, project_text

import joinery as jn
from joinery.dev.kafka import kafka
from joinery.testing.settings import SETTINGS, Setting, disagreements, in_session
from joinery.testing.settings.output import newest_documents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# So few that a run which is killed after three batches of 1,000 has two to go.
FEW = 5_000
# The suite leaves out what differs little from others, and what other tests have: batches of 1,000
# rows (test_forms.py, the oracle's), other partitions (the rescales). `make time` has all.
QUICK = tuple(each for each in CASES if each not in {"closed_told"})
QUICK_SETTINGS = tuple(
    each
    for each in SETTINGS
    if each.name
    in {
        "killed in the middle",
        "shuffled within the delay",
    }
)


def load(folder: Path, *names: str) -> jn.Project:
    file = folder / "joinery.yaml"
    file.write_text(project_text(*names), encoding="utf-8")
    return jn.load(file)


def test_settings_leave_what_the_reference_holds(spark: SparkSession, tmp_path: Path) -> None:
    project = load(tmp_path, *QUICK)

    found = disagreements(
        project,
        logs(7, rows=FEW),
        settings=QUICK_SETTINGS,
        runner=in_session(spark),
        folder=tmp_path / "runs",
    )

    assert 2 == len(QUICK_SETTINGS)
    assert [] == [str(each) for each in found]


@pytest.mark.time
@pytest.mark.services
@pytest.mark.parametrize("seed", [1, 2])
def test_eight_settings_leave_what_the_reference_holds(tmp_path: Path, seed: int) -> None:
    project = load(tmp_path)

    with kafka(tmp_path / "kafka").started() as broker:
        found = disagreements(project, logs(seed), kafka=broker.address, folder=tmp_path / "runs")

    assert [] == [str(each) for each in found]


@pytest.mark.time
def test_windows_of_spark_itself_depend_on_how_a_log_is_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    project, runs = load(tmp_path, "left_out_minutes"), tmp_path / "runs"
    settings = SETTINGS[:3]

    def spark_itself(folder: Path, setting: Setting) -> None:
        _minutes_of_spark(spark, folder, setting)

    found = disagreements(project, logs(7), settings=settings, runner=spark_itself, folder=runs)

    assert {each.name for each in settings} == {each.setting for each in found}
    held = [newest_documents(runs / f"{number}/out/left_out_minutes") for number in range(3)]
    assert all(held)
    assert held[0] != held[2]


def _minutes_of_spark(spark: SparkSession, folder: Path, setting: Setting) -> None:
    """Count views a page and minute with Structured Streaming; files have 1,000 lines each."""
    from pyspark.sql import functions as f

    minutes = (
        spark.readStream.schema("id long, page string, at timestamp")
        .option("maxFilesPerTrigger", (setting.rows or 1_000) // 1_000)
        .json(str(folder / "in/view"))
        .withWatermark("at", "20 seconds")
        .groupBy("page", f.window("at", "1 minute"))
        .agg(f.count("*").alias("n"))
    )
    out = folder / "out/left_out_minutes"
    out.mkdir(parents=True)

    def write(batch: DataFrame, number: int) -> None:
        bound = "yyyy-MM-dd'T'HH:mm:ss'Z'"
        start, end = (f.date_format(f"window.{each}", bound) for each in ("start", "end"))
        rows = batch.select("page", start.alias("start"), end.alias("end"), "n").collect()
        lines = [
            {
                "key": {"page": row.page, "window_start": row.start},
                "value": {
                    "page": row.page,
                    "window_start": row.start,
                    "window_end": row.end,
                    "n": row.n,
                },
                "version": number + 1,
            }
            for row in rows
        ]
        text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
        (out / f"{number:06d}.jsonl").write_text(text, encoding="utf-8")

    query = (
        minutes.writeStream.outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
    )
    query.awaitTermination()
