"""Counts what a run does on clusters of 1, 2 and 4 workers: what grows, and what must not.

    python -m bench.parts.width [WORKERS[xPARTITIONS]…]
    python -m bench.parts.width task

Each cluster is a master and workers of one core on this machine; the same changes are joined there,
and tasks write the documents to one Redis. Everything is counted from Spark's event log, from the
checkpoint and from the run's own progress. No wall time is taken, since four workers on two cores
tell nothing of it; processor time is. `task` tells how much of that the driver takes for a task
that does nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from joinery.dev.redis import redis as redis_service
from joinery.testing.cluster import Cluster

USERS, REPOS, STARS, FILES = 4_000, 400, 40_000, 8
_TASKS, _ROUNDS = 2_000, 5
PROJECT = """\
name: width
sources: {{changes: {{files: {{path: data}}}}}}
defaults: {{source: changes, format: json}}
relations:
  user: {{key: [id], fields: {{id: long, name: string}}}}
  repo: {{key: [id], fields: {{id: long, description: string}}}}
  star: {{key: [id], fields: {{id: long, user_id: long, repo_id: long}}}}
products:
  profile:
    root: user
    embed:
      stars:
        many: star
        on: {{user_id: id}}
        fields: [{{description: r.description}}]
        embed: {{r: {{one: repo, on: {{id: repo_id}}, fields: [description], hidden: true}}}}
    sink: {{redis: {{url: "{redis}", prefix: "w{workers}"}}}}
run:
  max_rows_per_batch: 12000
  spark:
    spark.eventLog.enabled: "true"
    spark.eventLog.compress: "false"
    spark.eventLog.dir: "{events}"
    spark.sql.shuffle.partitions: "{partitions}"
"""
_PER_PARTITION = ("tasks a batch", "bytes of results to the driver a batch")


def main() -> None:
    """Print a table, a column for each number of workers."""
    wanted = sys.argv[1:] or ["1", "2", "4"]
    if wanted == ["task"]:
        _tell_task()
        return
    found: dict[str, Mapping[str, int]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="joinery-width-") as folder,
        redis_service(Path(folder, "redis")).started() as redis,
    ):
        for workers in wanted:
            place = Path(folder, workers)
            place.mkdir()
            found[workers] = _counted(place, redis.address, workers)
            print(workers, json.dumps(found[workers]), file=sys.stderr, flush=True)
    print(f"| | {' | '.join(wanted)} |")
    print(f"| --- |{' ---: |' * len(wanted)}")
    first = found[wanted[0]]
    for name in first:
        print(f"| {name} | {' | '.join(f'{found[each][name]:,}' for each in wanted)} |")
        if name in _PER_PARTITION:
            told = (
                first[name] * found[each]["partitions"] // first["partitions"] for each in wanted
            )
            print(f"| as the model has it | {' | '.join(f'{each:,}' for each in told)} |")


def _counted(folder: Path, redis: str, wanted: str) -> Mapping[str, int]:
    workers, _, partitions = wanted.partition("x")
    events = folder / "events"
    events.mkdir()
    _write_changes(folder / "data")
    text = PROJECT.format(redis=redis, workers=wanted, events=events, partitions=partitions)
    if not partitions:  # the run chooses
        text = text.replace('    spark.sql.shuffle.partitions: ""\n', "")
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    with Cluster(folder, workers=int(workers)) as cluster:
        lines = _run(folder, cluster.url)
    batches = [each for each in lines if each["event"] == "batch"]
    started = next(each for each in lines if each["event"] == "started")
    checkpoint = folder / ".joinery/checkpoint"
    tasks = [*_tasks(events)]
    return {
        "partitions": started["partitions"]["profile"],
        "batches": len(batches),
        "changes read": sum(each["rows"] for each in batches),
        "documents": sum(each["documents"]["profile"]["upserts"] for each in batches),
        "documents through the driver": sum(each["through_driver"]["profile"] for each in batches),
        "tasks a batch": round(len(tasks) / len(batches)),
        "bytes of results to the driver a batch": round(
            sum(each["Result Size"] for each in tasks) / len(batches)
        ),
        "processor ms of tasks a batch": round(
            sum(each["Executor CPU Time"] for each in tasks) / 1e6 / len(batches)
        ),
        "records shuffled": sum(
            each["Shuffle Write Metrics"]["Shuffle Records Written"] for each in tasks
        ),
        "bytes shuffled": sum(
            each["Shuffle Write Metrics"]["Shuffle Bytes Written"] for each in tasks
        ),
        "leases": len([*(checkpoint / "_leases").glob("*.lease")]),
        "files in the checkpoint at the end": sum(
            1 for each in (checkpoint / "profile").rglob("*") if each.is_file()
        ),
    }


def _tell_task() -> None:
    """Print the processor time of the driver for each of many tasks, round by round."""
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), workers=1) as cluster:
        builder = SparkSession.builder.master(cluster.url).config("spark.ui.enabled", "false")
        spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        gateway: Any = spark._jvm
        driver = psutil.Process(int(gateway.java.lang.ProcessHandle.current().pid()))
        for _ in range(_ROUNDS):
            before = driver.cpu_times()
            spark.range(0, _TASKS, 1, _TASKS).selectExpr("sum(id)").collect()
            after = driver.cpu_times()
            took_s = after.user + after.system - before.user - before.system
            print(f"{took_s * 1000 / _TASKS:.2f} processor ms a task", flush=True)
        spark.stop()


def _run(folder: Path, master: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "joinery.cli.main", "run", "--once", "--master", master],
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )
    return [json.loads(each) for each in done.stdout.splitlines()]


def _tasks(events: Path) -> Iterator[Mapping[str, Any]]:
    """Yield what Spark noted of each task."""
    for file in (each for each in events.rglob("*") if each.is_file()):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith('{"Event":"SparkListenerTaskEnd"'):
                yield json.loads(line)["Task Metrics"]


def _write_changes(folder: Path) -> None:
    """Write the same changes for every cluster, in some files a relation."""
    rows = {
        "user": [{"id": each, "name": f"user {each}"} for each in range(USERS)],
        "repo": [{"id": each, "description": f"about {each}"} for each in range(REPOS)],
        "star": [
            {"id": each, "user_id": each * 7 % USERS, "repo_id": each * 13 % REPOS}
            for each in range(STARS)
        ],
    }
    for relation, every in rows.items():
        (folder / relation).mkdir(parents=True)
        for part in range(FILES):
            lines = "".join(f"{json.dumps(each)}\n" for each in every[part::FILES])
            (folder / relation / f"{part}.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
