"""Forms beside Spark's own and Flink SQL: `interval`, `pattern-…`, `timeline`, `temporal`, `fold`.

All sides read the same JSON lines on two cores, with RocksDB as the state store. What is timed is
one whole run, from the start of its process to its end. In the first round all answers are
compared with a plain computation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.compare.contenders import (
    TIMEOUT_S,
    Contender,
    ContenderError,
    EventSourcing,
    Flink,
    Joinery,
    SparkItself,
    batches_of,
    finished,
)
from bench.compare.form_events import BLOCK, FILES, Answers, Kind, Printed
from bench.compare.form_events import KINDS as JOINS_AND_FOLDS
from bench.compare.interval_events import KINDS as INTERVALS_AND_PATTERNS
from bench.harness.builds import BENCH
from bench.harness.figures import steady_rate
from bench.harness.measure import Measured, measure
from joinery.dev.postgres import postgres

KINDS = {**INTERVALS_AND_PATTERNS, **JOINS_AND_FOLDS}
Document = tuple[Any, Mapping[str, Any] | None]
PROJECT = """\
name: forms
sources: {{changes: {{files: {{path: "{data}"}}}}}}
defaults: {{source: changes, format: json}}
relations:
{relations}
products:
  answers: {{{product}, sink: {{files: {{path: "{out}"}}}}}}
run: {{checkpoint: "{out}/checkpoint", max_rows_per_batch: {rows}}}
"""


def write(folder: Path, kind: Kind, rows: int) -> Path:
    """Write the rows once, in as many files as there may be batches."""
    if (folder / ".ready").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for number, file in enumerate(kind.made(rows)):
        for relation, lines in file.items():
            path = folder / relation / f"{number:04d}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(lines), encoding="utf-8")
    (folder / ".ready").touch()
    return folder


def run(side: Contender, name: str, *, scale: float, work: Path, compare: bool) -> dict[str, Any]:
    """Let a side read all events; return its figures, once its answers were compared.

    Raises:
        ContenderError: It did not come to its end, or its answers are wrong.
    """
    rows = max(2 * BLOCK, int(1_000_000 * scale))
    data = write(BENCH / ".data" / f"forms-{name}-{rows}", KINDS[name], rows)
    if isinstance(side, EventSourcing):
        return _event_sourced(side, name, data, work, rows, compare=compare)
    measured, answers = _run(side, name, data, work, rows, printed=False)
    if compare:
        if isinstance(side, Flink):
            _, answers = _run(side, name, data, work, rows, printed=True)
        same(KINDS[name].expected(rows), answers)
    steady = steady_rate(batches_of(work / "joinery.log")) if isinstance(side, Joinery) else None
    return {
        "seconds": round(measured.seconds, 2),
        "rate": round(rows / measured.seconds),
        "cpu_s": round(measured.cpu_seconds, 1),
        "peak_mb": round(measured.peak_bytes / 1e6),
    } | ({"steady": round(steady)} if steady else {})


def _run(
    side: Contender, name: str, data: Path, work: Path, rows: int, *, printed: bool
) -> tuple[Measured, Answers]:
    kind = KINDS[name]
    match side:
        case Joinery():
            project = work / "joinery.yaml"
            text = PROJECT.format(
                data=data,
                out=work,
                relations=kind.relations,
                product=kind.product,
                rows=-(-rows // FILES) if kind.batches == "by file" else "auto",
            )
            project.write_text(text, encoding="utf-8")
            command = [str(side.build.joinery), "run", str(project), "--once", "--until-closed"]
            command += ["--master", "local[2]", *side.options()]
            log = work / "joinery.log"
            measured = measure(
                command, output=log, cwd=work, env=dict(os.environ), timeout_s=TIMEOUT_S
            )
            finished(measured, log)
            return measured, answers_of(kind, _documents((work / "answers").glob("*.jsonl")))
        case SparkItself():
            spark = replace(side, script="spark_intervals.py")
            measured, _ = spark.start(data, work, "--work", str(work))
            return measured, _counted((work / "pairs").rglob("part-*.json"))
        case Flink():
            flink = replace(side, script="flink_forms.py")
            more = ("--print",) if printed else ()
            whole = _in_one_file(data, work / "input")
            measured, _ = flink.start(whole, work, "--work", str(work), "--kind", name, *more)
            return measured, kind.printed(_changelog(work / f"{side.name}.log")) if printed else {}
        case _:
            raise ContenderError(f"{side.name} has none of it")


def _event_sourced(
    side: EventSourcing, name: str, data: Path, work: Path, rows: int, *, compare: bool
) -> dict[str, Any]:
    """Let the package read accounts, untimed until their events are in PostgreSQL."""
    if name != "fold":
        raise ContenderError(f"{side.name} has none of it")
    with postgres(work / "postgres").started() as server:
        address = ("--url", server.address)
        measured, told = side.start(data, work, "--work", str(work), *address)
    if compare:
        same(KINDS[name].expected(rows), _states(work.glob("states-*.jsonl")))
    return {
        "seconds": told["seconds"],
        "steady": round(rows / told["seconds"]),
        "cpu_s": told["cpu_s"],
        "peak_mb": round(measured.peak_bytes / 1e6),
        "written_s": told["written_s"],
    }


def _states(files: Iterable[Path]) -> Answers:
    found: Answers = {}
    for path in files:
        with path.open(encoding="utf-8") as lines:
            for account, balance, last in map(json.loads, lines):
                found[account] = (balance, last)
    return found


def _in_one_file(data: Path, folder: Path) -> Path:
    """Put the files of each relation behind one another, which Flink reads in no order."""
    for relation in (each for each in data.iterdir() if each.is_dir()):
        path = folder / relation.name / "all.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            for each in sorted(relation.glob("*.jsonl")):
                out.write(each.read_bytes())
    return folder


def answers_of(kind: Kind, documents: Iterable[Document]) -> Answers:
    """Return the newest answer of each row; one that is taken back is none."""
    newest = dict(documents)
    told = (kind.told(value) for value in newest.values() if value is not None)
    return {row: answer for row, answer in told if answer != ()}


def _documents(files: Iterable[Path]) -> Iterator[Document]:
    for path in sorted(files):
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                yield json.dumps(line["key"]), line["value"]


def _counted(files: Iterable[Path]) -> Answers:
    """Count the pairs of each search; one without a click stands alone."""
    found: Answers = {}
    for path in files:
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                found[line["id"]] = found.get(line["id"], 0) + ("click" in line)
    return found


_PRINTED = re.compile(r"^(?:\d+> )?([+-][IUD])\[(\d+), (\d+|null)\]$")


def _changelog(file: Path) -> Iterator[Printed]:
    """Return what Flink's connector `print` told."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if told := _PRINTED.match(line.strip()):
                yield told[1], int(told[2]), None if told[3] == "null" else int(told[3])


def same(wanted: Answers, found: Answers) -> None:
    """Refuse answers that differ."""
    wrong = [key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key)]
    if wrong:
        key = min(wrong)
        raise ContenderError(
            f"{len(wrong)} answers are wrong, such as that of {key}:"
            f" wanted {wanted.get(key)}, found {found.get(key)}"
        )
