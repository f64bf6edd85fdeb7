"""Measures batches that close windows beside others that do not: `python -m bench.parts.closing`.

A million windows wait for the watermark, each of a card of its own. Then batches of equal size take
turns: in every second one the watermark reaches the end of a hundred other windows.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import joinery as jn
from joinery.model.batch import BatchProgress
from joinery.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
PROJECT = """\
name: closing
sources: {{changes: {{files: {{path: "{data}"}}}}}}
relations:
  payment:
    append: true
    fields: {{card: long, at: timestamp, amount: long}}
    time: at
    watermark: {{delay: 1d}}
products:
  totals:
    aggregate: payment
    by: [card]
    window: {{tumbling: 1h}}
    values: {{n: count(*), total: sum(amount)}}
    emit: {{when: closed}}
    sink: {{files: {{path: "{out}"}}}}
run: {{checkpoint: "{out}/checkpoint", max_rows_per_batch: {rows}}}
"""
DUE = 100
DELAY_H = 24


def write(file: Path, rows: Iterable[tuple[int, float]]) -> None:
    """Write a row for each card and hour."""
    with file.open("w", encoding="utf-8") as out:
        for card, hour in rows:
            at = (START + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")
            out.write(f'{{"card":{card},"at":"{at}","amount":{card % 1000}}}\n')


def generate(topic: Path, *, alive: int, pairs: int, rows: int) -> None:
    """Write the windows that wait, then batches of which every second one closes some."""
    topic.mkdir(parents=True)
    first = [(card, hour + 0.5) for hour in range(pairs) for card in range(DUE)]
    write(topic / "000.jsonl", [*first, *((card, float(DELAY_H)) for card in range(alive))])
    dice = random.Random(1)
    for number in range(2 * pairs):
        hour = DELAY_H + (number + 1) // 2
        cards = (dice.randrange(alive) for _ in range(rows))
        write(topic / f"{number + 1:03d}.jsonl", [(card, float(hour)) for card in cards])


def run(spark: SparkSession, work: Path, data: Path, *, rows: int) -> list[BatchProgress]:
    """Read what there is in batches of a given number of rows."""
    file = work / "joinery.yaml"
    file.write_text(PROJECT.format(data=data, out=work / "out", rows=rows), encoding="utf-8")
    batches: list[BatchProgress] = []
    jn.run(spark, jn.load(file), once=True, on_batch=batches.append).await_termination()
    return batches


def main() -> None:
    """Print the median of both kinds of batches."""
    parser = argparse.ArgumentParser(prog="python -m bench.parts.closing", description=__doc__)
    parser.add_argument("--alive", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--work", type=Path, default=Path(".joinery/bench-closing"))
    asked = parser.parse_args()
    shutil.rmtree(asked.work, ignore_errors=True)
    data = (asked.work / "data").absolute()
    generate(data / "payment", alive=asked.alive, pairs=asked.pairs, rows=asked.rows)
    later = asked.work / "later"
    later.mkdir()
    files = sorted((data / "payment").glob("*.jsonl"))[1:]
    for file in files:
        file.rename(later / file.name)
    work = asked.work.absolute()
    spark = open_session("closing", log=work / "spark.log", master="local[2]")
    loaded = run(spark, work, data, rows=10 * asked.alive)
    print(f"{asked.alive} windows wait, after {sum(each.seconds for each in loaded):.1f} s")
    for file in files:
        (later / file.name).rename(file)
    batches = run(spark, work, data, rows=asked.rows)[2:]  # the first two warm up
    told = {"closing": 0, "others": 0}
    seconds: dict[str, list[float]] = {each: [] for each in told}
    for each in batches:
        closed = each.documents.get("totals", {}).get("upserts", 0)
        kind = "closing" if closed else "others"
        told[kind] += closed
        seconds[kind].append(each.seconds)
    for kind, taken in seconds.items():
        print(
            f"{kind}: {len(taken)} batches, median {statistics.median(taken):.3f} s, {told[kind]}"
        )
    ratio = statistics.median(seconds["closing"]) / statistics.median(seconds["others"])
    print(f"ratio {ratio:.2f}")
    spark.stop()


if __name__ == "__main__":
    main()
