"""One run over very many changes: `python -m bench.compare.long_run --changes 50000000`.

Change files are written while the run reads, a little ahead of it. Documents are read and removed
as they come, and those of one user in a thousand compared at the end. What is told, million by
million: changes per second, processor seconds, memory, bytes written to disk, and the checkpoint's
size.

Limits: Linux, which tells of each process what it wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bench.compare.contenders import BENCH, Joinery
from bench.compare.endless_history import EndlessHistory
from bench.compare.expected import Profile, difference, from_objects
from bench.harness.figures import rate_between
from bench.harness.measure import TICKS_PER_S, Tree
from joinery.testing.github import debezium_line, write_lines

MILLION = 1_000_000
CHUNK = 100_000  # changes in a file of each topic
AHEAD = 1_500_000  # changes that may wait to be read
ONE_IN = 1_000
_EMAIL = '{"key":{"email":"u'
_LOOK_S = 0.5


@dataclass(slots=True)
class Documents:
    """What the files sink has written, of which only the profiles that are compared are kept."""

    folder: Path
    history: EndlessHistory
    found: dict[str, Profile] = field(default_factory=dict)
    count: int = 0

    def take(self, *, all_of_them: bool = False) -> None:
        """Read and remove the files that are complete."""
        files = sorted(self.folder.glob("*.jsonl"))
        for path in files if all_of_them else files[:-2]:
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    self._take(line)
            path.unlink()

    def _take(self, line: str) -> None:
        self.count += 1
        user = int(line[len(_EMAIL) : line.index("@")])
        if not self.history.is_looked_at(user):
            return
        told = json.loads(line)
        email, value = told["key"]["email"], told["value"]
        if value is None:
            self.found.pop(email, None)
        else:
            self.found[email] = from_objects(value)


@dataclass(slots=True)
class Progress:
    """The batches of a run, read from its log as it grows."""

    log: IO[str]
    batches: list[dict[str, Any]] = field(default_factory=list)
    rows: int = 0

    def look(self) -> None:
        """Read what was written since the last look."""
        while (line := self.log.readline()).endswith("\n"):
            told = json.loads(line) if line[:1] == "{" else {}
            if told.get("event") == "batch":
                self.batches.append(told)
                self.rows += told["rows"]


@dataclass(slots=True)
class Costs:
    """What the run has cost, each time another million was read.

    Attributes:
        rows: One line a million.
    """

    tree: Tree
    checkpoint: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    _written: dict[int, int] = field(default_factory=dict)

    def look(self, read: int, documents: int) -> None:
        """Sample the run; note a line where a million is full."""
        self.tree.sample()
        for process in self.tree.bytes:
            try:
                told = Path(f"/proc/{process}/io").read_text(encoding="ascii")
            except OSError:
                continue
            self._written[process] = int(told.partition("\nwrite_bytes: ")[2].split()[0])
        if read // MILLION > (self.rows[-1]["read"] // MILLION if self.rows else 0):
            self.rows.append(
                {
                    "read": read,
                    "at": round(time.time(), 1),
                    "cpu_s": round(sum(self.tree.cpu_ticks.values()) / TICKS_PER_S, 1),
                    "mb": round(sum(self.tree.bytes.values()) / 1e6),
                    "written_mb": round(sum(self._written.values()) / 1e6),
                    "checkpoint_mb": round(size(self.checkpoint) / 1e6),
                    "documents": documents,
                    "load": os.getloadavg()[0],
                }
            )
            print(json.dumps(self.rows[-1]), flush=True)


def size(folder: Path) -> int:
    """Return how many bytes the files below a folder have; those that go meanwhile have none."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(path) / name).stat().st_size
            except OSError:
                continue
    return total


@contextmanager
def running(work: Path, settings: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start the run over `work/changes` until the block ends; yield it and its log."""
    log = work / "joinery.log"
    command = [str(Joinery().build.joinery), "run", str(BENCH / "compare" / "profile.yaml")]
    command += [f"--set={each}" for each in settings]
    env = {
        **os.environ,
        "BENCH_CHANGES": str(work / "changes"),
        "BENCH_FORMAT": "debezium-json",
        "BENCH_WORK": str(work),
    }
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=work, env=env)
    try:
        yield process, log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(300)


def measured(changes: int, work: Path, settings: list[str]) -> dict[str, Any]:
    """Write, run, compare; return what is told of the whole run."""
    history = EndlessHistory(ONE_IN)
    written = iter(range(0, changes, CHUNK))
    documents = Documents(work / "out" / "user_profile", history)

    def write_next() -> bool:
        at = next(written, None)
        if at is None:
            return False
        lines = history.lines(min(CHUNK, changes - at))
        write_lines(lines, work / "changes", name=f"part-{at:012d}", render=debezium_line)
        return True

    for _ in range(AHEAD // CHUNK):
        write_next()
    with running(work, settings) as (process, log), log.open(encoding="utf-8") as told:
        progress, costs = Progress(told), Costs(Tree(process.pid), work / "checkpoint")
        while progress.rows < changes:
            if process.poll() is not None:
                raise SystemExit(f"the run ended: {log.read_text(encoding='utf-8')[-2000:]}")
            progress.look()
            if not (history.number - progress.rows < AHEAD and write_next()):
                time.sleep(_LOOK_S)
            documents.take()
            costs.look(progress.rows, documents.count)
    documents.take(all_of_them=True)
    second = rate_between(progress.batches, MILLION, 2 * MILLION)
    last = rate_between(progress.batches, changes - MILLION, changes)
    wrong = difference(history.profiles(), documents.found)
    return {
        "changes": changes,
        "documents": documents.count,
        "compared": len(documents.found),
        "wrong": wrong,
        "second": round(second),
        "last": round(last),
        "kept": round(last / second, 2),
        "millions": costs.rows,
    }


def main() -> None:
    """Measure one run, and tell what it came to."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare.long_run", description=__doc__)
    parser.add_argument("--changes", type=int, default=50 * MILLION)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder with some 40 GB")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    chosen = parser.parse_args()
    (chosen.work / "changes").mkdir(parents=True)
    told = measured(chosen.changes, chosen.work, chosen.set)
    shutil.rmtree(chosen.work / "changes")
    print(json.dumps({name: each for name, each in told.items() if name != "millions"}))


if __name__ == "__main__":
    main()
