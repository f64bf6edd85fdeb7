"""Measures small batches beside many waiting events: `python -m bench.streams.open_events`.

Sales look up the price that was valid at their time (`as_of: event`). A number of them is read
first and stays open, since the prices end before. Then come batches of new sales with one
version of a price, which moves the watermark past as many sales as are new: each batch opens
and answers that many. What is told is how long those batches take. They should take the same
however many sales are open.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness.builds import BENCH

SKUS = 1_000
START_US = 1_700_000_000_000_000
SECOND_US = 1_000_000
PROJECT = """\
name: open
sources: {log: {files: {path: "${BENCH_WORK}/in"}}}
defaults: {source: log, format: json}
relations:
  sales: {append: true, key: [id], time: at, fields: {id: long, sku: long, at: timestamp}}
  prices: {key: [sku], time: since, fields: {sku: long, price: long, since: timestamp}}
streams:
  priced:
    from: sales
    steps: [{lookup: prices, on: [sku], as_of: event, late: LATE}]
    sink: {files: {path: "${BENCH_WORK}/out"}}
run:
  checkpoint: "${BENCH_WORK}/checkpoint"
  max_rows_per_batch: 200000
"""


def put(folder: Path, topic: str, number: int, rows: Iterator[dict[str, int]]) -> None:
    """Write a file of a topic, and rename it into place."""
    place = folder / "in" / topic
    place.mkdir(parents=True, exist_ok=True)
    part = folder / f".{topic}.part"
    with part.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    part.rename(place / f"{number:06d}.jsonl")


def sales(first: int, count: int, a_second: int) -> Iterator[dict[str, int]]:
    """Yield sales in the order of their times."""
    for number in range(first, first + count):
        at = START_US + number * SECOND_US // a_second
        yield {"id": number, "sku": number * 7919 % SKUS, "at": at}


def batches(log: Path) -> list[dict[str, Any]]:
    """Return the batches that a run told of so far."""
    lines = log.read_text(errors="replace").splitlines()
    told = [json.loads(each) for each in lines if each.startswith("{") and each.endswith("}")]
    return [each for each in told if each.get("rows") and "seconds" in each]


def wait(log: Path, process: subprocess.Popen[bytes], rows: int) -> list[dict[str, Any]]:
    """Wait until a run has read a number of rows, and return its batches."""
    while True:
        done = batches(log)
        if sum(each["rows"] for each in done) >= rows:
            return done
        if process.poll() is not None:
            raise SystemExit(log.read_text(errors="replace")[-2000:])
        time.sleep(0.02)


def measure(work: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Open the sales, then time batch after batch."""
    project = work / "joinery.yaml"
    project.write_text(PROJECT.replace("LATE", chosen.late), encoding="utf-8")
    before = START_US - SECOND_US
    put(work, "prices", 0, ({"sku": n, "price": n, "since": before} for n in range(SKUS)))
    put(work, "sales", 0, sales(0, chosen.open, chosen.batch))
    command = [sys.executable, "-m", "joinery.cli.main", "run", str(project), *chosen.set]
    env = {**os.environ, "BENCH_WORK": str(work)}
    log, read = work / "run.log", SKUS + chosen.open
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    try:
        seen, timed = len(wait(log, process, read)), list[float]()
        for step in range(1, chosen.batches + 1):
            first = chosen.open + (step - 1) * chosen.batch
            put(work, "sales", step, sales(first, chosen.batch, chosen.batch))
            since = START_US + step * SECOND_US
            put(work, "prices", step, iter([{"sku": 0, "price": step, "since": since}]))
            read += chosen.batch + 1
            done = wait(log, process, read)
            # The two files may be found one after the other.
            timed.append(sum(each["seconds"] for each in done[seen:]))
            seen = len(done)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
    timed = timed[chosen.batches // 3 :]
    return {
        "open": chosen.open,
        "late": chosen.late,
        "timed": len(timed),
        "median_s": round(statistics.median(timed), 3),
        "least_s": round(min(timed), 3),
        "most_s": round(max(timed), 3),
        "load_average": os.getloadavg()[0],
    }


def main() -> int:
    """Measure and print a JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.streams.open_events", description=__doc__
    )
    parser.add_argument("--open", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--late", choices=("hold", "correct"), default="hold")
    parser.add_argument("--set", action="append", default=[], type=lambda each: f"--set={each}")
    chosen = parser.parse_args()
    work = BENCH / ".runs" / f"open-{chosen.open}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    print(json.dumps(measure(work, chosen), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
