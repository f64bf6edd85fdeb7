"""Measures UserProfile between real servers: `python -m bench.kafka.delivery --part kafka`.

The topics are filled with the change records that the file workloads have, keyed by their
rows' keys. Parts:

- `kafka`, `postgres`: one whole run over all records into that sink, process start to end.
- `restart`: a run that has read everything is killed, a change is sent, the run begins again;
  timed is from that start to the change's document.
- `outage`: changes come at a steady rate into PostgreSQL, which is stopped in the middle;
  every document is compared with a plain computation at the end.
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
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.compare import expected, workloads
from bench.compare.contenders import batches_of
from bench.harness.builds import BENCH, add_joinery
from bench.harness.measure import Tree
from bench.harness.measure import measure as measured_command
from bench.kafka.latency import wait
from joinery.dev.kafka import kafka
from joinery.dev.postgres import postgres
from joinery.dev.service import Service
from joinery.java import find_java
from joinery.testing.github import FORMATS, UPDATE_HEAVY, History, write_lines

PARTITIONS = 2
OUT = "user_profile"
SINKS = {
    "kafka": f"sink: {{kafka: {{topic: {OUT}}}}}",
    "postgres": f'sink: {{postgres: {{url: "${{DATABASE_URL}}", table: {OUT}, connections: 2}}}}',
}
FILES = '{files: {path: "${BENCH_CHANGES}"}}'
FILES_SINK = 'sink: {files: {path: "${BENCH_WORK}/out"}}'


def project(work: Path, sink: str) -> Path:
    """Write UserProfile with the broker as its source."""
    text = (BENCH / "compare" / "profile.yaml").read_text(encoding="utf-8")
    for old, new in (
        (FILES, '{kafka: {bootstrap: "${KAFKA}"}}'),
        (FILES_SINK, SINKS[sink]),
    ):
        assert old in text, old
        text = text.replace(old, new)
    path = work / "joinery.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def create_topics(bootstrap: str) -> None:
    """Make the topics that are read and written."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [NewTopic(each, PARTITIONS, 1) for each in (*expected.KEYS, OUT)]
    for made in admin.create_topics(wanted).values():
        made.result(30)


def records(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield topic, key and value of every change, the topics in turn."""
    opened = [_records_of(folder, topic) for topic in expected.KEYS]
    return (each for each in itertools.chain.from_iterable(itertools.zip_longest(*opened)) if each)


def _records_of(folder: Path, topic: str) -> Iterator[tuple[str, str, str]]:
    for path in sorted((folder / topic).glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                row, _ = expected.image(line)
                key = {column: row[column] for column in expected.KEYS[topic]}
                yield topic, json.dumps(key), line.rstrip("\n")


def produce(bootstrap: str, rows: Iterator[tuple[str, str, str]], rate: float = 0.0) -> int:
    """Send records, at a steady rate where one is given; return how many."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    started, count = time.monotonic(), 0
    for count, (topic, key, value) in enumerate(rows, start=1):
        producer.produce(topic, value, key)
        if count % 1000 == 0:
            producer.poll(0)
            if rate:
                time.sleep(max(0.0, started + count / rate - time.monotonic()))
            elif count % 10_000 == 0:
                producer.flush()
    producer.flush()
    return count


def command(path: Path, chosen: argparse.Namespace, *more: str) -> list[str]:
    """Return how the project is run."""
    return [str(chosen.joinery), "run", str(path), *more, *chosen.set]


def whole_run(work: Path, chosen: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    """Run once over all records, and return what was measured."""
    folder = workload(chosen.changes)
    count = produce(env["KAFKA"], records(folder))
    output = work / "run.log"
    once = command(project(work, chosen.part), chosen, "--once")
    run = measured_command(once, output=output, cwd=work, env=env, timeout_s=3600)
    if run.returncode:
        raise SystemExit(output.with_suffix(".err").read_text(errors="replace")[-3000:])
    if chosen.compare:
        compare(chosen, env, folder)
    batches = batches_of(output)
    documents = sum(
        counts.get(kind, 0)
        for each in batches
        for counts in each["documents"].values()
        for kind in ("upserts", "deletes")
    )
    in_sinks = sum(each["duration_ms"].get("sinks", 0) for each in batches) / 1000
    return {
        "changes": count,
        "seconds": round(run.seconds, 1),
        "changes_per_second": round(count / run.seconds),
        "processor_seconds": round(run.cpu_seconds, 1),
        "peak_mb": round(run.peak_bytes / 1e6),
        "documents": documents,
        "documents_per_second_of_the_sink": round(documents / in_sinks) if in_sinks else None,
        "batches": [
            {"rows": each["rows"], "seconds": each["seconds"], **each["duration_ms"]}
            for each in batches
        ],
    }


def compare(chosen: argparse.Namespace, env: dict[str, str], folder: Path) -> None:
    """Refuse documents that a plain computation does not have."""
    found = (
        _documents(env["DATABASE_URL"]) if chosen.part == "postgres" else committed(env["KAFKA"])
    )
    if wrong := expected.difference(expected.expected_profiles(folder), found):
        raise SystemExit(wrong)


def committed(bootstrap: str) -> dict[str, expected.Profile]:
    """Return the documents that a reader of committed records finds: the last of a key."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "compare"}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(OUT, each, 0) for each in range(PARTITIONS)])
    found: dict[bytes, bytes | None] = {}
    quiet = 0
    while quiet < 3:
        messages = [each for each in consumer.consume(10_000, 1.0) if each.error() is None]
        found.update((each.key(), each.value()) for each in messages)
        quiet = 0 if messages else quiet + 1
    consumer.close()
    documents = (json.loads(value) for value in found.values() if value)
    return {each["email"]: expected.from_objects(each) for each in documents}


def restart(work: Path, chosen: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    """Kill a run that has read everything, and time the next one's first document."""
    folder = workload(chosen.changes)
    count = produce(env["KAFKA"], records(folder))
    path, log = project(work, "kafka"), work / "run.log"
    first = _start(command(path, chosen), log, env)
    wait(lambda: sum(each["rows"] for each in batches_of(log)) >= count, first, log)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    topic, _, value = next(each for each in records(folder) if each[0] == "user")
    user = expected.image(value)[0] | {"email": "new@example.com"}
    change = {"op": "c", "before": None, "after": user, "source": json.loads(value)["source"]}
    change["source"] |= {"lsn": 1 << 60, "ts_ms": 1 << 41}
    produce(env["KAFKA"], iter([(topic, json.dumps({"email": user["email"]}), json.dumps(change))]))
    started = time.monotonic()
    second = _start(command(path, chosen), work / "again.log", env)
    try:
        took = _first_document(env["KAFKA"], b"new@example.com", started)
    finally:
        os.killpg(second.pid, signal.SIGTERM)
        second.wait(60)
    state = sum(each.stat().st_size for each in (work / "checkpoint").rglob("*") if each.is_file())
    return {"changes": count, "checkpoint_mb": round(state / 1e6), "seconds": round(took, 1)}


def _start(line: list[str], log: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            line, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True
        )


def _first_document(bootstrap: str, key: bytes, started: float) -> float:
    settings = {"bootstrap.servers": bootstrap, "group.id": "restart"}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(OUT, each, 0) for each in range(PARTITIONS)])
    while time.monotonic() - started < 300:
        for message in consumer.consume(10_000, 0.1):
            if key in (message.key() or b""):
                consumer.close()
                return time.monotonic() - started
    raise SystemExit("the document did not come")


def outage(work: Path, chosen: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    """Load a run, stop its sink for a while, and compare its documents at the end."""
    base, load = _outage_input(chosen)
    path, log = project(work, "postgres"), work / "run.log"
    count = produce(env["KAFKA"], records(base))
    total = count + sum(path.read_bytes().count(b"\n") for path in load.glob("*/*.jsonl"))
    process = _start(command(path, chosen), log, env)
    memory = _Memory(process.pid)
    try:
        wait(lambda: _read(log) >= count, process, log)
        sender = threading.Thread(target=produce, args=(env["KAFKA"], records(load), chosen.rate))
        begun = time.monotonic()
        sender.start()
        time.sleep(chosen.seconds * 0.3)
        before = memory.now()
        chosen.database.stop()
        time.sleep(chosen.outage)
        chosen.database.start()
        back = time.monotonic()
        during = memory.now()
        caught_up = None
        while sender.is_alive() or _read(log) < total:
            due = min(total, count + (time.monotonic() - begun) * chosen.rate)
            if caught_up is None and _read(log) >= due - 3 * chosen.rate:
                caught_up = time.monotonic() - back
            if process.poll() is not None:
                raise SystemExit(log.read_text(errors="replace")[-3000:])
            time.sleep(0.5)
        sender.join()
        caught_up = caught_up or time.monotonic() - back
        after = memory.now()
        collected = memory.collected()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(120)
    found = _documents(env["DATABASE_URL"])
    wanted = expected.expected_profiles(_both(work / "all", base, load))
    return {
        "changes": total,
        "rate": chosen.rate,
        "outage_s": chosen.outage,
        "caught_up_s": round(caught_up, 1),
        "documents": len(found),
        "documents_that_differ": sum(found.get(each) != wanted[each] for each in wanted)
        + len(found.keys() - wanted.keys()),
        "memory_mb": {
            "before": before,
            "at_its_end": during,
            "at_the_end": after,
            "collected": collected,
        },
    }


class _Memory:
    """The proportional set size of a process tree in MB, and what of it is Java's."""

    def __init__(self, process: int) -> None:
        self._process = process

    def now(self) -> dict[str, int]:
        """Return the size of all, of Java, and of the objects in its heap, garbage included."""
        sizes = self._sizes()
        java = _largest(sizes)
        told = _jcmd(java, "GC.heap_info")
        used = sum(int(each) for each in re.findall(r"(?:PSYoungGen|ParOldGen).*used (\d+)K", told))
        return {
            "all": round(sum(sizes.values()) / 1e6),
            "java": round(sizes[java] / 1e6),
            "heap": round(used * 1024 / 1e6),
        }

    def collected(self) -> dict[str, int]:
        """Return the same once Java has collected its garbage."""
        _jcmd(_largest(self._sizes()), "GC.run")
        return self.now()

    def _sizes(self) -> dict[int, int]:
        tree = Tree(self._process)
        tree.sample()
        return tree.bytes


def _largest(sizes: dict[int, int]) -> int:
    return max(sizes, key=sizes.__getitem__)


def _jcmd(java: int, command: str) -> str:
    """Ask a JVM; empty where the machine has a Java without its tools."""
    program = find_java().home / "bin" / "jcmd"
    if not program.exists():
        return ""
    line = [str(program), str(java), command]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def _read(log: Path) -> int:
    return sum(each["rows"] for each in batches_of(log))


def _outage_input(chosen: argparse.Namespace) -> tuple[Path, Path]:
    """Return the folders of what stands before and of what comes; made where they are not."""
    load = int(chosen.rate * chosen.seconds)
    folder = BENCH / ".data" / f"outage-{chosen.changes}-{load}"
    history = History(chosen.changes, seed=workloads.SEED)
    if not (folder / ".complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for name, lines in (
            ("0-base", history.lines(chosen.changes)),
            ("1-load", history.lines(load, UPDATE_HEAVY)),
        ):
            write_lines(lines, folder / name, name=name, render=FORMATS["debezium-json"])
        (folder / ".complete").touch()
    return folder / "0-base", folder / "1-load"


def _both(target: Path, *folders: Path) -> Path:
    for source in folders:
        for path in source.glob("*/*.jsonl"):
            (target / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / path.parent.name / path.name)
    return target


def _documents(url: str) -> dict[str, expected.Profile]:
    with psycopg.connect(url) as link:
        rows = link.execute(f"SELECT email, document FROM {OUT}").fetchall()
    return {email: expected.from_objects(document) for email, document in rows}


def workload(changes: int) -> Path:
    """Return the folder of UserProfile's change files."""
    chosen = workloads.profile(f"profile-{changes}", changes)
    return workloads.write(chosen, BENCH / ".data", "debezium-json")[0]


PARTS = {"kafka": whole_run, "postgres": whole_run, "restart": restart, "outage": outage}


def main() -> int:
    """Measure one part and print a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.kafka.delivery", description=__doc__)
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=5000.0)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--outage", type=float, default=120.0)
    parser.add_argument("--compare", action="store_true", help="kafka, postgres: the documents")
    add_joinery(parser)
    chosen = parser.parse_args()
    work = chosen.work or BENCH / ".runs" / f"delivery-{chosen.part}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    database: Service = postgres(work / "postgres")
    with kafka(work / "kafka").started() as broker:
        create_topics(broker.address)
        env = {**os.environ, "KAFKA": broker.address, "BENCH_WORK": str(work)}
        if chosen.part in ("postgres", "outage"):
            with database.started():
                chosen.database = database
                told = PARTS[chosen.part](work, chosen, env | {"DATABASE_URL": database.address})
        else:
            told = PARTS[chosen.part](work, chosen, env)
        print(json.dumps({"part": chosen.part, **told, "load": os.getloadavg()[0]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
