"""Some of the fleet's products beside Flink SQL: what they take, and how soon they are back.

`python -m bench.fleet.flink [--changes 200000] [--products 20]` has Joinery keep the products in
one group, and Flink as one job with a statement for each, over the same records; with `--jobs each`
as a job for each. Every document of both is compared with DuckDB's (Flink's in a run of its own
that prints them, and without the order of their lists). Then Flink, as one job, is killed while it
prints, and begins again from its newest checkpoint.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.compare.contenders import FLINK, Flink
from bench.fleet.flink_printed import printed, wrong
from bench.fleet.flink_sql import query, table
from bench.fleet.run import DATA, WORK, Bench, compare, emptied, relation_of, say, tell_run
from bench.fleet.shape import Fleet, make_fleet
from bench.harness.builds import BENCH

PEER = Flink("flink-rocksdb", FLINK[0], "flink_fleet.py", ("--backend", "rocksdb"))
INTERVAL = "--set=execution.checkpointing.interval=10 s"
RETAINED = "--set=execution.checkpointing.num-retained=3"  # of one alone, no second is ever seen


def statements(fleet: Fleet, data: Path, work: Path) -> Path:
    """Write tables and queries into a file, and each log as one file; return the former.

    Flink reads several files of a table in no order.
    """
    for each in fleet.relations:
        folder = work / "data" / each.name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "all.jsonl").open("wb") as out:
            for part in sorted((data / each.name).glob("*.jsonl")):
                out.write(part.read_bytes())
    told = {
        "tables": [
            table(each, (work / "data" / each.name).absolute().as_uri()) for each in fleet.relations
        ],
        "queries": {each.name: query(each) for each in fleet.products},
    }
    path = work / "statements.json"
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


def flink(path: Path, work: Path, *options: str) -> Path:
    """Run Flink to its end, and tell its cost; return the file of what it printed."""
    measured, told = PEER.start(path, work, "--work", str(work), *options)
    say(
        f"Flink {' '.join(options)}: {told['seconds']:.1f} s, whole {measured.seconds:.1f} s;"
        f" {measured.cpu_seconds:.0f} s of processor time; peak {measured.peak_bytes / 1e9:.2f} GB"
    )
    return work / f"{PEER.name}.log"


def restart_s(path: Path, work: Path) -> float:
    """Kill a run after its second checkpoint, begin again; return the seconds to a document."""
    shutil.rmtree(work / "checkpoints", ignore_errors=True)
    options = ("--work", str(work), "--print", INTERVAL, RETAINED)
    with started(path, work / "killed.log", *options) as run:
        while len(checkpoints(work)) < 2:
            if run.poll() is not None:
                raise SystemExit("Flink ended before its second checkpoint: give it more changes")
            time.sleep(0.2)
    newest = checkpoints(work)[-1].absolute().as_uri()
    begun = time.monotonic()
    log = work / "again.log"
    with started(path, log, *options, "--restore", newest) as run:
        while next(printed(log), None) is None:
            if run.poll() is not None:
                raise SystemExit(log.read_text(errors="replace")[-2000:])
            time.sleep(0.1)
        return time.monotonic() - begun


def checkpoints(work: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    found = (work / "checkpoints").glob("*/chk-*/_metadata")
    return sorted((each.parent for each in found), key=lambda each: each.stat().st_mtime)


@contextmanager
def started(path: Path, log: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start Flink; kill it and all its processes in the end."""
    script = str(BENCH / "peers" / PEER.script)
    command = [str(PEER.python), script, "--input", str(path), *PEER.options, *options]
    with log.open("wb") as out:
        run = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    try:
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.flink", description=__doc__)
    parser.add_argument("--changes", type=int, default=200_000)
    parser.add_argument("--relations", type=int, default=40)
    parser.add_argument("--of", type=int, default=100, help="products of the fleet")
    parser.add_argument("--products", type=int, default=20, help="of them, evenly spread")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--jobs", choices=("one", "each"), default="one")
    parser.add_argument("--only", choices=("ours", "flink"))
    return parser.parse_args()


def main() -> int:
    """Measure; return how many products were wrong."""
    chosen = arguments()
    whole = make_fleet(chosen.seed, relations=chosen.relations, products=chosen.of)
    apart = max(1, chosen.of // chosen.products)
    fleet = whole.alone(*whole.products[::apart][: chosen.products])
    with emptied(whole, topics=False) as log:
        bench = Bench(whole, log, changes=chosen.changes, settings=[])
        bench.write()
        bad = 0
        if chosen.only != "ours":
            bad += theirs(fleet, chosen.jobs)
        if chosen.only != "flink":
            bad += ours(bench, fleet)
        return bad


def ours(bench: Bench, fleet: Fleet) -> int:
    """Run Joinery over the products in one group; return how many were wrong."""
    folder = bench.declare("some", fleet)
    tell_run("Joinery", bench.once(folder), bench, len(fleet.products))
    bad = compare("Joinery", fleet, folder)
    told = bench.small(folder, relation_of(fleet, 5), 0)
    say(f"Joinery: restart to the end of its first batch {told.restart_s:.1f} s")
    return bad


def theirs(fleet: Fleet, jobs: str) -> int:
    """Run Flink over the products; return how many were wrong."""
    PEER.install()
    work = WORK / "flink"
    path = statements(fleet, DATA, work)
    flink(path, work, "--jobs", jobs)
    log = flink(path, work, "--jobs", jobs, "--print")
    bad = wrong(fleet, WORK / "rows", log)
    say(f"Flink: {len(fleet.products) - len(bad)} of {len(fleet.products)} products are right")
    for product, text in bad.items():
        say(f"  {product}: {text[:600]}")
    if jobs == "one":
        say(f"Flink: restart to its first document {restart_s(path, work):.1f} s")
    return len(bad)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
