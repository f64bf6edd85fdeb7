"""Measures aggregates over windows against Spark's own: `python bench/groups.py`.

Both read the same JSON lines, a file a batch, on two cores, with RocksDB as the state store, and
write the groups that each batch changed as JSON lines. Spark's own is `groupBy(window, card)` in
update mode, whose batches a `foreachBatch` writes. What is timed is one whole run, from the start
of its process to its end; the newest line of each group is compared before a figure counts.
Spark's own sessions are sent in append mode alone, so both send them once they are closed.

    python bench/groups.py --window tumbling --rounds 3
    python bench/groups.py --window hopping --rows 200000 --keys 1000
    python bench/groups.py --window session --hours 12
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
WINDOWS = {
    "tumbling": ("{tumbling: 1h}", ("1 hour", "1 hour")),
    "hopping": ("{hopping: 1h, every: 1m}", ("1 hour", "1 minute")),
}
SESSION = "session"
CLOSED = ("watermark: {delay: 1m}, ", "emit: {when: closed}")
PROJECT = """\
name: groups
sources: {{changes: {{files: {{path: "{data}"}}}}}}
defaults: {{source: changes, format: json}}
relations:
  payment:
    {{append: true, fields: {{card: long, at: timestamp, amount: long}}, {watermark}time: at}}
products:
  totals:
    aggregate: payment
    by: [card]
    window: {window}
    values: {{n: count(*), total: sum(amount)}}
    {emit}
    sink: {{files: {{path: "{out}"}}}}
run: {{checkpoint: "{out}/checkpoint", max_rows_per_batch: {rows}}}
"""


def generate(folder: Path, *, rows: int, keys: int, files: int, hours: float, seed: int) -> None:
    """Write rows in the order of their times, but for a minute, each with a random card."""
    topic = folder / "payment"
    topic.mkdir(parents=True)
    dice = random.Random(seed)
    for file in range(files):
        with (topic / f"{file:04d}.jsonl").open("w", encoding="utf-8") as out:
            for row in range(file * rows // files, (file + 1) * rows // files):
                seconds = row * hours * 3600 / rows + dice.uniform(0, 60)
                at = (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
                card, amount = dice.randrange(keys), dice.randrange(10_000)
                text = f'"card":{card},"at":"{at[:-6]}Z","amount":{amount}'
                out.write(f"{{{text}}}\n")


def run_joinery(work: Path, data: Path, *, window: str, rows: int) -> Path:
    """Run the project once, and return where its lines are."""
    project = work / "joinery.yaml"
    told = "{session: 30m}" if window == SESSION else WINDOWS[window][0]
    watermark, emit = CLOSED if window == SESSION else ("", "")
    text = PROJECT.format(
        data=data, out=work, window=told, rows=rows, watermark=watermark, emit=emit
    )
    project.write_text(text, encoding="utf-8")
    command = [Path(sys.executable).with_name("joinery"), "run", project, "--once"]
    subprocess.run([*command, "--master", "local[2]"], check=True, stdout=subprocess.DEVNULL)
    return work / "totals"


def run_spark(work: Path, data: Path, *, window: str) -> Path:
    """Run Spark's own in a process of its own, and return where its lines are."""
    command = [sys.executable, __file__, "--spark", str(work), "--data", str(data)]
    subprocess.run([*command, "--window", window], check=True, stderr=subprocess.DEVNULL)
    return work / "totals"


def spark_itself(work: Path, data: Path, *, window: str) -> None:
    """Read, aggregate and write with Structured Streaming."""
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as f

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    if window == SESSION:
        shape, mode = f.session_window("at", "30 minutes"), "append"
    else:
        shape, mode = f.window("at", *WINDOWS[window][1]), "update"
    read = (
        spark.readStream.schema("card long, at timestamp, amount long")
        .option("maxFilesPerTrigger", 1)
        .json(str(data / "payment"))
    )
    totals = (
        (read.withWatermark("at", "1 minute") if window == SESSION else read)
        .groupBy("card", shape.alias("window"))
        .agg(f.count("*").alias("n"), f.sum("amount").alias("total"))
    )

    def write(batch: DataFrame, number: int) -> None:
        batch.select("card", "window.start", "window.end", "n", "total").write.json(
            str(work / "totals" / f"{number:06d}")
        )

    query = (
        totals.writeStream.outputMode(mode)
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
    )
    query.awaitTermination()
    spark.stop()


Group = tuple[int, str]


def newest(folder: Path) -> dict[Group, tuple[int, int]]:
    """Return what each group has in the end: its count and its sum."""
    found: dict[Group, tuple[int, int]] = {}
    for line in _lines(folder):
        value = line.get("value", line)
        start = value.get("window_start") or value["start"]
        at = datetime.fromisoformat(start.replace("Z", "+00:00")).isoformat()
        found[value["card"], at] = (value["n"], value["total"])
    return found


def _lines(folder: Path) -> Iterator[dict[str, dict[str, str]]]:
    for path in sorted([*folder.rglob("*.jsonl"), *folder.rglob("part-*.json")]):
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def main() -> None:
    """Let both take turns, and print the median of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--window", choices=[*WINDOWS, SESSION], default="tumbling")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path(".joinery/bench-groups"))
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--spark", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.spark is not None:
        spark_itself(asked.spark, asked.data, window=asked.window)
        return
    work = asked.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    data = work / "data"
    sizes = {"rows": asked.rows, "keys": asked.keys, "files": asked.files, "hours": asked.hours}
    generate(data, seed=7, **sizes)
    seconds: dict[str, list[float]] = {"joinery": [], "spark": []}
    for number in range(asked.rounds):
        results = {}
        for name in ("joinery", "spark"):
            place = work / f"{name}-{number}"
            place.mkdir()
            began = time.perf_counter()
            if name == "joinery":
                rows = asked.rows // asked.files
                lines = run_joinery(place, data, window=asked.window, rows=rows)
            else:
                lines = run_spark(place, data, window=asked.window)
            seconds[name].append(time.perf_counter() - began)
            if number == 0:
                results[name] = newest(lines)
            shutil.rmtree(place)
        if number == 0:
            assert results["joinery"] == results["spark"], "the two disagree"
            print(f"{len(results['spark'])} groups agree", flush=True)
        told = ", ".join(f"{name} {times[-1]:.1f} s" for name, times in seconds.items())
        print(f"round {number + 1}: {told}", flush=True)
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    told = ", ".join(f"{name} {each:.1f} s" for name, each in middle.items())
    ratio = middle["spark"] / middle["joinery"]
    print(f"{asked.window}: {told}; joinery is {ratio:.2f} times as fast")


if __name__ == "__main__":
    main()
