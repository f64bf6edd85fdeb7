"""Who is measured: how each contender is installed, started, and its documents read.

Invariant: a contender sees the input only through the folder it is given, and its documents
are read back in one common form (`expected.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench.compare import expected
from bench.harness.builds import BENCH, ROOT, Build
from bench.harness.measure import Measured, measure

TIMEOUT_S = 3 * 3600.0


@dataclass(frozen=True, slots=True)
class Run:
    """One contender's run of one workload, or of one phase of it."""

    measured: Measured
    facts: Mapping[str, Any] = field(default_factory=dict)
    batches: Sequence[Mapping[str, Any]] = ()


class Contender(Protocol):
    """Runs UserProfile over a folder of change files."""

    name: str

    def install(self) -> None:
        """Create the environment; nothing where it stands."""

    def version(self) -> str:
        """Name the version that runs."""

    def run(self, changes: Path, *, total: int, format: str, work: Path) -> Run:
        """Read `changes` to their end; leave the documents in `work`, which is empty."""

    def profiles(self, changes: Path, *, total: int, work: Path) -> dict[str, expected.Profile]:
        """Return the documents, from what `run` left or from a run that prints them."""


class ContenderError(Exception):
    """A contender did not come to its end."""


def finished(measured: Measured, log: Path) -> Measured:
    """Return `measured`, or raise with the end of what the contender said."""
    if measured.returncode:
        tail = log.with_suffix(".err").read_text(errors="replace")[-1500:]
        said = log.read_text(errors="replace")[-500:]
        raise ContenderError(f"exit code {measured.returncode}: {said}\n{tail}")
    return measured


@dataclass(frozen=True, slots=True)
class Joinery:
    """This project, as a user would start it.

    Attributes:
        settings: `dotted.key=value`, put into the project file.
    """

    name: str = "joinery"
    build: Build = field(default_factory=Build)
    settings: tuple[str, ...] = ()

    def install(self) -> None:
        """Set the build up."""
        self.build.install()

    def version(self) -> str:
        """Name the commit, or this checkout's version and Spark's."""
        if self.build.commit is not None:
            return f"{self.name}: commit {self.build.commit}"
        import pyspark

        import joinery

        put = f" with {' '.join(self.settings)}" if self.settings else ""
        return f"{self.name}: Joinery {joinery.__version__}, Spark {pyspark.__version__}{put}"

    def options(self) -> list[str]:
        """Return the settings as the command line has them."""
        return [f"--set={each}" for each in self.settings]

    def run(
        self,
        changes: Path,
        *,
        total: int,
        format: str,
        work: Path,
        project: str = "profile.yaml",
        settings: Sequence[str] = (),
    ) -> Run:
        """Run the project once over the folder."""
        command = [str(self.build.joinery), "run", str(BENCH / "compare" / project), "--once"]
        command += [*self.options(), *(f"--set={each}" for each in settings)]
        env = {
            **os.environ,
            "BENCH_CHANGES": str(changes),
            "BENCH_FORMAT": format,
            "BENCH_WORK": str(work),
        }
        log = work / "joinery.log"
        measured = measure(command, output=log, cwd=work, env=env, timeout_s=TIMEOUT_S)
        return Run(finished(measured, log), {"seconds": measured.seconds}, batches_of(log))

    def profiles(self, changes: Path, *, total: int, work: Path) -> dict[str, expected.Profile]:
        """Read the files sink."""
        return expected.joinery_profiles(work / "out" / "user_profile")


def batches_of(log: Path) -> list[dict[str, Any]]:
    """Return the progress lines of a run, one a batch."""
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if line[:1] == "{"]
    return [value for value in map(json.loads, lines) if "batch" in value and "rows" in value]


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer in an environment of its own.

    Attributes:
        requirements: Its file of requirements in `peers/`.
        script: Its program in `peers/`.
        options: What the program is given beside its folders.
    """

    name: str
    requirements: str
    script: str
    options: tuple[str, ...]

    @property
    def environment(self) -> Path:
        """Where it is installed."""
        return BENCH / ".envs" / Path(self.requirements).stem.removeprefix("requirements-")

    def install(self) -> None:
        """Create the environment from its requirements."""
        if not (self.environment / ".ready").exists():
            print(f"installing {self.requirements} into {self.environment.relative_to(ROOT)}")
            shutil.rmtree(self.environment, ignore_errors=True)
            venv.create(self.environment, with_pip=True)
            pip = [str(self.python), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "-r", str(BENCH / "peers" / self.requirements)], check=True)
            (self.environment / ".ready").touch()

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.environment / "bin" / "python"

    def version(self) -> str:
        """Name the pinned version."""
        return (BENCH / "peers" / self.requirements).read_text(encoding="utf-8").strip()

    def start(self, changes: Path, work: Path, *options: str) -> tuple[Measured, dict[str, Any]]:
        """Run the peer's program and return what it cost and what it said last."""
        script = str(BENCH / "peers" / self.script)
        command = [str(self.python), script, "--input", str(changes), *self.options, *options]
        log = work / f"{self.name}.log"
        env = {**os.environ, "PATHWAY_THREADS": "2", "PYTHONWARNINGS": "ignore"}
        env["BENCH_STARTED"] = repr(time.time())
        measured = measure(command, output=log, cwd=work, env=env, timeout_s=TIMEOUT_S)
        finished(measured, log)
        return measured, json.loads(last_line(log))


def last_line(log: Path) -> str:
    """Return the last line of a file, which may be long."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        return file.read().decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]


@dataclass(frozen=True, slots=True)
class Flink(Peer):
    """Flink SQL on a local cluster of two slots; its sink swallows the documents."""

    def run(self, changes: Path, *, total: int, format: str, work: Path) -> Run:
        """Run the query into the sink that swallows."""
        measured, facts = self.start(changes, work, "--work", str(work))
        return Run(measured, facts)

    def profiles(self, changes: Path, *, total: int, work: Path) -> dict[str, expected.Profile]:
        """Run the query again, untimed, into the sink that prints."""
        self.start(changes, work, "--work", str(work), "--print")
        with (work / f"{self.name}.log").open(encoding="utf-8") as lines:
            return expected.flink_profiles(lines)


@dataclass(frozen=True, slots=True)
class SparkItself(Peer):
    """Spark's own Structured Streaming, in this checkout's environment; it has no documents."""

    def install(self) -> None:
        """Do nothing: Spark is there."""

    @property
    def python(self) -> Path:
        """This interpreter."""
        return Path(sys.executable)

    def version(self) -> str:
        """Name Spark's version."""
        import pyspark

        return f"{self.name}: Spark {pyspark.__version__}"

    def run(self, changes: Path, *, total: int, format: str, work: Path) -> Run:
        """Refuse: it has no UserProfile."""
        raise ContenderError("Spark itself has no nested documents")

    def profiles(self, changes: Path, *, total: int, work: Path) -> dict[str, expected.Profile]:
        """Refuse: it has no UserProfile."""
        raise ContenderError("Spark itself has no nested documents")


@dataclass(frozen=True, slots=True)
class Pathway(Peer):
    """Pathway on two threads, documents to a file."""

    def run(self, changes: Path, *, total: int, format: str, work: Path) -> Run:
        """Run the program into a file."""
        output = str(work / "documents.jsonl")
        measured, facts = self.start(changes, work, "--output", output, "--changes", str(total))
        return Run(measured, facts)

    def profiles(self, changes: Path, *, total: int, work: Path) -> dict[str, expected.Profile]:
        """Read the file."""
        return expected.pathway_profiles(work / "documents.jsonl")


@dataclass(frozen=True, slots=True)
class Percolator(SparkItself):
    """OpenSearch's percolator, started by `joinery.dev`; it has stored queries alone."""

    def version(self) -> str:
        """Name OpenSearch's version."""
        from joinery.artifact import version

        return f"{self.name}: OpenSearch {version('opensearch')}"


@dataclass(frozen=True, slots=True)
class EventSourcing(Peer):
    """The package `eventsourcing` on a PostgreSQL server of `joinery.dev`; it has folds alone."""

    def run(self, changes: Path, *, total: int, format: str, work: Path) -> Run:
        """Refuse: it has no UserProfile."""
        raise ContenderError("eventsourcing has no nested documents")

    def profiles(self, changes: Path, *, total: int, work: Path) -> dict[str, expected.Profile]:
        """Refuse: it has no UserProfile."""
        raise ContenderError("eventsourcing has no nested documents")


EVENTS = ("requirements-eventsourcing.txt", "eventsourcing_accounts.py")
FLINK = ("requirements-flink.txt", "flink_profile.py")
PATHWAY = ("requirements-pathway.txt", "pathway_profile.py")
PEERS: dict[str, Contender] = {
    each.name: each
    for each in (
        Flink("flink-rocksdb", *FLINK, ("--backend", "rocksdb")),
        Flink("flink-heap", *FLINK, ("--backend", "hashmap")),
        SparkItself("spark", "", "spark_groups.py", ()),
        Percolator("percolate", "", "", ()),
        EventSourcing("eventsourcing", *EVENTS, ("--mode", "aggregates")),
        EventSourcing("eventsourcing-view", *EVENTS, ("--mode", "view")),
        Pathway("pathway", *PATHWAY, ("--mode", "streaming")),
        Pathway("pathway-batch", *PATHWAY, ("--mode", "static")),
    )
}
