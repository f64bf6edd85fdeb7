"""Measures how soon a document follows a change, Kafka to Kafka: `python -m bench.kafka.latency`.

Each change carries the time at which it was sent, in a text that reaches its document; the
reader of the sink's topic takes the difference. Broker, load, Joinery and reader share the
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.harness.builds import BENCH, add_joinery
from bench.kafka.latency_worlds import Alerts, Patterns, Profiles, Row, Windows, World
from joinery.dev.kafka import kafka

SENT = re.compile(rb"sent=(\d+)")
WAIT_S = 600.0
SPARK_INTERVAL = "5 minutes"
PEER = BENCH / "peers" / "spark_live_windows.py"


@dataclass(frozen=True, slots=True)
class Sample:
    """A change that was seen in a document.

    Attributes:
        at: When it arrived.
        took: The seconds that it took.
        key: That of the document.
    """

    at: float
    took: float
    key: bytes


@dataclass(slots=True)
class Reader:
    """Reads the sink's topic, and notes how long each change took.

    Attributes:
        world: Whose sink is read, of one partition.
        samples: The changes that were seen.
    """

    bootstrap: str
    world: World
    documents: int = 0
    samples: list[Sample] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    _seen: dict[bytes, set[bytes]] = field(default_factory=dict)

    def run(self) -> None:
        """Read until the end is asked for."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "latency"}
        consumer = Consumer(
            {**settings, "fetch.wait.max.ms": 5, "isolation.level": "read_committed"}
        )
        consumer.assign([TopicPartition(self.world.sink, 0, 0)])
        while not self.ended.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                self._take(message.key(), message.value() or b"")
        consumer.close()

    def _take(self, key: bytes, value: bytes) -> None:
        now = time.time()
        self.documents += 1
        found = self.world.made_by(set(SENT.findall(value)))
        for sent in found - self._seen.get(key, set()):
            self.samples.append(Sample(now, now - int(sent) / 1e9, key))
        self._seen[key] = found


def produce(bootstrap: str, rows: Iterator[Row], *, rate: float, seconds: float) -> int:
    """Send rows at a steady rate; at once where the rate is 0."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    started, count = time.monotonic(), 0
    for topic, key, row in rows:
        producer.produce(topic, json.dumps(row), json.dumps(key))
        producer.poll(0)
        count += 1
        if count % 10_000 == 0:
            producer.flush()
        due = started + count / rate if rate else 0.0
        if rate and due - started > seconds:
            break
        time.sleep(max(0.0, due - time.monotonic()))
    producer.flush()
    return count


def percentiles(samples: Sequence[float]) -> dict[str, float]:
    """Return milliseconds; nothing of no samples."""
    if not (ordered := sorted(samples)):
        return {}
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    at = {name: min(len(ordered) - 1, int(len(ordered) * share)) for name, share in shares.items()}
    return {name: round(ordered[place] * 1000, 1) for name, place in at.items()}


def slowest_seconds(samples: Sequence[Sample], started: float) -> list[str]:
    """Return the seconds of the run in which the slowest changes arrived."""
    worst: dict[int, float] = {}
    for each in samples:
        second = int(each.at - started)
        worst[second] = max(worst.get(second, 0.0), each.took)
    slow = sorted(worst.items(), key=lambda each: -each[1])[:8]
    return [f"{second} s: {took * 1000:.0f} ms" for second, took in sorted(slow)]


def wait(condition: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a condition holds while the run goes on."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(log.read_text(errors="replace")[-3000:])
        time.sleep(0.2)


def measure(bootstrap: str, work: Path, world: World, chosen: argparse.Namespace) -> dict[str, Any]:
    """Let one run settle, load it, and return what was measured."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics(
        [NewTopic(each, 1, 1) for each in (*world.topics, world.sink, "dead")]
    ).values():
        made.result(30)
    base = produce(bootstrap, world.base(), rate=0, seconds=0)
    command = _command(bootstrap, work, world, chosen)
    log, reader = work / "run.log", Reader(bootstrap, world)
    env = {**os.environ, "KAFKA": bootstrap, "BENCH_WORK": str(work)}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    thread = threading.Thread(target=reader.run)
    thread.start()
    try:
        wait(lambda: reader.documents >= world.standing, process, log)
        if chosen.mode != "batches":
            wait(lambda: '"live": true' in log.read_text(), process, log)
        produce(bootstrap, world.load(1), rate=chosen.rate, seconds=chosen.warm)
        reader.samples.clear()
        started = time.time()
        sent = produce(bootstrap, world.load(2), rate=chosen.rate, seconds=chosen.seconds)
        added_at = time.time()
        if chosen.added and isinstance(world, Alerts):
            produce(bootstrap, world.more(chosen.added), rate=0, seconds=0)
            sent += produce(bootstrap, world.load(3), rate=chosen.rate, seconds=chosen.seconds)
        time.sleep(3)
    finally:
        process.send_signal(signal.SIGTERM)
        reader.ended.set()
        thread.join()
        process.wait(60)
    took = [each.took for each in reader.samples if not chosen.added or each.at < added_at]
    told: dict[str, Any] = {}
    if chosen.added and isinstance(world, Alerts):
        # What an added query finds among older listings says when these were sent.
        after = [each for each in reader.samples if each.at - each.took >= added_at]
        stood = [each.took for each in after if world.stood(each.key)]
        told = {
            "samples_after": len(after),
            "ms_after": percentiles([each.took for each in after]),
            "ms_after_of_queries_that_stood": percentiles(stood),
        }
    return {
        "mode": chosen.mode,
        "base": base,
        "sent": sent,
        "seconds": chosen.seconds,
        "samples": len(took),
        "ms": percentiles(took),
        **told,
        "slowest": slowest_seconds(reader.samples, started),
        "load_average": os.getloadavg()[0],
    }


def _command(bootstrap: str, work: Path, world: World, chosen: argparse.Namespace) -> list[str]:
    """Return what runs the project of a world, or in Spark's own terms its peer."""
    if chosen.mode == "spark":
        command = [sys.executable, str(PEER), "--bootstrap", bootstrap]
        return [*command, "--checkpoint", str(work / "checkpoint"), "--interval", SPARK_INTERVAL]
    command = [str(chosen.joinery), "run", str(BENCH / "kafka" / world.project)]
    command += [f"--set=run.checkpoint_interval={chosen.interval}"] + chosen.set
    return command + (["--real-time"] if chosen.mode == "real-time" else [])


def main() -> int:
    """Measure one mode and print a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.kafka.latency", description=__doc__)
    parser.add_argument("--mode", choices=("real-time", "batches", "spark"), default="real-time")
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=360.0, help="more than the interval")
    parser.add_argument("--warm", type=float, default=60.0)
    parser.add_argument("--interval", default="5m")
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--alerts", type=int, metavar="QUERIES", help="stored queries instead")
    parser.add_argument("--listings", type=int, default=10_000, help="that stand, of --alerts")
    parser.add_argument(
        "--added", type=int, default=0, help="more queries at once, then as many seconds again"
    )
    add_joinery(parser)
    parser.add_argument("--patterns", type=int, metavar="USERS", help="matches of logins instead")
    parser.add_argument("--windows", type=int, metavar="USERS", help="counts by minute instead")
    chosen = parser.parse_args()
    if chosen.mode == "spark" and not chosen.windows:
        parser.error("--mode spark goes with --windows")
    if chosen.mode == "spark" and (chosen.interval != "5m" or chosen.set):
        parser.error("--mode spark takes neither --interval nor --set: its interval is 5 minutes")
    if chosen.added and not chosen.alerts:
        parser.error("--added goes with --alerts")
    work = chosen.work or BENCH / ".runs" / f"latency-{chosen.mode}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    world: World = Profiles(chosen.users)
    if chosen.alerts:
        world = Alerts(chosen.alerts, chosen.listings)
    if chosen.patterns:
        world = Patterns(chosen.patterns)
    if chosen.windows:
        world = Windows(chosen.windows)
    with kafka(work / "kafka").started() as broker:
        print(json.dumps(measure(broker.address, work, world, chosen), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
