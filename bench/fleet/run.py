"""A hundred products over forty relations, in one group and in ten: `make fleet`.

The products, the changes and what the documents must be all come from one seed (`shape.py`,
`log.py`, `truth.py`). Every document of every product is compared, then it is told what
the run cost, beside one product alone over the same changes.
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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from bench.fleet.compare import differences
from bench.fleet.log import History, Log, LogFiles, LogTopics
from bench.fleet.shape import Fleet, Product, declared, make_fleet
from bench.harness.builds import BENCH, ROOT
from bench.harness.measure import Measured, Tree, measure
from joinery.dev.kafka import kafka

JOINERY = ROOT / ".venv" / "bin" / "joinery"
WORK = BENCH / ".runs" / "fleet"
DATA = WORK / "data"
FILES = 8
PARTITIONS = 2  # of each topic
SMALL = 100
IDLE_AFTER_S = 60.0  # when compilers are through
TIMEOUT_S = 3 * 3600.0


@dataclass(frozen=True, slots=True)
class Ran:
    """One run from nothing to the end of its change files."""

    measured: Measured
    batches: Sequence[Mapping[str, Any]]

    @property
    def documents(self) -> int:
        """How many were sent, tombstones included."""
        return sum(self.sent.values())

    @property
    def sent(self) -> Counter[str]:
        """Documents sent, by product."""
        found: Counter[str] = Counter()
        for each in self.batches:
            found.update(documents_of(each))
        return found

    @property
    def read(self) -> Counter[str]:
        """Records read, by relation."""
        found: Counter[str] = Counter()
        for each in self.batches:
            found.update({name: told["read"] for name, told in each["relations"].items()})
        return found

    @property
    def batch_s(self) -> float:
        """How long its batches took in all, of all its queries."""
        return float(sum(each["seconds"] for each in self.batches))


def documents_of(batch: Mapping[str, Any]) -> dict[str, int]:
    """Return how many documents a batch sent, tombstones included, by product."""
    return {
        name: told.get("upserts", 0) + told.get("tombstones", 0)
        for name, told in batch["documents"].items()
    }


@contextmanager
def emptied(fleet: Fleet, *, topics: bool) -> Iterator[Log]:
    """Empty the folder; yield where changes are written, a broker's topics or change files."""
    shutil.rmtree(WORK, ignore_errors=True)
    if not topics:
        yield LogFiles(DATA)
        return
    with kafka(WORK / "kafka").started() as broker:
        log = LogTopics(fleet, broker.address)
        log.create(PARTITIONS)
        yield log


class Bench:
    """The files of one fleet, and runs over them."""

    def __init__(self, fleet: Fleet, log: Log, *, changes: int, settings: Sequence[str]) -> None:
        self.fleet, self.log, self.changes, self.settings = fleet, log, changes, settings
        self.history = History(fleet)
        self.written: Counter[str] = Counter()

    def write(self) -> None:
        """Write the changes."""
        self.log.write(self._counted(self.changes), files=FILES, total=self.changes)
        self.history.write_rows(WORK / "rows")

    def _counted(self, changes: int, only: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
        for name, line in self.history.lines(changes, only=only):
            self.written[name] += 1
            yield name, line

    def declare(self, name: str, fleet: Fleet, *, groups: int = 1) -> Path:
        """Write a project file; return its folder."""
        folder = WORK / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        text = declared(fleet, out=str(folder), groups=groups, source=self.log.source)
        (folder / "joinery.yaml").write_text(text, encoding="utf-8")
        return folder

    def command(self, folder: Path, *more: str) -> list[str]:
        """Return the command of a run."""
        settings = [f"--set={each}" for each in self.settings]
        return [str(JOINERY), "run", str(folder / "joinery.yaml"), *settings, *more]

    def once(self, folder: Path) -> Ran:
        """Run a project over what there is."""
        log = folder / "run.log"
        command = self.command(folder, "--once")
        measured = measure(
            command, output=log, cwd=folder, env=dict(os.environ), timeout_s=TIMEOUT_S
        )
        if measured.returncode:
            raise SystemExit(f"exit code {measured.returncode}: {log.read_text()[-2000:]}")
        lines = log.read_text(encoding="utf-8").splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{")]
        return Ran(measured, [each for each in told if each["event"] == "batch"])

    def small(self, folder: Path, relation: str, batches: int) -> Small:
        """Start a run again with a small file of changes there, then send more, one at a time."""
        self._send(relation)
        begun = time.monotonic()
        with Live(self.command(folder), folder) as live:
            live.batch()
            restart_s = time.monotonic() - begun
            live.until("caught up")
            took = []
            for _ in range(batches):
                self._send(relation)
                took.append(live.batch())
        self.history.write_rows(WORK / "rows")
        return Small(restart_s, took, live.peak_bytes)

    def idle(self, folder: Path, seconds: float) -> float:
        """Start a run again over what it has read; return its processor seconds a second."""
        with Live(self.command(folder), folder) as live:
            live.until("caught up")
            time.sleep(IDLE_AFTER_S)
            before, begun = live.cpu_s(), time.monotonic()
            time.sleep(seconds)
            return (live.cpu_s() - before) / (time.monotonic() - begun)

    def _send(self, relation: str) -> None:
        self.log.write(self._counted(SMALL, only=[relation]), files=1, total=2 * SMALL)


@dataclass(frozen=True, slots=True)
class Small:
    """What small batches took.

    Attributes:
        restart_s: From the start of the process to the end of the first batch.
        batches: The seconds and the products of each batch after it.
    """

    restart_s: float
    batches: Sequence[Mapping[str, Any]]
    peak_bytes: int

    def seconds(self) -> list[float]:
        """The seconds of its batches, without the first tenth, while Java still compiles."""
        took = [each["seconds"] for each in self.batches]
        return sorted(took[len(took) // 10 :])


class Live:
    """A run that goes on, and what it tells."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command, self._folder = command, folder
        self.peak_bytes = 0

    def __enter__(self) -> Self:
        with (self._folder / "live.err").open("wb") as err:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=err, cwd=self._folder, text=True
            )
        return self

    def until(self, event: str) -> Mapping[str, Any]:
        """Read on to the next event of a name."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == event:
                return dict(told)
        raise SystemExit(f"the run ended: {(self._folder / 'live.err').read_text()[-2000:]}")

    def batch(self) -> Mapping[str, Any]:
        """Read on to the next batch that read something, whether it sent documents or not."""
        while not (told := self.until("batch"))["rows"]:
            pass
        return told

    def cpu_s(self) -> float:
        """Return the processor seconds of its processes so far."""
        root = psutil.Process(self._process.pid)
        times = [each.cpu_times() for each in (root, *root.children(recursive=True))]
        return sum(each.user + each.system for each in times)

    def __exit__(self, *ignored: object) -> None:
        tree = Tree(self._process.pid)
        tree.sample()
        self.peak_bytes = tree.peak_bytes
        self._process.send_signal(signal.SIGTERM)
        assert self._process.stdout is not None
        self._process.stdout.read()
        self._process.wait(120)


def say(line: str) -> None:
    """Tell how it goes, and how busy the machine is."""
    load = os.getloadavg()[0]
    print(f"{time.strftime('%H:%M:%S')} [load {load:.1f}] {line}", flush=True)


def middle(fleet: Fleet, documents: Mapping[str, int]) -> Product:
    """Return the product that sent as many documents as the middle one."""
    known = {each.name: each for each in fleet.products}
    names = sorted(documents, key=lambda name: (documents[name], name))
    return known[names[len(names) // 2]]


def relation_of(fleet: Fleet, products: int) -> str:
    """Return the relation that the nearest number of products to this reads, one of them alone."""
    used = Counter(name for each in fleet.products for name in each.relations)
    return min(used, key=lambda name: (abs(used[name] - products), name))


def tell_run(name: str, ran: Ran, bench: Bench, products: int) -> None:
    """Tell what a run cost."""
    rows = sum(ran.read.values())
    sure = {each: ran.read[each] / bench.written[each] for each in ran.read}
    measured = ran.measured
    say(
        f"{name}: {products} products, {rows:,} records read"
        f" ({min(sure.values()):.2f} to {max(sure.values()):.2f} times each topic),"
        f" {ran.documents:,} documents in {len(ran.batches)} batches; {measured.seconds:.1f} s,"
        f" of them {ran.batch_s:.1f} s in batches; {ran.documents / measured.seconds:,.0f}"
        f" documents/s; {measured.cpu_seconds:.0f} s of processor time;"
        f" peak {measured.peak_bytes / 1e9:.2f} GB"
    )


def compare(name: str, fleet: Fleet, folder: Path) -> int:
    """Tell which products are wrong; return how many."""
    wrong = differences(fleet, WORK / "rows", folder)
    say(f"{name}: {len(fleet.products) - len(wrong)} of {len(fleet.products)} products are right")
    for product, text in wrong.items():
        say(f"  {product}: {text[:600]}")
    return len(wrong)


def cold(title: str, *arguments: str) -> None:
    """Tell how long a command takes, the middle of five times."""
    took = []
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run([str(JOINERY), *arguments], stdout=subprocess.DEVNULL, check=True)
        took.append(time.monotonic() - begun)
    say(f"{title}: {statistics.median(took):.2f} s")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.run", description=__doc__)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--relations", type=int, default=40)
    parser.add_argument("--products", type=int, default=100)
    parser.add_argument("--groups", type=int, nargs="*", default=[1, 10])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--small", type=int, default=30, help="batches of 100 changes; 0 for none")
    parser.add_argument("--idle", type=float, default=0, help="seconds without changes to measure")
    parser.add_argument("--kafka", action="store_true", help="topics instead of change files")
    parser.add_argument("--set", action="append", default=[], help="dotted.key=value of the run")
    return parser.parse_args()


def main() -> int:
    """Measure; return how many products were wrong."""
    chosen = arguments()
    fleet = make_fleet(chosen.seed, relations=chosen.relations, products=chosen.products)
    with emptied(fleet, topics=chosen.kafka) as log:
        bench = Bench(fleet, log, changes=chosen.changes, settings=chosen.set)
        bench.write()
        say(f"{chosen.changes:,} changes written")
        return whole(bench, chosen.groups, small_batches=chosen.small, idle_s=chosen.idle)


def whole(bench: Bench, groups_of: Sequence[int], *, small_batches: int, idle_s: float) -> int:
    """Measure the products together and one of them alone; return how many were wrong."""
    wrong, sent = 0, Counter[str]()
    for groups in groups_of:
        name = f"{groups} group{'s' if groups > 1 else ''}"
        folder = bench.declare(f"groups{groups}", bench.fleet, groups=groups)
        cold(f"{name}: check", "check", str(folder / "joinery.yaml"))
        ran = bench.once(folder)
        tell_run(name, ran, bench, len(bench.fleet.products))
        sent = ran.sent
        wrong += compare(name, bench.fleet, folder)
        cold(f"{name}: status", "status", "--file", str(folder / "joinery.yaml"))
        if idle_s:
            cores = bench.idle(folder, idle_s)
            say(f"{name}: {cores:.3f} cores while nothing comes, for {idle_s:.0f} s")
    alone = bench.fleet.alone(middle(bench.fleet, sent))
    folder = bench.declare("alone", alone)
    tell_run("alone", bench.once(folder), bench, 1)
    wrong += compare("alone", alone, folder)
    if small_batches:
        wrong += small(bench, groups_of, small_batches)
    return wrong


def small(bench: Bench, groups: Sequence[int], batches: int) -> int:
    """Measure small batches of the group of all, and of one of the products alone."""
    relation = relation_of(bench.fleet, 5)
    touched = [each for each in bench.fleet.products if relation in each.relations]
    one = bench.fleet.alone(touched[0])
    alone = bench.declare("small", one)
    bench.once(alone)
    wrong = 0
    runs = [("alone", one, alone)]
    if 1 in groups:
        runs.append(("1 group", bench.fleet, WORK / "groups1"))
    for name, fleet, folder in runs:
        told = bench.small(folder, relation, batches)
        took = told.seconds()
        say(
            f"{name}: batches of {SMALL} changes of {relation}, which {len(touched)} products"
            f" read: p50 {statistics.median(took) * 1000:.0f} ms,"
            f" p90 {took[len(took) * 9 // 10] * 1000:.0f} ms; restart to the end of the first batch"
            f" {told.restart_s:.1f} s; {told.peak_bytes / 1e9:.2f} GB in the end"
        )
        wrong += compare(name, fleet, folder)
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
