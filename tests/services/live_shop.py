"""A shop in a database that real-time mode reads: its project, its run, its documents in Kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psutil
from tests.services.live_run import LiveRun, Topic

PROJECT = """\
name: shop
sources:
  db: {{postgres: {{url: "{url}"}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string, city: string}}}}
  purchase: {{key: [id], fields: {{id: long, customer_id: long, item: string}}}}
products:
  profile:
    root: customer
    embed: {{items: {{many: purchase, on: {{customer_id: id}}, fields: [id, item]}}}}
    sink: {{kafka: {{topic: "{topic}", bootstrap: "{kafka}"}}}}
run:
  checkpoint_interval: 10s
  dead_letters: {{kafka: {{topic: "{topic}-dead", bootstrap: "{kafka}"}}}}
"""

# Twenty customers with ten purchases each.
TABLES = (
    "create table customer (id bigint primary key, name text)",
    "create table purchase (id bigint primary key, customer_id bigint, item text)",
    "insert into customer select i, 'n' from generate_series(1, 20) as i",
    "insert into purchase select i, i % 20 + 1, 'first' from generate_series(1, 200) as i",
)


def documents(topic: Topic) -> Mapping[int, Any]:
    """Return the newest documents by their key."""
    return {json.loads(key)["id"]: value for key, value in topic.newest().items()}


def go_live(run: LiveRun) -> None:
    run.until(run.is_live, "real time")


def capture_of(run: LiveRun) -> psutil.Process:
    """Return the process that captures for a run."""
    every = psutil.Process(run.process.pid).children(recursive=True)
    return next(each for each in every if "dev.joinery.capture.Capture" in each.cmdline())
