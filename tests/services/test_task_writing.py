"""The tasks of a session write what it staged, and no document passes the driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from joinery.app.project import load
from joinery.dev.service import Service
from joinery.errors import JoineryError
from joinery.spark.batch.run import Run, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
sources: {{changes: {{files: {{path: data}}}}}}
defaults: {{source: changes, format: json}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
products:
  profile:
    root: customer
    sink: {sink}
run: {{max_rows_per_batch: 20}}
"""
NAMES = {each: f"customer {each}" for each in range(50)}


def started(spark: SparkSession, folder: Path, sink: str) -> Run:
    folder.mkdir(exist_ok=True)
    (folder / "joinery.yaml").write_text(PROJECT.format(sink=sink), encoding="utf-8")
    changes = folder / "data/customer/1.jsonl"
    changes.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"id": each, "name": name}) for each, name in NAMES.items())
    changes.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
    return run(spark, load(folder / "joinery.yaml"), once=True)


def documents(redis: Service, prefix: str) -> dict[int, str]:
    with Redis.from_url(redis.address) as server:
        found: Any = {key: server.get(key) for key in server.scan_iter(f"{prefix}:*")}
    told = (json.loads(each) for each in found.values())
    return {each["id"]: each["name"] for each in told}


def test_tasks_write_to_redis_where_they_are_to_and_the_driver_small_batches(
    spark: SparkSession, tmp_path: Path, redis: Service
) -> None:
    sink = f'{{redis: {{url: "{redis.address}", prefix: a, parallel: tasks}}}}'
    by_tasks = started(spark, tmp_path / "a", sink)
    by_tasks.await_termination()
    sink = f'{{redis: {{url: "{redis.address}", prefix: b}}}}'
    by_driver = started(spark, tmp_path / "b", sink)
    by_driver.await_termination()

    assert NAMES == documents(redis, "a") == documents(redis, "b")
    assert {"profile": 0} == by_tasks.progress.through_driver
    assert {"profile": 50} == by_driver.progress.through_driver


def test_what_a_driver_alone_can_write_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(JoineryError) as refused:
        started(spark, tmp_path, "{files: {path: out, parallel: tasks}}")

    assert 'sink "files" of product "profile" can be written only by the driver' == (
        refused.value.message
    )
