"""Measures how many events a second go through lookups, Kafka to Kafka: `python bench/streams.py`.

The topics are filled first: a table of customers, one of products, then the events. What is
timed is one whole run, from the start of its process to its end: it reads the tables from
nothing, and every event, and writes each once, in transactions.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from joinery.stack.kafka import kafka

BENCH = Path(__file__).resolve().parent
PARTITIONS = 2
RELATIONS = """\
name: streams
sources: {log: {kafka: {bootstrap: "${KAFKA}"}}}
defaults: {source: log, format: json}
relations:
  orders:
    append: true
    key: [order_id]
    fields: {order_id: long, customer_id: long, product_id: long, quantity: int, note: string}
  customers: {key: [id], fields: {id: long, name: string, tier: string, city: string}}
  products: {key: [id], fields: {id: long, title: string, price: double}}
streams:
  enriched:
    from: orders
    steps:
"""
CUSTOMERS = "      - {lookup: customers, on: {id: customer_id}, fields: [name, tier]}\n"
PRODUCTS = "      - {lookup: products, on: {id: product_id}, fields: [title, price]}\n"
TAIL = """\
    sink: {kafka: {topic: enriched}}
run: {checkpoint: "${BENCH_WORK}/checkpoint"}
"""


def rows(chosen: argparse.Namespace) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield all records: topic, key, row; tables first."""
    for key in range(chosen.keys):
        name = {"id": key, "name": f"customer number {key}", "tier": "gold", "city": "Paris"}
        yield "customers", key, name
        if chosen.lookups > 1:
            yield "products", key, {"id": key, "title": f"product {key}", "price": key / 100}
    for event in range(chosen.events):
        row = {
            "order_id": event,
            "customer_id": event * 7919 % chosen.keys,
            "product_id": event * 104_729 % chosen.keys,
            "quantity": event % 9 + 1,
            "note": "as ordered by phone",
        }
        yield "orders", event, row


def fill(bootstrap: str, chosen: argparse.Namespace) -> None:
    """Make the topics and produce all records."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = ("orders", "customers", "products", "enriched")
    for made in admin.create_topics([NewTopic(each, PARTITIONS, 1) for each in topics]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number, (topic, key, row) in enumerate(rows(chosen)):
        producer.produce(topic, json.dumps(row), str(key))
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


def committed(bootstrap: str) -> int:
    """Return how many events a reader of committed records finds."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "count"}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition("enriched", each, 0) for each in range(PARTITIONS)])
    found, quiet = 0, 0
    while quiet < 5:
        messages = [each for each in consumer.consume(10_000, 1.0) if each.error() is None]
        found += len(messages)
        quiet = 0 if messages else quiet + 1
    consumer.close()
    return found


def measure(bootstrap: str, work: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Run once over all records, and return what was measured."""
    project = work / "joinery.yaml"
    steps = CUSTOMERS + (PRODUCTS if chosen.lookups > 1 else "")
    project.write_text(RELATIONS + steps + TAIL, encoding="utf-8")
    shutil.rmtree(work / "checkpoint", ignore_errors=True)
    joinery = Path(sys.executable).with_name("joinery")
    command = [str(joinery), "run", str(project), "--once", *chosen.set]
    env = {**os.environ, "KAFKA": bootstrap, "BENCH_WORK": str(work)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with (work / "run.log").open("wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=env, check=False)
    seconds = time.monotonic() - started
    if done.returncode:
        raise SystemExit((work / "run.log").read_text(errors="replace")[-3000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = committed(bootstrap)
    if found != chosen.events:
        raise SystemExit(f"{found} events came out, {chosen.events} went in")
    return {
        "lookups": chosen.lookups,
        "events": chosen.events,
        "keys": chosen.keys,
        "seconds": round(seconds, 1),
        "events_per_second": round(chosen.events / seconds),
        "processor_seconds": round(processor, 1),
        "batches": batches(work / "run.log"),
        "load_average": os.getloadavg()[0],
    }


def batches(log: Path) -> list[str]:
    """Return the batches of a run, as it told them."""
    told = []
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{"):
            batch = json.loads(line)
            if "rows" in batch:
                told.append(f"{batch['rows']} rows in {batch['seconds']} s {batch['duration_ms']}")
    return told


def main() -> int:
    """Measure and print a JSON object."""
    parser = argparse.ArgumentParser(prog="bench/streams.py", description=__doc__)
    parser.add_argument("--lookups", type=int, choices=(1, 2), default=1)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--set", action="append", default=[], type=lambda each: f"--set={each}")
    chosen = parser.parse_args()
    work = BENCH / ".runs" / f"streams-{chosen.lookups}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with kafka(work / "kafka").started() as broker:
        fill(broker.address, chosen)
        print(json.dumps(measure(broker.address, work, chosen), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
