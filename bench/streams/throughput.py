"""Measures events a second through lookups, Kafka to Kafka: `python -m bench.streams.throughput`.

The topics are filled first: a table of customers, one of products, then the events. What is
timed is one whole run, from the start of its process to its end: it reads the tables and every
event from nothing, side by side, and writes each event once, in transactions.

With `--latency real-time` or `--latency batches` the run goes on, events come at a steady
rate, and what is timed is how soon each comes out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.harness.builds import BENCH, add_joinery
from bench.harness.measure import measure as measured_command
from bench.kafka.latency import Row, percentiles, produce, wait
from joinery.dev.kafka import kafka

PARTITIONS = 2
SENT = re.compile(rb"sent=(\d+)")
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
run:
  checkpoint: "${BENCH_WORK}/checkpoint"
  dead_letters: {kafka: {topic: dead}}
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
    topics = ("orders", "customers", "products", "enriched", "dead")
    for made in admin.create_topics([NewTopic(each, PARTITIONS, 1) for each in topics]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number, (topic, key, row) in enumerate(rows(chosen)):
        producer.produce(topic, json.dumps(row), str(key))
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


def committed(bootstrap: str) -> int:
    """Return how many events a reader of committed records finds, each once.

    An event has its customer's name, or none where it was read in an earlier batch than the
    customer; -1 where one has another's name or comes twice.
    """
    settings = {"bootstrap.servers": bootstrap, "group.id": "count"}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition("enriched", each, 0) for each in range(PARTITIONS)])
    found: set[int] = set()
    count, quiet = 0, 0
    while quiet < 5:
        messages = [each for each in consumer.consume(10_000, 1.0) if each.error() is None]
        for event in (json.loads(each.value()) for each in messages):
            found.add(event["order_id"])
            count += event["name"] in (None, f"customer number {event['customer_id']}")
        quiet = 0 if messages else quiet + 1
    consumer.close()
    return count if count == len(found) else -1


def measure(bootstrap: str, work: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Run once over all records, and return what was measured."""
    project = work / "joinery.yaml"
    steps = CUSTOMERS + (PRODUCTS if chosen.lookups > 1 else "")
    project.write_text(RELATIONS + steps + TAIL, encoding="utf-8")
    shutil.rmtree(work / "checkpoint", ignore_errors=True)
    command = [str(chosen.joinery), "run", str(project), "--once", *chosen.set]
    env = {**os.environ, "KAFKA": bootstrap, "BENCH_WORK": str(work)}
    output = work / "run.log"
    run = measured_command(command, output=output, cwd=work, env=env, timeout_s=3600)
    if run.returncode:
        raise SystemExit(output.read_text(errors="replace")[-3000:])
    found = committed(bootstrap)
    if found != chosen.events:
        raise SystemExit(f"{found} events came out right, {chosen.events} went in")
    return {
        "lookups": chosen.lookups,
        "events": chosen.events,
        "keys": chosen.keys,
        "seconds": round(run.seconds, 1),
        "events_per_second": round(chosen.events / run.seconds),
        "processor_seconds": round(run.cpu_seconds, 1),
        "peak_mb": round(run.peak_bytes / 1e6),
        "batches": batches(output),
        "load_average": os.getloadavg()[0],
    }


@dataclass(slots=True)
class Reader:
    """Reads the sink's topic, and notes how long each timed event took, in seconds."""

    bootstrap: str
    topic: str = "enriched"
    events: int = 0
    samples: list[tuple[float, float]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Read until the end is asked for."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "bench"}
        consumer = Consumer(
            {**settings, "fetch.wait.max.ms": 5, "isolation.level": "read_committed"}
        )
        consumer.assign([TopicPartition(self.topic, each, 0) for each in range(PARTITIONS)])
        while not self.ended.is_set():
            message = consumer.poll(0.1)
            if message is None or message.error() is not None:
                continue
            self.take(time.time(), message.value() or b"")
        consumer.close()

    def take(self, now: float, value: bytes) -> None:
        """Note an event that came."""
        self.events += 1
        if found := SENT.search(value):
            self.samples.append((now, now - int(found[1]) / 1e9))


def paced(chosen: argparse.Namespace) -> Iterator[Row]:
    """Yield events that carry the time at which they are sent, without end."""
    for event in itertools.count(chosen.events):
        row = {
            "order_id": event,
            "customer_id": event * 7919 % chosen.keys,
            "product_id": 0,
            "quantity": 1,
            "note": f"sent={time.time_ns()}",
        }
        yield "orders", {"order_id": event}, row


def measure_latency(bootstrap: str, work: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Let a run settle, load it, and return how soon events came out."""
    project = work / "joinery.yaml"
    project.write_text(RELATIONS + CUSTOMERS + TAIL, encoding="utf-8")
    command = [
        str(chosen.joinery),
        "run",
        str(project),
        "--set=run.checkpoint_interval=5m",
        *chosen.set,
    ]
    command += ["--real-time"] if chosen.latency == "real-time" else []
    env = {**os.environ, "KAFKA": bootstrap, "BENCH_WORK": str(work)}
    log, reader = work / "run.log", Reader(bootstrap)
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    thread = threading.Thread(target=reader.run)
    thread.start()
    try:
        wait(lambda: reader.events >= chosen.events, process, log)
        if chosen.latency == "real-time":
            wait(lambda: '"live": true' in log.read_text(), process, log)
        produce(bootstrap, paced(chosen), rate=chosen.rate, seconds=chosen.warm)
        reader.samples.clear()
        sent = produce(bootstrap, paced(chosen), rate=chosen.rate, seconds=chosen.seconds)
        time.sleep(3)
    finally:
        process.send_signal(signal.SIGTERM)
        reader.ended.set()
        thread.join()
        process.wait(60)
    return {
        "latency": chosen.latency,
        "rate": chosen.rate,
        "sent": sent,
        "samples": len(reader.samples),
        "ms": percentiles([took for _, took in reader.samples]),
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
    parser = argparse.ArgumentParser(prog="python -m bench.streams.throughput", description=__doc__)
    parser.add_argument("--lookups", type=int, choices=(1, 2), default=1)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    add_joinery(parser)
    parser.add_argument("--latency", choices=("real-time", "batches"))
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm", type=float, default=30.0)
    chosen = parser.parse_args()
    work = chosen.work or BENCH / ".runs" / f"streams-{chosen.latency or chosen.lookups}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with kafka(work / "kafka").started() as broker:
        fill(broker.address, chosen)
        measured = measure_latency if chosen.latency else measure
        print(json.dumps(measured(broker.address, work, chosen), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
