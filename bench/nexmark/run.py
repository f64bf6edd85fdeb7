"""Nexmark's queries on Joinery beside Flink SQL, Spark's own and DuckDB: `make nexmark`.

All sides read the same JSON lines, on two cores; Flink and Spark keep their state in RocksDB. What
is timed is one whole run of one query, from the start of its process to its end; DuckDB, which
reads all once and keeps nothing up to date, is asked in this process. In the first round each
answer is compared with DuckDB's, row by row. The sides take turns, query by query and round by
round; the table has medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.compare import report
from bench.compare.contenders import (
    FLINK,
    TIMEOUT_S,
    Contender,
    ContenderError,
    Flink,
    Joinery,
    SparkItself,
    finished,
)
from bench.harness.builds import BENCH, ROOT, Build
from bench.harness.measure import Measured, measure
from bench.nexmark.answers import Oracle, Row, difference, of_flink, of_joinery, of_spark
from bench.nexmark.events import write
from bench.nexmark.queries import QUERIES, Query

PROJECT = BENCH / "nexmark"
PAGE = ROOT / "docs" / "nexmark.md"
FILES = 5
SIDES: Mapping[str, Contender] = {
    "ours": Joinery("ours", Build()),
    "flink": Flink("flink-rocksdb", FLINK[0], "flink_nexmark.py", ("--backend", "rocksdb")),
    "spark": SparkItself("spark", "", "spark_nexmark.py", ()),
}


@dataclass(frozen=True, slots=True)
class Task:
    """One query over events that are written already.

    Attributes:
        events: The folder, and how many there are.
        work: An empty folder for what a run leaves.
    """

    name: str
    query: Query
    events: Path
    total: int
    work: Path

    def sql(self, side: str) -> str:
        """Write the query for a side; return the file's path."""
        file = self.work / "query.sql"
        file.write_text(self.query.told(side), encoding="utf-8")
        return str(file)


class Refused(Exception):
    """A side does not take a query, with its words for why."""


def run(side: str, task: Task, *, told: bool) -> tuple[Measured, Iterable[Row]]:
    """Run a query once.

    Args:
        side: One of `SIDES`.
        task: The query.
        told: Whether the rows are wanted, for which Flink, whose sink swallows them, runs again.

    Raises:
        Refused: The side does not take the query.
        ContenderError: It did not come to its end.
    """
    if why := task.query.why_not.get(side):
        raise Refused(why)
    try:
        return _run(SIDES[side], task, told=told)
    except ContenderError as error:
        _, refused, why = str(error).partition("refused: ")
        raise (Refused(why.splitlines()[0]) if refused else error) from None


def _run(side: Contender, task: Task, *, told: bool) -> tuple[Measured, Iterable[Row]]:
    match side:
        case Joinery():
            measured = _joinery(side, task)
            return measured, of_joinery(task.work / task.name, ranked=task.query.ranked)
        case SparkItself():
            mode = "update" if task.query.keys else "append"
            options = ("--work", str(task.work), "--sql", task.sql("spark"), "--mode", mode)
            measured, _ = side.start(task.events, task.work, *options)
            return measured, of_spark(task.work / "answer", keys=task.query.keys)
        case Flink():
            options = ("--work", str(task.work), "--sql", task.sql("flink"))
            measured, _ = side.start(task.events, task.work, *options)
            if told:
                side.start(task.events, task.work, *options, "--print")
            return measured, of_flink(task.work / f"{side.name}.log")
        case _:
            raise ContenderError(f"{side.name} has no Nexmark")


def _joinery(side: Joinery, task: Task) -> Measured:
    command = [str(side.build.joinery), "run", str(PROJECT), "--once", "--master", "local[2]"]
    command += [f"--product={each}" for each in (task.name, *task.query.products)]
    command += [f"--set=run.max_rows_per_batch={-(-task.total // FILES)}", *side.options()]
    env = {**os.environ, "NEXMARK_EVENTS": str(task.events), "NEXMARK_OUT": str(task.work)}
    log = task.work / "joinery.log"
    return finished(measure(command, output=log, cwd=task.work, env=env, timeout_s=TIMEOUT_S), log)


class Bench:
    """Lets sides take turns, and keeps what they told."""

    def __init__(self, sides: Sequence[str], events: int) -> None:
        self.sides, self.total = sides, events
        self.events = write(BENCH / ".data" / f"nexmark-{events}", events, files=FILES)
        self.oracle = Oracle(self.events)
        self.taken: dict[tuple[str, str], list[Measured]] = {}
        self.refused: dict[tuple[str, str], str] = {}
        self.wrong: list[str] = []

    def round(self, name: str, *, compare: bool) -> None:
        """Let each side answer a query once."""
        query = QUERIES[name]
        started = time.monotonic()
        kinds, wanted = self.oracle.rows(query.told("duckdb")) if query.sql else ([], None)
        seconds = time.monotonic() - started
        self.taken.setdefault((name, "duckdb"), []).append(Measured(seconds, 0.0, 0, 0))
        for side in self.sides:
            if side == "duckdb" or (name, side) in self.refused:
                continue
            work = BENCH / ".runs" / f"nexmark-{name}-{side}"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            task = Task(name, query, self.events, self.total, work)
            self._turn(side, task, (kinds, wanted) if compare and wanted is not None else None)
            shutil.rmtree(work, ignore_errors=True)

    def _turn(self, side: str, task: Task, answer: tuple[list[str], Any] | None) -> None:
        told = f"{task.name} {side}"
        try:
            measured, rows = run(side, task, told=answer is not None)
        except Refused as why:
            self.refused[task.name, side] = str(why)
            print(f"{told}: refused: {why}", flush=True)
            return
        except ContenderError as error:
            self.wrong.append(f"{told}: {error}")
            print(self.wrong[-1], flush=True)
            return
        self.taken.setdefault((task.name, side), []).append(measured)
        print(f"{told}: {measured.seconds:.1f} s, {measured.cpu_seconds:.1f} s of CPU", flush=True)
        if answer is not None and (differs := difference(*answer, rows)):
            self.wrong.append(f"{told}: {differs}")
            print(self.wrong[-1], flush=True)

    def median(self, name: str, side: str, figure: str) -> float | None:
        """Return the median of a figure over rounds."""
        taken = self.taken.get((name, side), ())
        return statistics.median(getattr(each, figure) for each in taken) if taken else None


def table(bench: Bench, names: Sequence[str]) -> list[str]:
    """Return the table, a query a line, and why some sides refuse some queries."""
    peers = [each for each in bench.sides if each not in ("ours", "duckdb")]
    shown = [*(each for each in ("ours", *peers) if each in bench.sides), "duckdb"]
    head = ["query", "asks", *(f"{side}, s" for side in shown)]
    head += [f"× {side}" for side in peers] + ["events/s", "CPU s", "MB"]
    lines = [report.line(head), report.line(["---", "---", *["---:"] * (len(head) - 2)])]
    for name in names:
        ours = bench.median(name, "ours", "seconds")
        cells = [name, QUERIES[name].title, *(_cell(bench, name, side) for side in shown)]
        cells += [_times(ours, bench.median(name, side, "seconds")) for side in peers]
        cells.append(report.shown(round(bench.total / ours) if ours else None))
        cells.append(report.shown(bench.median(name, "ours", "cpu_seconds")))
        size = bench.median(name, "ours", "peak_bytes")
        cells.append(report.shown(round(size / 1e6) if size else None))
        lines.append(report.line(cells))
    why = [f"- {name}, {side}: {told}" for (name, side), told in bench.refused.items()]
    return [*lines, "", *why]


def _cell(bench: Bench, name: str, side: str) -> str:
    seconds = bench.median(name, side, "seconds")
    return "refused" if (name, side) in bench.refused else report.shown(seconds)


def _times(ours: float | None, other: float | None) -> str:
    return f"{other / ours:.2f}" if ours and other else ""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.nexmark.run", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--queries", type=lambda told: told.split(","), default=list(QUERIES))
    parser.add_argument(
        "--sides", type=lambda told: told.split(","), default=["ours", "flink", "spark", "duckdb"]
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-compare", action="store_true")
    parser.add_argument("--write", action="store_true", help="write docs/nexmark.md")
    chosen = parser.parse_args()
    for told, known in ((chosen.queries, QUERIES), (chosen.sides, {*SIDES, "duckdb"})):
        if odd := [each for each in told if each not in known]:
            parser.error(f"no {', '.join(odd)}; there are {', '.join(known)}")
    return chosen


def main() -> int:
    """Let the sides take turns; print the table, and write it into its page where asked to."""
    chosen = arguments()
    used = [SIDES[each] for each in chosen.sides if each in SIDES]
    for each in used:
        each.install()
    bench = Bench(chosen.sides, chosen.events)
    for number in range(chosen.rounds):
        for name in chosen.queries:
            bench.round(name, compare=number == 0 and not chosen.no_compare)
    machine = report.machine([each.version() for each in used])
    where = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB"
    measured = f"{chosen.events:,} events, {chosen.rounds} rounds, on {where}"
    versions = "; ".join(machine["versions"])
    text = "\n".join([f"{measured}; {versions}.", "", *table(bench, chosen.queries), ""])
    (BENCH / ".runs").mkdir(exist_ok=True)
    (BENCH / ".runs" / "nexmark.md").write_text(text, encoding="utf-8")
    if chosen.write:
        report.into_page(PAGE, text)
    print(f"\n{text}")
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
