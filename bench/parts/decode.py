"""Measures decoding alone: `python -m bench.parts.decode`.

Counted is what a run does before its join state: the lines of UserProfile's `debezium-json`
files are found and read, decoded to rows of all columns, and each change is given on as one
message; a sink that swallows them stands at the end. No join, no state, no document. One
process on all cores of this machine; the first rounds warm it up, and are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.compare import workloads
from bench.harness.builds import BENCH
from bench.harness.measure import TICKS_PER_S, Tree
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.spark.session import open_session
from joinery.spark.source.feed import open_change_feed
from joinery.spark.source.open import open_sources
from joinery.spark.source.source import sources_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def decoded(spark: SparkSession, rows_per_batch: int) -> DataFrame:
    """Return the stream of all changes of UserProfile's files, as the kernel hands them on."""
    spec = load_spec(BENCH / "compare" / "profile.yaml")
    spec = replace(spec, run=replace(spec.run, max_rows_per_batch=rows_per_batch))
    products = build_plan(spec).products
    relations = tuple(dict.fromkeys(each for one in products for each in one.relations))
    feed = open_change_feed(spark, relations)
    raw = open_sources(spark, spec, sources_of(spec, products))
    return feed.chain(raw.frame, raw.topics)


def measured(frame: DataFrame, checkpoint: Path) -> dict[str, Any]:
    """Decode all changes once, and return what it took, the query's start included."""
    cpu, started = processor_seconds(), time.monotonic()
    writer = frame.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    seconds, cpu = time.monotonic() - started, processor_seconds() - cpu
    rows = sum(each.numInputRows for each in query.recentProgress)
    return {
        "changes": rows,
        "seconds": round(seconds, 2),
        "processor_seconds": round(cpu, 2),
        "changes_per_second": round(rows / seconds),
        "changes_per_processor_second": round(rows / cpu),
    }


def processor_seconds() -> float:
    """Return what this process and its JVM have used so far."""
    tree = Tree(os.getpid())
    tree.sample()
    return sum(tree.cpu_ticks.values()) / TICKS_PER_S


def main() -> int:
    """Measure some rounds and print a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.parts.decode", description=__doc__)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=200_000, help="rows a batch, as a run has it")
    parser.add_argument("--rounds", type=int, default=6)
    chosen = parser.parse_args()
    workload = workloads.profile(f"profile-{chosen.changes}", chosen.changes)
    folder = workloads.write(workload, BENCH / ".data", "debezium-json")[0]
    size = sum(each.stat().st_size for each in folder.rglob("*.jsonl"))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"BENCH_CHANGES": str(folder), "BENCH_WORK": scratch}
        spark = open_session("decode", log=Path(scratch, "spark.log"))
        frame = decoded(spark, chosen.batch)
        rounds = [measured(frame, Path(scratch, f"{each}")) for each in range(chosen.rounds)]
        spark.stop()
    told = {"bytes_a_change": size // chosen.changes, "rounds": rounds}
    print(json.dumps({**told, "load": os.getloadavg()[0]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
