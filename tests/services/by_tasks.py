"""Tasks of a cluster write what they staged in a store, and the driver what goes to files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from redis import Redis

from joinery.dev.service import Service
from joinery.testing.cluster import Cluster

RUN = [sys.executable, "-m", "joinery.cli.main", "run", "--once"]
LIMIT_S = 600
BY_TASKS = """\
sources: {{changes: {{files: {{path: data}}}}}}
defaults: {{source: changes, format: json}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  visit: {{append: true, key: [id], fields: {{id: long, number: long}}}}
products:
  profile: {{root: customer, sink: {{redis: {{url: "{url}", prefix: profile, parallel: tasks}}}}}}
  both:
    root: customer
    sink: [{{redis: {{url: "{url}", prefix: both, parallel: tasks}}}}, {{files: {{path: out}}}}]
streams:
  visits: {{from: visit, sink: {{redis: {{url: "{url}", prefix: visits, parallel: tasks}}}}}}
run: {{checkpoint: "{checkpoint}", spark: {settings}}}
"""


def assert_tasks_write(
    folder: Path,
    cluster: Cluster,
    redis: Service,
    checkpoint: str,
    settings: Mapping[str, str],
) -> None:
    """Run a project on a cluster, with its checkpoint in a store."""
    customers = [{"id": each, "name": f"c{each}"} for each in range(100)]
    visits = [{"id": each % 10, "number": each} for each in range(30)]
    for topic, rows in (("customer", customers), ("visit", visits)):
        file = folder / "data" / topic / "1.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    said = json.dumps({**settings, "spark.driver.memory": "1g"})
    told = BY_TASKS.format(url=redis.address, checkpoint=checkpoint, settings=said)
    (folder / "joinery.yaml").write_text(told)

    done = subprocess.run(
        [*RUN, "--master", cluster.url],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )

    through = Counter[str]()
    for each in map(json.loads, done.stdout.splitlines()):
        through.update(each.get("through_driver", {}))
    assert {"profile": 0, "both": 100, "visits": 0} == through, done.stderr
    assert {each["id"]: each for each in customers} == _by_id(kept(redis, "profile"))
    assert {each["id"]: each for each in customers} == _by_id(kept(redis, "both"))
    assert {each["id"]: each for each in visits} == _by_id(kept(redis, "visits"))


def kept(redis: Service, prefix: str) -> list[dict[str, Any]]:
    """Return the documents below a prefix."""
    with Redis.from_url(redis.address) as server:
        return [json.loads(str(server.get(each), "utf-8")) for each in server.keys(f"{prefix}:*")]


def _by_id(rows: Sequence[dict[str, Any]]) -> dict[int, Any]:
    return {each["id"]: each for each in rows}
