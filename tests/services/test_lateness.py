"""Which rows of a Kafka topic are late depends on its partitions, never on batches or a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.log import Log
from tests.session_run import run_to_end
from tests.spark.lateness import late_of, log_of, minutes, newest, told

import joinery as jn
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: web
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
relations:
  views:
    topic: {topic}
    format: json
    append: true
    time: at
    watermark: {{delay: 20s}}
    fields: {{id: long, page: string, at: timestamp}}
products:
  hours:
    aggregate: views
    by: [page]
    window: {{tumbling: 1m}}
    values: {{n: count(*), ids: sum(id)}}
    emit: {{late: dead_letter, allowed: 5s}}
    sink: {{files: {{path: out}}}}
run: {{max_rows_per_batch: {rows}}}
"""
View = Mapping[str, Any]


def prepare(
    folder: Path, log: Log, partitions: int, *, rows: int
) -> tuple[list[list[View]], set[int]]:
    """Fill a topic; return what each of its partitions has, and the ids of those that are late."""
    topic = f"views-{uuid.uuid4().hex[:8]}"
    log.create(topic, partitions)
    parts: list[list[View]] = [[] for _ in range(partitions)]
    for view in (each for file in log_of(3) for each in file):
        parts[view["id"] * 7919 % partitions].append(view)
    for number, part in enumerate(parts):
        values = [{**each, "at": each["at"] and each["at"] * 1_000_000} for each in part]
        log.put(topic, *values, partition=number)
    text = PROJECT.format(bootstrap=log.bootstrap, topic=topic, rows=rows)
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return parts, {each["id"] for part in parts for each in late_of(part)}


def holds(folder: Path, parts: Sequence[Sequence[View]], late: set[int]) -> bool:
    rest = (each for part in parts for each in part if each["id"] not in late)
    return told(folder) == sorted(late) and newest(folder) == minutes(rest)


@pytest.mark.parametrize("partitions", [pytest.param(2, marks=pytest.mark.exhaustive), 7])
def test_the_rows_told_late_are_those_of_each_partition(
    kafka_spark: SparkSession, kafka: Service, tmp_path: Path, partitions: int
) -> None:
    parts, late = prepare(tmp_path, Log(kafka.address, {}), partitions, rows=7_777)

    run = jn.run(kafka_spark, jn.load(tmp_path / "joinery.yaml"), once=True)
    run.await_termination(600)

    assert late
    assert holds(tmp_path, parts, late)
    assert partitions == len(run.progress.latest["hours"].event_times["views"].newest_us)


def test_a_run_that_is_killed_goes_on_with_the_times_it_had(
    kafka_spark: SparkSession, kafka: Service, tmp_path: Path
) -> None:
    parts, late = prepare(tmp_path, Log(kafka.address, {}), 2, rows=2_000)
    file = str(tmp_path / "joinery.yaml")
    command = [sys.executable, "-m", "joinery.cli.main", "run", file, "--once"]
    began = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert began.stdout is not None
    batches = 0
    for line in began.stdout:
        batches += json.loads(line)["event"] == "batch"
        if batches == 3:
            break
    time.sleep(0.3)  # into the middle of the next batch
    os.killpg(began.pid, signal.SIGKILL)
    began.wait(30)
    assert batches == 3
    assert not holds(tmp_path, parts, late)

    run_to_end(kafka_spark, tmp_path)

    assert holds(tmp_path, parts, late)
