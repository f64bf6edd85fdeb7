"""Counts what a run does on clusters of 1, 2 and 4 workers: what grows, and what must not.

    python -m bench.parts.width [WORKERS…]

Each cluster is a master and workers of one core on this machine; the same changes are joined there,
and tasks write the documents to one Redis. Everything is counted from Spark's event log, from the
checkpoint and from the run's own progress; nothing is timed, since four workers on two cores tell
nothing of time.
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

from joinery.dev.redis import redis as redis_service
from joinery.testing.cluster import Cluster

USERS, REPOS, STARS, FILES = 4_000, 400, 40_000, 8
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
"""


def main() -> None:
    """Print a table, a column for each number of workers."""
    wanted = [int(each) for each in sys.argv[1:]] or [1, 2, 4]
    found: dict[int, Mapping[str, int]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="joinery-width-") as folder,
        redis_service(Path(folder, "redis")).started() as redis,
    ):
        for workers in wanted:
            place = Path(folder, str(workers))
            place.mkdir()
            found[workers] = _counted(place, redis.address, workers)
            print(workers, json.dumps(found[workers]), file=sys.stderr, flush=True)
    print(f"| | {' | '.join(map(str, wanted))} |")
    print(f"| --- |{' ---: |' * len(wanted)}")
    for name in found[wanted[0]]:
        print(f"| {name} | {' | '.join(f'{found[each][name]:,}' for each in wanted)} |")


def _counted(folder: Path, redis: str, workers: int) -> Mapping[str, int]:
    events = folder / "events"
    events.mkdir()
    _write_changes(folder / "data")
    text = PROJECT.format(redis=redis, workers=workers, events=events)
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    with Cluster(folder, workers=workers) as cluster:
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
