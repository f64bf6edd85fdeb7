"""Where a run's time goes, by the JVM's recorder: `python -m bench.compare.profile_parts RUN.jfr`.

A sample belongs to the part of its innermost frame that has one: what is called by the state store
is the state store's, whoever called that. Frames of the JDK and of helpers that all parts use have
none, so they count for their caller. `make bench PROFILE=1` records every run of this checkout.

Limits: the recorder takes up to five threads that run Java in a tick, and one that is in native
code, be it waiting; so RocksDB's share is too low rather than too high. The JVM's own compilers and
collectors are not sampled.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SETTING = (
    "run.spark.spark.driver.extraJavaOptions="
    "-XX:StartFlightRecording=filename=run.jfr,settings=profile"
    " -XX:FlightRecorderOptions=stackdepth=200"
)
"""Makes a run write `run.jfr` into its working folder."""
OTHER = "other"
_KERNEL = "dev.joinery.kernel"
_SPARK = "org.apache.spark"
_SQL = f"{_SPARK}.sql"
_GENERATED = f"{_SQL}.catalyst.expressions.GeneratedClass$"
RULES: tuple[tuple[str, str], ...] = (
    ("state", "org.rocksdb."),
    ("state", f"{_SQL}.execution.streaming.state."),
    ("state", f"{_SQL}.execution.streaming.operators.stateful.transformwithstate."),
    ("state", f"{_KERNEL}.state."),
    ("state", f"{_KERNEL}.spark.BytesEncoder"),
    ("sort", f"{_GENERATED}SpecificOrdering"),
    ("sort", f"{_SPARK}.util.collection.unsafe.sort."),
    ("sort", f"{_SQL}.execution.UnsafeExternalRowSorter"),
    ("sort", f"{_SQL}.execution.UnsafeKVExternalSorter"),
    ("sort", f"{_SQL}.execution.GroupedIterator"),
    ("sort", f"{_KERNEL}.spark.RowGroups"),
    ("sort", f"{_KERNEL}.spark.SortedRows"),
    ("shuffle", f"{_SPARK}.shuffle."),
    ("shuffle", f"{_SPARK}.storage."),
    ("shuffle", f"{_SPARK}.network."),
    ("shuffle", f"{_SPARK}.serializer."),
    ("shuffle", f"{_SPARK}.util.collection."),
    ("shuffle", f"{_SQL}.execution.UnsafeRowSerializer"),
    ("shuffle", f"{_SQL}.execution.exchange."),
    ("decode", f"{_KERNEL}.format."),
    ("decode", f"{_KERNEL}.files."),
    ("decode", f"{_KERNEL}.ingress."),
    ("decode", "org.apache.kafka.clients.consumer."),
    ("render", f"{_KERNEL}.render."),
    ("stage", f"{_KERNEL}.egress."),
    ("nodes", f"{_KERNEL}.node."),
    ("nodes", f"{_KERNEL}.stream."),
    ("nodes", f"{_KERNEL}.chain."),
    ("nodes", f"{_KERNEL}.message.Outbox"),
    ("compiling", "org.codehaus."),
    ("compiling", f"{_SQL}.catalyst.expressions.codegen.CodeGenerator"),
    ("Spark's encoding", _GENERATED),
    ("Spark's encoding", f"{_SQL}.catalyst.encoders."),
    ("Spark's encoding", f"{_SQL}.execution."),
)
"""A part, and what the name of its classes begins with; the first that fits holds."""
_TASKS = "Executor task launch worker"
_THREADS = ((_TASKS, "tasks"), ("stream execution thread", "the query's own thread"))

_WAITING = ("sun.nio.ch.", "java.net.", "java.io.File", "io.netty.channel.epoll.Native.epollWait")


@dataclass(frozen=True, slots=True)
class Sample:
    """A stack that was seen.

    Attributes:
        frames: Classes with their methods, from the innermost out.
    """

    count: int
    thread: str
    frames: tuple[str, ...]


def samples(recording: Path) -> list[Sample]:
    """Read a flight recording.

    Raises:
        CalledProcessError: Java cannot read the file.
    """
    reader = Path(__file__).with_name("Samples.java")
    told = subprocess.run(
        ["java", str(reader), str(recording)], check=True, capture_output=True, text=True
    )
    return list(_parsed(told.stdout.splitlines()))


def _parsed(lines: Iterable[str]) -> Iterator[Sample]:
    for line in lines:
        count, thread, frames = line.split("\t")
        yield Sample(int(count), thread, tuple(frames.split(";")))


def part_of(frames: Sequence[str]) -> str:
    """Return the part that a stack belongs to."""
    for frame in frames:
        for part, start in RULES:
            if frame.startswith(start):
                return part
    return OTHER


def parts(found: Iterable[Sample]) -> Counter[str]:
    """Count the samples of tasks by part."""
    counted: Counter[str] = Counter()
    for each in found:
        if each.thread.startswith(_TASKS):
            counted[part_of(each.frames)] += each.count
    return counted


def threads(found: Iterable[Sample]) -> Counter[str]:
    """Count samples by kind of thread; one that waits in native code is left out."""
    counted: Counter[str] = Counter()
    for each in found:
        kind = next((kind for start, kind in _THREADS if each.thread.startswith(start)), OTHER)
        if kind != OTHER or not each.frames[0].startswith(_WAITING):
            counted[kind] += each.count
    return counted


def table(found: Sequence[Sample]) -> str:
    """Return the shares of parts within tasks, and those of threads, as Markdown."""
    lines = ["| part of tasks | share |", "| --- | ---: |", *_shares(parts(found)), ""]
    lines += ["| threads | share |", "| --- | ---: |", *_shares(threads(found))]
    return "\n".join(lines)


def _shares(counted: Counter[str]) -> Iterator[str]:
    total = counted.total()
    for name, count in counted.most_common():
        yield f"| {name} | {100 * count / total:.0f} % ({count:,}) |"


def main(arguments: Sequence[str]) -> int:
    """Print the table of a recording; with `--stacks PART`, its commonest stacks, too."""
    found = samples(Path(arguments[0]))
    print(table(found))
    if arguments[1:2] == ["--stacks"]:
        stacks: Counter[str] = Counter()
        for each in found:
            if each.thread.startswith(_TASKS) and part_of(each.frames) == arguments[2]:
                stacks["\n    ".join(each.frames[:12])] += each.count
        print(*(f"{count} {stack}" for stack, count in stacks.most_common(15)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
