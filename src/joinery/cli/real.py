"""`joinery demo --real`: the code-hosting company on real servers, from commit to document.

PostgreSQL is written to all the time; the run captures its log, or Debezium does, into Kafka. The
documents are kept in OpenSearch and PostgreSQL. What is shown is read back from OpenSearch, and at
the end all documents are compared with one query over the five tables.

Invariant: whatever ends the demo, its servers end too, and its replication slot is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from joinery.capture.spool import CaptureError
from joinery.capture.state import drop_source
from joinery.cli.ending import DONE, FAILED
from joinery.cli.follow import Followed
from joinery.cli.live import Targets, summary_line, waiting_line
from joinery.cli.project import write_warning
from joinery.cli.pulse import LatencyProbe
from joinery.cli.run import StopSignals, run_project
from joinery.cli.run_arguments import RunArguments
from joinery.dev import connect
from joinery.dev.debezium import capture
from joinery.dev.development import DevelopmentStack
from joinery.dev.http import answers, ask
from joinery.model.batch import BatchProgress
from joinery.model.phase import Phase
from joinery.model.progress import Progress, Silence, Totals, Waiting
from joinery.model.warning import RunWarning
from joinery.project.load import load_spec
from joinery.spark.batch.captures import database_of
from joinery.testing.github import History
from joinery.testing.github_database import CAPTURED, WORKDAY, GithubDatabase

SERVICES = ("postgres", "opensearch")
KAFKA_SERVICES = ("postgres", "kafka", "connect", "opensearch")
NAME = "github"
_DIRECT = """\
# The code-hosting company on real parts: one document per user in OpenSearch and PostgreSQL,
# straight from the tables in PostgreSQL. All at once, servers included: joinery demo --real
# Or with servers of your own, their addresses in the environment: joinery run real.yaml
"""
_BY_KAFKA = """\
# The code-hosting company on real parts: PostgreSQL, captured by Debezium into Kafka, kept as one
# document per user in OpenSearch and PostgreSQL. All at once: joinery demo --real --kafka
# Or with servers of your own, their addresses in the environment: joinery run kafka.yaml
"""
_DIRECT_SOURCE = """\
  changes: {postgres: {url: "${POSTGRES}"}}
"""
_KAFKA_SOURCE = """\
  changes: {kafka: {bootstrap: "${KAFKA}"}}
defaults: {source: changes, format: debezium-json}
"""
_CHANGES, _USERS, _FOLLOWED = 6000, 300, 3
_ENDLESS = 1_000_000_000
_PATIENCE_S, _LOOK_S, _TOLD_EVERY_S = 60.0, 0.2, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RealOptions:
    """What the demo was asked.

    Attributes:
        rate: Commits a second.
        seconds: How long the company works; 0 until Ctrl-C.
        seed: Another seed, another history.
        kafka: The changes go through Debezium and Kafka, as many a house has them.
    """

    rate: float = 30.0
    seconds: float = 60.0
    seed: int = 7
    kafka: bool = False


class Index:
    """The documents as OpenSearch has them."""

    def __init__(self, url: str, name: str = "user_profile") -> None:
        self._home = f"{url}/{name}"

    def read(self, email: str) -> Mapping[str, Any] | None:
        """Return the document of a user by its id; None where there is none."""
        found = answers(f"{self._home}/_doc/{quote(email, safe='')}")
        return found.get("_source") if isinstance(found, dict) else None

    def all(self) -> dict[str, Mapping[str, Any]]:
        """Return all documents by email, those just written too."""
        ask(f"{self._home}/_refresh", method="POST")
        found: Any = ask(f"{self._home}/_search?size=10000")
        return {each["_source"]["email"]: each["_source"] for each in found["hits"]["hits"]}


class Company:
    """The company at work: writes to its database, and feels its pulse.

    Args:
        database: The URL of its database.
        index: Where its documents arrive.
        options: How fast, how long.
    """

    def __init__(self, database: str, index: Index, options: RealOptions) -> None:
        self._url = database
        self._options = options
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.history = History(_CHANGES, seed=options.seed, users=_USERS)
        self.index = index
        self.pulse = LatencyProbe(database, index.read)

    def fill(self) -> int:
        """Create the tables with their first rows."""
        with GithubDatabase(self._url) as database:
            database.create()
            return database.fill(self.history.lines(_CHANGES))

    def work(self) -> None:
        """Begin to write, in threads of their own."""
        for run in (self._write, lambda: self.pulse.run(self._stop)):
            self._threads.append(threading.Thread(target=run, daemon=True))
            self._threads[-1].start()

    def rest(self) -> None:
        """Write nothing more."""
        self._stop.set()
        for each in self._threads:
            each.join()
        self._threads.clear()

    def differing(self) -> list[str]:
        """Return the emails whose documents are not what the five tables say."""
        with GithubDatabase(self._url) as database:
            said = database.profiles()
            places = (self.index.all(), database.kept_profiles())
        return [
            email
            for kept in places
            for email in said.keys() | kept.keys()
            if _plain(said.get(email)) != _plain(kept.get(email))
        ]

    def _write(self) -> None:
        with GithubDatabase(self._url) as database:
            lines = self.history.lines(_ENDLESS, WORKDAY)
            database.play(lines, per_s=self._options.rate, stop=self._stop)


def _plain(document: Mapping[str, Any] | None) -> object:
    """Return a document with its times as times, however they are written."""
    if document is None:
        return None
    pulls = [
        {**each, "created_at": datetime.fromisoformat(each["created_at"])}
        for each in document["pull_requests"]
    ]
    return {**document, "pull_requests": pulls}


class RealDisplay:
    """Shows the followed documents and the pulse, and ends the run when the time is over."""

    def __init__(self, company: Company, ending: StopSignals, seconds: float) -> None:
        self.differing: list[str] | None = None
        self._company = company
        self._ending = ending
        self._seconds = seconds
        self._followed = Followed()
        self._progress: Callable[[], Progress] = Progress
        self._started_at = self._told_at = time.monotonic()
        self._first_batch = threading.Event()

    def prepare(self, log: Path) -> None:
        """Say why nothing is seen for some seconds."""
        _say(f"Starting Spark; its log is {log}\n")

    def start(
        self, topics: tuple[str, ...], targets: Targets, progress: Callable[[], Progress]
    ) -> None:
        """Let the company work, now that its documents are kept."""
        self._progress = progress
        _say(f"Spark is up; reading {len(topics)} tables. + came, - left, ~ changed.\n")
        self._company.work()
        if self._seconds:
            threading.Thread(target=self._tell, name="joinery-story", daemon=True).start()

    def batch(self, batch: BatchProgress) -> None:
        """Show what one batch changed, and now and then the pulse."""
        self._first_batch.set()
        written = sum(each.get("upserts", 0) for each in batch.documents.values())
        if batch.read:
            _say(
                f"batch {batch.batch_id}: {batch.read:,} changes, {written:,} documents"
                f" in {batch.seconds:.1f} s\n"
            )
            self._look()
        if time.monotonic() - self._told_at > _TOLD_EVERY_S:
            self._told_at = time.monotonic()
            self._tell_pulse()

    def wait(self, target: str, waiting: Waiting | Silence | None) -> None:
        """Say what the run waits for."""
        if waiting is not None:
            _say(f"{waiting_line(waiting)}\n")

    def phase(self, phase: Phase) -> None:
        """Nothing to say: the batches are shown as they come."""

    def warn(self, warning: RunWarning) -> None:
        """Write the warning to standard error."""
        write_warning(warning)

    def close(self) -> None:
        """Nothing is held open."""

    def end(self, totals: Totals) -> None:
        """Tell how it went."""
        self._company.rest()
        self._tell_pulse()
        _say(f"\n{summary_line(totals, time.monotonic() - self._started_at)}\n")

    def _look(self) -> None:
        history = self._company.history
        now = {history.email(user): history.username(user) for user in range(_FOLLOWED)}
        for email in self._followed.documents.keys() | now.keys():
            document = self._company.index.read(email)
            if document or self._followed.documents.get(email):
                self._followed.show(email, now.get(email, email), document)

    def _tell_pulse(self) -> None:
        if beats := self._company.pulse.beats():
            _say(
                f"pulse: PostgreSQL commit to document in OpenSearch {beats.p50:.2f} s in the"
                f" median, {beats.p95:.2f} s at 95 of 100 ({beats.count} beats)\n"
            )

    def _tell(self) -> None:
        """Let the time go by, wait until all is read, and compare."""
        self._first_batch.wait()
        time.sleep(self._seconds)
        _wait(lambda: self._company.pulse.beats() is not None)
        self._company.rest()
        _wait(lambda: not self._company.differing())
        self.differing = self._company.differing()
        self._ending.ask()


def _wait(done: Callable[[], bool]) -> None:
    """Wait until something is so, but not forever."""
    until = time.monotonic() + _PATIENCE_S
    while not done() and time.monotonic() < until:
        time.sleep(_LOOK_S)


def run_real_demo(folder: Path, options: RealOptions) -> int:
    """Run the demo in a new folder, to its end or Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    project = folder / "joinery.yaml"
    project.write_text(real_project_text(kafka=options.kafka), encoding="utf-8")
    captured = _by_debezium if options.kafka else _straight
    with _servers(folder, KAFKA_SERVICES if options.kafka else SERVICES) as addresses:
        os.environ.update(addresses)
        company = Company(addresses["POSTGRES"], Index(addresses["OPENSEARCH"]), options)
        ending = StopSignals()
        display = RealDisplay(company, ending, options.seconds)
        _say(f"{company.fill():,} rows were written, changed or deleted in PostgreSQL.\n")
        with captured(folder, addresses["POSTGRES"]):
            try:
                run_project(RunArguments(file=project), display, ending)
            finally:
                company.rest()
        return _close(display)


def real_project_text(*, kafka: bool = False) -> str:
    """Return the project file of the demo, which is also `examples/github/real.yaml`.

    Args:
        kafka: The one that reads Debezium's topics, which is `examples/github/kafka.yaml`.
    """
    text = (files("joinery.cli") / "github_real.yaml").read_text(encoding="utf-8")
    if not kafka:
        return text
    text = text.replace(_DIRECT, _BY_KAFKA).replace(_DIRECT_SOURCE, _KAFKA_SOURCE)
    for table in CAPTURED:
        name = table.rpartition(".")[2]
        text = text.replace(f"\n  {name}:\n", f"\n  {name}:\n    topic: {NAME}.{table}\n")
    return text


def _stack(folder: Path) -> DevelopmentStack:
    return DevelopmentStack(folder / ".joinery" / "dev", tied=True)


@contextmanager
def _servers(folder: Path, services: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Keep the servers up for the length of a block."""
    stack = _stack(folder)
    try:
        started = stack.up(services, lambda each: _say(f"starting {each.name}\n"))
        addresses = {key: value for each in started for key, value in each.addresses.items()}
        _say("".join(f"  {key:<11} {value}\n" for key, value in addresses.items()))
        yield addresses
    finally:
        _say("Stopping the servers.\n")
        stack.down((), lambda _: None)


@contextmanager
def _straight(folder: Path, database: str) -> Iterator[None]:
    """Let the run capture the database itself; give its slot back after the block."""
    spec = load_spec(folder / "joinery.yaml")
    try:
        yield
    finally:
        for source in spec.sources:
            with suppress(CaptureError):  # a server that is gone holds no slot
                drop_source(*database_of(spec, source))


@contextmanager
def _by_debezium(folder: Path, database: str) -> Iterator[None]:
    """Keep the database captured into Kafka for the length of a block."""
    worker = _stack(folder).service("connect")
    try:
        connect.create(worker, NAME, capture(NAME, database=database, tables=CAPTURED))
        _say("Debezium captures its five tables.\n")
        yield
    finally:
        with suppress(OSError):  # a worker that is gone holds no slot
            connect.delete(worker, NAME)
        with GithubDatabase(database) as link:
            link.release(NAME)


def _close(display: RealDisplay) -> int:
    if display.differing is None:
        return DONE
    if display.differing:
        _say(f"{len(display.differing)} documents differ from the five tables.\n")
        return FAILED
    _say(
        "Every document in OpenSearch and PostgreSQL equals what one query over the five"
        " tables gives.\n"
    )
    return DONE


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
