"""Measures Joinery beside its peers on the same bytes: `make bench`.

Contenders take turns, round by round, on the same machine and the same files. Each one's
documents are compared with a plain computation before its figures count.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import expected
import figures
import report
import workloads
from contenders import BENCH, CONTENDERS, Contender, ContenderError, Joinery, Run
from workloads import Workload

DATA = BENCH / ".data"
RUNS = BENCH / ".runs"
COMPARED_UP_TO = 2_000_000


def catalogue(scale: float) -> dict[str, Workload]:
    """Return all workloads by name; `scale` shrinks them for a try."""

    def sized(changes: int) -> int:
        return max(200, int(changes * scale))

    found = (
        workloads.profile("profile-1m", sized(1_000_000)),
        workloads.profile("profile-10m", sized(10_000_000)),
        workloads.updates(sized(300_000), sized(1_000_000)),
        workloads.hot_key(sized(500_000), sized(1_000)),
        workloads.small_batches(sized(1_000_000), 60),
    )
    return {each.name: each for each in found}


class Bench:
    """Runs workloads and collects what was measured."""

    def __init__(self, *, scale: float, rounds: int, compare: bool) -> None:
        self.scale, self.rounds, self.compare = scale, rounds, compare
        self.results: list[dict[str, Any]] = []

    def peers(self, workload: Workload, contenders: Sequence[Contender], format: str) -> None:
        """Let all contenders read the whole workload at once, in turns."""
        changes = workloads.joined(workloads.write(workload, self._data(), format))
        runs: dict[str, list[Run]] = defaultdict(list)
        failed: dict[str, str] = {}
        for number in range(self.rounds):
            for contender in contenders:
                if contender.name in failed:
                    continue
                try:
                    runs[contender.name].append(
                        self._turn(contender, workload, changes, format, first=number == 0)
                    )
                except ContenderError as error:
                    failed[contender.name] = str(error)
                    say(f"  {contender.name}: {error}")
        for contender in contenders:
            told = figures.whole_run(workload.changes, runs[contender.name])
            self.keep(workload, contender.name, format, told, failed.get(contender.name, ""))

    def _turn(
        self, contender: Contender, workload: Workload, changes: Path, format: str, *, first: bool
    ) -> Run:
        work = self._work(workload, contender.name)
        run = contender.run(changes, total=workload.changes, format=format, work=work)
        seconds = run.facts["seconds"]
        say(
            f"  {workload.name} {format} {contender.name}: {seconds:.1f} s,"
            f" {workload.changes / seconds:,.0f} changes/s,"
            f" {run.measured.cpu_seconds:.0f} s of processors,"
            f" {run.measured.peak_bytes / 2**30:.2f} GiB"
        )
        if first and self.compare and workload.changes <= COMPARED_UP_TO:
            found = contender.profiles(changes, total=workload.changes, work=work)
            if wrong := expected.difference(expected.expected_profiles(changes), found):
                raise ContenderError(f"wrong documents: {wrong}")
            say(f"  {contender.name}: {len(found):,} documents as expected")
        shutil.rmtree(work)
        return run

    def phases(self, workload: Workload, format: str) -> None:
        """Let Joinery read phase after phase, and tell each phase's batches."""
        joinery, work = Joinery(), self._work(workload, "phases")
        changes = work / "changes"
        for phase, folder in zip(
            workload.phases, workloads.write(workload, self._data(), format), strict=True
        ):
            link(folder, changes)
            run = joinery.run(
                changes,
                total=phase.changes,
                format=format,
                work=work,
                project=workload.project,
                settings=[f"run.max_rows_per_batch={phase.batch}"] if phase.batch else [],
            )
            told = figures.batches(run.batches)
            say(f"  {workload.name} {phase.name}: {told}")
            self.keep(workload, "joinery", format, told, "", phase=phase.name)
        shutil.rmtree(work)

    def fanout(self) -> None:
        """Many parents under one join value: one child more at a time."""
        size = {
            "parents": 1000,
            "children": max(1000, int(100_000 * self.scale)),
            "more": max(8, int(30 * self.scale)),
        }
        workload = Workload("fan-out", "{parents:,} × {children:,}, limit 10".format(**size), ())
        work = self._work(workload, "phases")
        folders = workloads.write_fanout(work / "phases", **size)
        for folder, batch in zip(folders, (None, 1), strict=True):
            link(folder, work / "changes")
            run = Joinery().run(
                work / "changes",
                total=0,
                format="json",
                work=work,
                project="fanout.yaml",
                settings=[f"run.max_rows_per_batch={batch}"] if batch else [],
            )
            told = figures.batches(run.batches)
            say(f"  fan-out {folder.name}: {told}")
            self.keep(workload, "joinery", "json", told, "", phase=folder.name)
        shutil.rmtree(work)

    def keep(
        self,
        workload: Workload,
        contender: str,
        format: str,
        told: dict[str, Any],
        failed: str,
        *,
        phase: str = "",
    ) -> None:
        """Add one row of results."""
        row = {"workload": workload.name, "title": workload.title, "phase": phase}
        row |= {"contender": contender, "format": format, "failed": failed}
        self.results.append(row | told)

    def _data(self) -> Path:
        return DATA / f"scale-{self.scale:g}"

    def _work(self, workload: Workload, name: str) -> Path:
        work = RUNS / f"{workload.name}-{name}"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        return work


def link(folder: Path, target: Path) -> None:
    """Put a phase's files beside those of the phases before."""
    for path in folder.glob("*/*.jsonl"):
        (target / path.parent.name).mkdir(parents=True, exist_ok=True)
        (target / path.parent.name / path.name).hardlink_to(path)


def say(line: str) -> None:
    """Tell how it goes."""
    print(line, flush=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--workload", action="append", help="default: all; also fan-out")
    parser.add_argument("--contender", action="append", choices=sorted(CONTENDERS))
    parser.add_argument("--format", action="append", choices=("debezium-json", "json"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="shrinks every workload")
    parser.add_argument("--no-compare", action="store_true")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args()


def main() -> int:
    """Run what was chosen; write results.json and results.md."""
    chosen = arguments()
    known = catalogue(chosen.scale)
    contenders = [CONTENDERS[name] for name in chosen.contender or CONTENDERS]
    for contender in contenders:
        contender.install()
    bench = Bench(scale=chosen.scale, rounds=chosen.rounds, compare=not chosen.no_compare)
    for name in chosen.workload or [*known, "fan-out"]:
        say(name)
        if name == "fan-out":
            bench.fanout()
            continue
        workload = known[name]
        for format in chosen.format or ("debezium-json",):
            turns = contenders if workload.peers else []
            readers = [each for each in turns if format != "json" or each.name == "joinery"]
            if readers:
                bench.peers(workload, readers, format)
            if len(workload.phases) > 1 and any(each.name == "joinery" for each in contenders):
                bench.phases(workload, format)
    return finish(bench.results, contenders, write=chosen.write)


def finish(results: list[dict[str, Any]], contenders: Sequence[Contender], *, write: bool) -> int:
    """Write the results and print the table."""
    machine = report.machine([each.version() for each in contenders])
    RUNS.mkdir(parents=True, exist_ok=True)
    text = report.markdown(machine, results)
    (RUNS / "results.json").write_text(
        json.dumps({"machine": machine, "results": results}, indent=1), encoding="utf-8"
    )
    (RUNS / "results.md").write_text(text, encoding="utf-8")
    if write:
        report.into_page(BENCH.parent / "docs" / "benchmarks.md", text)
    say("\n" + text)
    return 1 if any(row["failed"] for row in results) else 0


if __name__ == "__main__":
    sys.exit(main())
