"""Measures Joinery beside a commit of it and its peers, in turns: `make bench ROWS="kafka once"`.

The sides of a row take turns, round by round, on the same machine and the same bytes; medians are
told, and how many times as fast this checkout is. Machines differ, and one machine on two days, so
beside the tables stands how long the base commit's UserProfile took in the same sitting.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.compare import profile_parts, report
from bench.compare.contenders import PEERS, Contender, ContenderError, Joinery
from bench.compare.rows import ROWS, Row, Told, Turn
from bench.harness.builds import BENCH, Build, commit_named

RUNS = BENCH / ".runs"
BASE = "64b2a0d"
SPEED = "user-profile"


class Bench:
    """Lets sides take turns, and keeps what they told."""

    def __init__(self, sides: dict[str, Contender], *, rounds: int, scale: float) -> None:
        self.sides, self.rounds, self.scale = sides, rounds, scale
        self.results: list[report.Result] = []

    def row(self, row: Row, names: Sequence[str], *, rounds: int, compare: bool) -> None:
        """Run a row, all sides a round."""
        told: dict[str, list[Told]] = {name: [] for name in names}
        failed: dict[str, str] = {}
        for number in range(rounds):
            for name in names:
                if name in failed:
                    continue
                try:
                    turn = self._turn(row, name, compare=compare and number == 0)
                    told[name].append(turn)
                except ContenderError as error:
                    failed[name] = str(error)
                    say(f"  {name}: {error}")
        self.results.append(report.Result(row, told, failed))

    def _turn(self, row: Row, name: str, *, compare: bool) -> Told:
        work = RUNS / f"{row.name}-{name}"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        told = row.measure(Turn(self.sides[name], work, self.scale, compare))
        shown = (f"{each.title} {told[each.key]}" for each in row.figures if each.key in told)
        say(f"  {name}: {'; '.join(shown)}")
        for recording in sorted(work.rglob("*.jfr")):
            if not written(recording):
                say("  the run left no recording")
                continue
            kept = RUNS / f"{row.name}-{name}.jfr"
            shutil.move(recording, kept)
            say(profile_parts.table(profile_parts.samples(kept)))
        shutil.rmtree(work, ignore_errors=True)
        return told


def written(recording: Path, patience_s: float = 30.0) -> bool:
    """Wait until Java, which may outlive the run, has written its recording."""
    size, end = 0, time.monotonic() + patience_s
    while time.monotonic() < end:
        time.sleep(1.0)
        before, size = size, recording.stat().st_size
        if before == size > 0:
            return True
    return False


def say(line: str) -> None:
    """Tell how it goes."""
    print(line, flush=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare.run", description=__doc__)
    parser.add_argument("--rows", type=str.split, default=[SPEED], help=" ".join(ROWS))
    parser.add_argument("--sides", type=str.split, help=f"ours, base, a commit, {', '.join(PEERS)}")
    parser.add_argument("--base", default=BASE, help="the commit that is measured beside")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="shrinks every row, for a try")
    parser.add_argument("--set", type=shlex.split, default=[], help="makes the side `set`: k=v")
    parser.add_argument("--profile", action="store_true", help="where this checkout's time goes")
    parser.add_argument("--no-compare", action="store_true")
    parser.add_argument("--no-speed", action="store_true", help="leave the machine's speed out")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args()


def sides(chosen: argparse.Namespace) -> dict[str, Contender]:
    """Return who can take turns, by name."""
    recorded = (profile_parts.SETTING,) if chosen.profile else ()
    commits = [each for each in chosen.sides or () if each not in {"ours", "base", "set", *PEERS}]
    return {
        **{each: Joinery(each, Build(commit_named(each))) for each in commits},
        "ours": Joinery("ours", Build(), recorded),
        "base": Joinery("base", Build(commit_named(chosen.base))),
        "set": Joinery("set", Build(), (*chosen.set, *recorded)),
        **PEERS,
    }


def names_of(row: Row, chosen: argparse.Namespace) -> list[str]:
    """Return who takes turns in a row."""
    names = list(chosen.sides or row.sides)
    return [*names, "set"] if chosen.set and "set" not in names else names


def main() -> int:
    """Run what was chosen; write results.json and results.md."""
    chosen = arguments()
    if odd := [each for each in chosen.rows if each not in ROWS]:
        raise SystemExit(f"no row {', '.join(odd)}; there are {', '.join(ROWS)}")
    known = sides(chosen)
    rows = [(ROWS[name], names_of(ROWS[name], chosen)) for name in chosen.rows]
    used = list(dict.fromkeys(name for _, names in rows for name in names))
    if not chosen.no_speed:
        used = list(dict.fromkeys([*used, "base"]))
    for name in used:
        known[name].install()
    bench = Bench(known, rounds=chosen.rounds, scale=chosen.scale)
    if not chosen.no_speed and not any(
        row.name == SPEED and "base" in names for row, names in rows
    ):
        bench.row(ROWS[SPEED], ["base"], rounds=1, compare=False)
    for row, names in rows:
        say(row.name)
        bench.row(row, names, rounds=chosen.rounds, compare=not chosen.no_compare)
    return finish(bench.results, [known[name] for name in used], write=chosen.write)


def finish(results: Sequence[report.Result], used: Sequence[Contender], *, write: bool) -> int:
    """Write the results and print the tables."""
    machine = report.machine([each.version() for each in used])
    RUNS.mkdir(parents=True, exist_ok=True)
    text = report.markdown(machine, results)
    kept: dict[str, Any] = {"machine": machine}
    kept["results"] = [
        {"row": each.row.name, "told": each.told, "failed": each.failed} for each in results
    ]
    (RUNS / "results.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")
    (RUNS / "results.md").write_text(text, encoding="utf-8")
    if write:
        report.into_page(Path(BENCH.parent, "docs", "benchmarks.md"), text)
    say("\n" + text)
    return 1 if any(each.failed for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
