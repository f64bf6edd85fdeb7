"""The rows of the table of figures: each is named, can be run alone, and tells its own figures.

A row's sides are the contenders that take turns in it. Every side reads the same bytes, and in the
first round what it made is compared with a plain computation before its figures count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.compare import expected, forms, groups, searches, workloads
from bench.compare.contenders import Contender, ContenderError, Joinery
from bench.compare.workloads import Workload
from bench.harness import figures
from bench.harness.builds import BENCH, ROOT

DATA = BENCH / ".data"
DELIVERY, WAITS = "bench.kafka.delivery", "bench.kafka.latency"
FORMAT = "debezium-json"
COMPARED_UP_TO = 2_000_000
Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """One column of a row's table.

    Attributes:
        key: Its name among what a turn tells.
        more: True where more is better.
        judged: False where the sides are not compared by it.
    """

    key: str
    title: str
    more: bool = False
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """One side's turn.

    Attributes:
        work: A folder of its own, which is empty.
        scale: Shrinks the row's sizes.
        compare: What is made is compared.
    """

    side: Contender
    work: Path
    scale: float
    compare: bool

    def sized(self, count: int, least: int = 200) -> int:
        """Return a row's size at this scale."""
        return max(least, int(count * self.scale))

    @property
    def joinery(self) -> Joinery:
        """The side of a row that only Joinery has."""
        assert isinstance(self.side, Joinery), f"{self.side.name} has no such row"
        return self.side

    def files(self, workload: Workload) -> list[Path]:
        """Return the workload's folders, one a phase."""
        return workloads.write(workload, DATA / f"scale-{self.scale:g}", FORMAT)


@dataclass(frozen=True, slots=True)
class Row:
    """A named scenario.

    Attributes:
        sides: Who takes turns in it, unless others are asked for.
    """

    name: str
    title: str
    sides: tuple[str, ...]
    figures: tuple[Figure, ...]
    measure: Callable[[Turn], Told]


def whole_run(turn: Turn, workload: Workload) -> tuple[Told, Sequence[Mapping[str, Any]]]:
    """Let a side read all of a workload from nothing; return its figures and its batches."""
    changes = workloads.joined(turn.files(workload))
    run = turn.side.run(changes, total=workload.changes, format=FORMAT, work=turn.work)
    if turn.compare and workload.changes <= COMPARED_UP_TO:
        found = turn.side.profiles(changes, total=workload.changes, work=turn.work)
        same(expected.expected_profiles(changes), found)
    seconds = run.facts["seconds"]
    told = {
        "seconds": seconds,
        "rate": round(workload.changes / seconds),
        "cpu_s": run.measured.cpu_seconds,
        "peak_mb": round(run.measured.peak_bytes / 1e6),
    }
    if steady := figures.steady_rate(run.batches):
        told["steady"] = round(steady)
    return told, run.batches


def same(wanted: dict[str, expected.Profile], found: dict[str, expected.Profile]) -> None:
    """Refuse documents that differ."""
    if wrong := expected.difference(wanted, found):
        raise ContenderError(f"wrong documents: {wrong}")


def user_profile(turn: Turn) -> Told:
    """UserProfile from nothing, files to files."""
    return whole_run(turn, workloads.profile("profile-1m", turn.sized(1_000_000)))[0]


def growth(turn: Turn) -> Told:
    """UserProfile until its state is large; the last fifth's rate beside the second's."""
    fifth = turn.sized(1_000_000)
    told, batches = whole_run(turn, workloads.profile("profile-5m", fifth * 5))
    second = figures.rate_between(batches, fifth, fifth * 2)
    last = figures.rate_between(batches, fifth * 4, fifth * 5)
    return told | {
        "second": round(second),
        "last": round(last),
        "kept": round(last / second, 2),
    }


def once(turn: Turn) -> Told:
    """A whole run over few changes, which is nearly all start."""
    return whole_run(turn, workloads.profile("profile-1k", 1_000))[0]


def phases(turn: Turn, workload: Workload) -> Told:
    """Read phase after phase, the last one told; all of it is compared."""
    changes, told = turn.work / "changes", Told()
    folders = turn.files(workload)
    for phase, folder in zip(workload.phases, folders, strict=True):
        link(folder, changes)
        run = turn.joinery.run(
            changes,
            total=phase.changes,
            format=FORMAT,
            work=turn.work,
            settings=[f"run.max_rows_per_batch={phase.batch}"] if phase.batch else [],
        )
        told = figures.batches(run.batches)
        told["cpu_s"] = run.measured.cpu_seconds
    if turn.compare:
        found = turn.joinery.profiles(changes, total=workload.changes, work=turn.work)
        same(expected.expected_profiles(changes), found)
    return told


def small_batches(turn: Turn) -> Told:
    """Batches of 100 changes over the state of a million."""
    batches = turn.sized(60, 40)
    return phases(turn, workloads.small_batches(turn.sized(1_000_000), batches))


def hot_key(turn: Turn) -> Told:
    """The description of a repository with very many stars changes: each stargazer's document."""
    return phases(turn, workloads.hot_key(turn.sized(500_000), turn.sized(1_000)))


def updates(turn: Turn) -> Told:
    """Nine changes in ten update a row that stands."""
    return phases(turn, workloads.updates(turn.sized(300_000), turn.sized(1_000_000)))


def fan_out(turn: Turn) -> Told:
    """Many parents under one join value: one child more at a time."""
    size = {"parents": 1000, "children": turn.sized(100_000, 1000), "more": turn.sized(30, 8)}
    told = Told()
    folders = workloads.write_fanout(turn.work / "phases", **size)
    for folder, batch in zip(folders, (None, 1), strict=True):
        link(folder, turn.work / "changes")
        run = turn.joinery.run(
            turn.work / "changes",
            total=0,
            format="json",
            work=turn.work,
            project="fanout.yaml",
            settings=[f"run.max_rows_per_batch={batch}"] if batch else [],
        )
        told = figures.batches(run.batches)
    return told


def link(folder: Path, target: Path) -> None:
    """Put a phase's files beside those of the phases before."""
    for path in folder.glob("*/*.jsonl"):
        (target / path.parent.name).mkdir(parents=True, exist_ok=True)
        (target / path.parent.name / path.name).hardlink_to(path)


def between_servers(turn: Turn, module: str, **arguments: object) -> Told:
    """Run one of the benchmarks that start servers, with this side's Joinery."""
    line = [sys.executable, "-m", module, "--joinery", str(turn.joinery.build.joinery)]
    line += ["--work", str(turn.work / "run"), *turn.joinery.options()]
    line += [f"--{name.replace('_', '-')}={value}" for name, value in arguments.items()]
    if turn.compare and module == DELIVERY:
        line.append("--compare")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=turn.work, env=env)
    if done.returncode:
        raise ContenderError(f"exit code {done.returncode}: {done.stderr[-3000:]}")
    told: Told = json.loads(done.stdout)
    return told


def kafka(turn: Turn) -> Told:
    """UserProfile, Kafka to Kafka, from nothing."""
    return between_servers(turn, DELIVERY, part="kafka", changes=turn.sized(1_000_000))


def stream(turn: Turn) -> Told:
    """Events with one lookup in state, Kafka to Kafka, from nothing."""
    sizes = {"events": turn.sized(1_000_000), "keys": turn.sized(100_000)}
    return between_servers(turn, "bench.streams.throughput", **sizes)


def latency(turn: Turn) -> Told:
    """How soon a document follows its change, in batches."""
    seconds = {"seconds": turn.sized(90, 20), "warm": turn.sized(60, 20)}
    told = between_servers(turn, WAITS, mode="batches", **seconds)
    return told | told["ms"]


def real_time(turn: Turn) -> Told:
    """The same in real-time mode; the boundary of two checkpoints falls into the stretch."""
    seconds = {"seconds": turn.sized(320, 60), "warm": 20}
    interval = f"{turn.sized(300, 45)}s"
    told = between_servers(turn, WAITS, mode="real-time", interval=interval, **seconds)
    return told | told["ms"]


def restart(turn: Turn) -> Told:
    """A run is killed; how soon the next one sends a document."""
    return between_servers(turn, DELIVERY, part="restart", changes=turn.sized(1_000_000))


def outage(turn: Turn) -> Told:
    """Ten minutes at a steady rate, in which the sink is gone for two."""
    seconds = {"seconds": turn.sized(600, 60), "outage": turn.sized(120, 15)}
    told = between_servers(
        turn, DELIVERY, part="outage", changes=turn.sized(100_000), rate=5000, **seconds
    )
    memory = told["memory_mb"]
    return told | {f"memory_{name}": sizes["all"] for name, sizes in memory.items()}


def windows(name: str) -> Callable[[Turn], Told]:
    """Return what measures one kind of groups."""
    return lambda turn: groups.run(
        turn.side, name, scale=turn.scale, work=turn.work, compare=turn.compare
    )


def form(name: str) -> Callable[[Turn], Told]:
    """Return what measures one form: an interval join, a pattern, a timeline, a fold."""
    return lambda turn: forms.run(
        turn.side, name, scale=turn.scale, work=turn.work, compare=turn.compare
    )


def stored_queries(
    queries: int, documents: int, searched: searches.Searched = searches.CONDITIONS
) -> Callable[[Turn], Told]:
    """Return what measures documents that meet a number of stored queries."""
    return lambda turn: searches.run(
        turn.side,
        searched,
        turn.sized(queries, searches.ADDED),
        documents=turn.sized(documents, searches.BATCH * 3),
        work=turn.work,
        compare=turn.compare,
    )


SECONDS = Figure("seconds", "whole run, s")
BOTH = ("ours", "base")
WHOLE = (
    SECONDS,
    Figure("rate", "changes/s", more=True, judged=False),
    Figure("steady", "steady changes/s", more=True),
    Figure("cpu_s", "processor s", judged=False),
    Figure("peak_mb", "peak memory, MB", judged=False),
)
BATCHES = (
    Figure("batch_median_ms", "a batch, median, ms"),
    Figure("batch_p90_ms", "nine in ten within, ms"),
    Figure("batches", "batches", judged=False),
)
FOLDS = (
    SECONDS,
    Figure("rate", "events/s", more=True, judged=False),
    Figure("steady", "events/s once warm", more=True),
    *WHOLE[3:],
    Figure("written_s", "written before, s", judged=False),
)
GROUPS = tuple(each for each in WHOLE if each.key != "steady")
BESIDE = ("ours", "spark", "flink-rocksdb")
FLINK = ("ours", "flink-rocksdb")
SEARCHES = (
    Figure("rate", "listings/s", more=True),
    Figure("matches", "matches a listing", judged=False),
    Figure("size", "listings a request", judged=False),
    Figure("loaded_s", "all queries stored, s"),
    Figure("added_s", "1,000 more stored, s"),
)
LATENCY = (Figure("p50", "p50, ms"), Figure("p99", "p99, ms"), Figure("max", "at most, ms"))
SERVED = (SECONDS, *WHOLE[1:2], Figure("processor_seconds", "processor s", judged=False))
ROWS: dict[str, Row] = {
    each.name: each
    for each in (
        Row("user-profile", "UserProfile, 1,000,000 changes, files", (*BOTH, "flink-rocksdb"),
            WHOLE, user_profile),
        Row("pathway", "UserProfile beside Pathway", ("ours", "pathway", "pathway-batch"),
            WHOLE, user_profile),
        Row("growth", "UserProfile, 5,000,000 changes", ("ours",),
            (SECONDS, Figure("second", "changes/s, second million", more=True),
             Figure("last", "changes/s, last million", more=True),
             Figure("kept", "last / second", more=True),
             Figure("peak_mb", "peak memory, MB", judged=False)), growth),
        Row("kafka", "UserProfile, Kafka to Kafka, 1,000,000 changes", BOTH, SERVED, kafka),
        Row("stream", "one lookup in state, Kafka to Kafka, 1,000,000 events", BOTH,
            (SECONDS, Figure("events_per_second", "events/s", more=True, judged=False),
             SERVED[-1]), stream),
        Row("small-batches", "100 changes a batch over the state of 1,000,000", BOTH,
            (*BATCHES, Figure("cpu_s", "processor s", judged=False)), small_batches),
        Row("latency", "Kafka to Kafka in batches, 200 changes/s", BOTH, LATENCY, latency),
        Row("real-time", "Kafka to Kafka in real-time mode, 200 changes/s", ("ours",),
            LATENCY, real_time),
        Row("once", "run --once over 1,000 changes", BOTH,
            (SECONDS, Figure("cpu_s", "processor s")), once),
        Row("restart", "killed with the state of 1,000,000: to the first new document", BOTH,
            (Figure("seconds", "s"), Figure("checkpoint_mb", "checkpoint, MB", judged=False)),
            restart),
        Row("outage", "5,000 changes/s for ten minutes, the sink gone for two", ("ours",),
            (Figure("documents_that_differ", "documents that differ"),
             Figure("caught_up_s", "caught up, s"),
             Figure("memory_before", "memory before, MB"),
             Figure("memory_at_its_end", "at the outage's end, MB"),
             Figure("memory_at_the_end", "at the end, MB"),
             Figure("memory_collected", "the same without garbage, MB", judged=False)), outage),
        Row("updates", "300,000 changes, then 1,000,000 of which 90 % update (Zipf 1.1)", BOTH,
            BATCHES, updates),
        Row("groups-tumbling", "1,000,000 payments of 100,000 cards by the hour", BESIDE,
            GROUPS, windows("tumbling")),
        Row("groups-hopping", "200,000 payments of 1,000 cards, an hour each minute", BESIDE,
            GROUPS, windows("hopping")),
        Row("groups-session", "1,000,000 payments of 50,000 cards, sessions of 30 minutes", BESIDE,
            GROUPS, windows("session")),
        Row("groups-distinct", "distinct cards an hour, 1,000,000 payments of 100,000 cards",
            FLINK, GROUPS, windows("distinct")),
        Row("interval", "clicks within half an hour of 600,000 searches, and none", BESIDE,
            GROUPS, form("interval")),
        Row("pattern-strict", "A B C in 1,000,000 rows of 5,000 cards", FLINK,
            GROUPS, form("strict")),
        Row("pattern-relaxed", "A -> B -> C within ten minutes, in the same rows", FLINK,
            GROUPS, form("relaxed")),
        Row("pattern-kleene", "A B+ C in the same rows", FLINK,
            GROUPS, form("kleene")),
        Row("timeline", "the 8 newest posts of all whom each of 125,000 users follows", FLINK,
            GROUPS, form("timeline")),
        Row("temporal-join", "800,000 sales with the rate of their time, 200,000 rates", FLINK,
            GROUPS, form("temporal")),
        Row("fold", "1,000,000 events of 50,000 accounts, out of order, 1 % told twice",
            ("ours", "eventsourcing"), FOLDS, form("fold")),
        Row("search-10k", "10,000 stored queries", ("ours", "percolate"),
            SEARCHES, stored_queries(10_000, 500_000)),
        Row("search-100k", "100,000 stored queries", ("ours", "percolate"),
            SEARCHES, stored_queries(100_000, 500_000)),
        Row("search-text-10k", "10,000 stored text queries", ("ours", "percolate"),
            SEARCHES, stored_queries(10_000, 300_000, searches.TEXTS)),
        Row("hot-key", "the description of a repository with 500,000 stars changes", BOTH,
            BATCHES, hot_key),
        Row("fan-out", "one child more under 1,000 parents × 100,000 children, limit 10", BOTH,
            BATCHES, fan_out),
    )
}  # fmt: skip
