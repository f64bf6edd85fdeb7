"""Measures a delta join, a price of 100,000 recent orders: `python -m bench.streams.delta_join`.

Orders of one product and of others go from Kafka to Kafka through a lookup with `on_change:
re_emit`. Orders of the others come at a steady rate all the time; after a while the one
product gets a new price. What is timed is how long its orders take to be sent again, all of
them, from when the price was sent, and how soon the others' orders come out before and
meanwhile.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from bench.harness.builds import BENCH
from bench.kafka.latency import Row, percentiles, produce, wait
from bench.streams import throughput
from joinery.dev.kafka import kafka

PRODUCTS = 1_000
NEW_PRICE = 123_456.5
NEW = f'"price":{NEW_PRICE}'.encode()
PROJECT = """\
name: delta
sources: {log: {kafka: {bootstrap: "${KAFKA}"}}}
defaults: {source: log, format: json}
relations:
  orders:
    append: true
    key: [order_id]
    fields: {order_id: long, product_id: long, note: string}
  products: {key: [id], fields: {id: long, price: double}}
streams:
  priced:
    from: orders
    correction: corrected
    steps:
      - {lookup: products, on: {id: product_id}, fields: [price], on_change: re_emit, for: 7d}
    sink: {kafka: {topic: priced}}
run:
  checkpoint: "${BENCH_WORK}/checkpoint"
  dead_letters: {kafka: {topic: dead}}
"""


@dataclass(slots=True)
class Reader(throughput.Reader):
    """Also counts the events that came with the new price, and notes when the last one did."""

    topic: str = "priced"
    corrected: int = 0
    last_at: float = 0.0

    def take(self, now: float, value: bytes) -> None:
        """Note an event that came."""
        throughput.Reader.take(self, now, value)
        if NEW in value:
            self.corrected, self.last_at = self.corrected + 1, now


def standing(orders: int) -> Iterator[Row]:
    """Yield the products, the orders of the one, and a tenth as many of the others."""
    for product in range(PRODUCTS):
        yield "products", {"id": product}, {"id": product, "price": float(product)}
    for order in range(orders + orders // 10):
        product = 0 if order < orders else 1 + order % (PRODUCTS - 1)
        yield "orders", *order_of(order, product, "")


def others(first: int) -> Iterator[Row]:
    """Yield orders of other products that carry the time at which they are sent."""
    for order in itertools.count(first):
        yield "orders", *order_of(order, 1 + order % (PRODUCTS - 1), f"sent={time.time_ns()}")


def order_of(order: int, product: int, note: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an order's key and row."""
    return {"order_id": order}, {"order_id": order, "product_id": product, "note": note}


def measure(bootstrap: str, work: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Let a run settle, load it, change the price, and return what was measured."""
    project = work / "joinery.yaml"
    project.write_text(PROJECT, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("joinery")), "run", str(project), *chosen.set]
    env = {**os.environ, "KAFKA": bootstrap, "BENCH_WORK": str(work)}
    log, reader = work / "run.log", Reader(bootstrap)
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    thread = threading.Thread(target=reader.run)
    thread.start()
    ended = threading.Event()
    load = threading.Thread(target=_load, args=(bootstrap, chosen, ended))
    base = chosen.orders + chosen.orders // 10
    try:
        wait(lambda: reader.events >= base, process, log)
        load.start()
        time.sleep(chosen.warm)
        quiet_from = time.time()
        time.sleep(chosen.seconds)
        changed_at = time.time()
        price = {"id": 0, "price": NEW_PRICE}
        produce(bootstrap, iter([("products", {"id": 0}, price)]), rate=0, seconds=0)
        wait(lambda: reader.corrected >= chosen.orders, process, log)
        time.sleep(3)
    finally:
        ended.set()
        if load.ident is not None:
            load.join()
        process.send_signal(signal.SIGTERM)
        reader.ended.set()
        thread.join()
        process.wait(60)
    quiet = [took for at, took in reader.samples if quiet_from <= at - took < changed_at]
    touched = [
        took for at, took in reader.samples if changed_at <= at - took and at <= reader.last_at + 3
    ]
    return {
        "orders": chosen.orders,
        "corrected": reader.corrected,
        "seconds": round(reader.last_at - changed_at, 2),
        "others_before_ms": percentiles(quiet),
        "others_meanwhile_ms": percentiles(touched) if touched else None,
        "load_average": os.getloadavg()[0],
    }


def _load(bootstrap: str, chosen: argparse.Namespace, ended: threading.Event) -> None:
    rows = others(10 * chosen.orders)
    live = itertools.takewhile(lambda row: not ended.is_set(), rows)
    produce(bootstrap, live, rate=chosen.rate, seconds=float("inf"))


def main() -> int:
    """Measure and print a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams.delta_join", description=__doc__)
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--warm", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--set", action="append", default=[], type=lambda each: f"--set={each}")
    chosen = parser.parse_args()
    work = BENCH / ".runs" / "delta"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with kafka(work / "kafka").started() as broker:
        admin = AdminClient({"bootstrap.servers": broker.address})
        topics = ("orders", "products", "priced", "dead")
        made = admin.create_topics([NewTopic(each, throughput.PARTITIONS, 1) for each in topics])
        for each in made.values():
            each.result(30)
        produce(broker.address, standing(chosen.orders), rate=0, seconds=0)
        print(json.dumps(measure(broker.address, work, chosen), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
