"""Who keeps the documents of `book` in OpenSearch: Joinery, and PGSync in two of its ways.

Invariant: a side has a database, an index and a folder of its own, and nothing runs beside it.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

import psutil

from bench.compare.contenders import Peer
from bench.harness.builds import BENCH, Build
from bench.kafka.latency import wait

_ENDS_S = 60.0
_PEER = Peer("pgsync", "requirements-pgsync.txt", "", ())
Process = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a side works.

    Attributes:
        server: The URL of the PostgreSQL server, without a database.
        database: Its own database.
        opensearch: The node's URL.
        index: Its own index.
        redis: The URL of a Redis server.
        folder: Its own folder.
        slots: Tells how many slots its database has.
        servers: The processes of PostgreSQL, OpenSearch and Redis.
    """

    server: str
    database: str
    opensearch: str
    index: str
    redis: str
    folder: Path
    slots: Callable[[], int]
    servers: tuple[int, ...]

    @property
    def log(self) -> Path:
        """What it says."""
        return self.folder / "log"

    def processor_s(self, *runs: int) -> float:
        """Return the processor seconds so far: of the servers, of runs, and of what has ended."""
        ended = os.times()
        return sum(map(_processor_s, (*self.servers, *runs))) + (
            ended.children_user + ended.children_system
        )

    @contextmanager
    def running(self, command: list[str], env: Mapping[str, str]) -> Iterator[Process]:
        """Run a command for the length of a block."""
        with self.log.open("ab") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=out, cwd=self.folder, env={**os.environ, **env}
            )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_ENDS_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def run(self, command: list[str], env: Mapping[str, str]) -> None:
        """Run a command to its end."""
        with self.log.open("ab") as out:
            subprocess.run(
                command,
                stdout=out,
                stderr=out,
                cwd=self.folder,
                env={**os.environ, **env},
                check=True,
            )


def _processor_s(pid: int) -> float:
    total, root = 0.0, psutil.Process(pid)
    for each in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


class Side(Protocol):
    """Keeps the documents of a database in an index."""

    @property
    def name(self) -> str:
        """How it is called."""

    def install(self) -> None:
        """Create what it needs; nothing where that stands."""

    def version(self) -> str:
        """Name the version that runs."""

    def running(self, place: Place) -> AbstractContextManager[Process]:
        """Fill the index and go on, for the length of a block."""

    def follows(self, place: Place) -> bool:
        """Tell whether it follows changes, its index being filled."""


@dataclass(frozen=True, slots=True)
class Joinery:
    """This project, with the source `postgres`."""

    settings: tuple[str, ...] = ()
    name: str = "joinery"
    options: ClassVar[tuple[str, ...]] = ()

    def install(self) -> None:
        """Do nothing: it is this checkout."""

    def version(self) -> str:
        """Name the version."""
        import joinery

        return f"joinery {joinery.__version__}"

    @contextmanager
    def running(self, place: Place) -> Iterator[Process]:
        """Run the project."""
        project = place.folder / "joinery.yaml"
        project.write_text(Path(__file__).with_name("book.yaml").read_text())
        told = {"DATABASE": f"{place.server}/{place.database}"}
        told |= {"OPENSEARCH": place.opensearch, "INDEX": place.index}
        command = [str(Build().joinery), "run", project.name, *self.options]
        command += [f"--set={each}" for each in self.settings]
        with place.running(command, {f"BENCH_{name}": each for name, each in told.items()}) as run:
            yield run

    def follows(self, place: Place) -> bool:
        """Tell so at once: the index is filled from the log's spool."""
        return True


@dataclass(frozen=True, slots=True)
class JoineryRealTime(Joinery):
    """The same in real-time mode, once it has caught up in batches."""

    name: str = "joinery-real-time"
    options: ClassVar[tuple[str, ...]] = ("--real-time",)

    def follows(self, place: Place) -> bool:
        """Tell whether it said so: what comes after batches is counted as live."""
        return '"live": true' in place.log.read_text(errors="replace")


@dataclass(frozen=True, slots=True)
class PGSync:
    """PGSync's daemon: triggers notify it, and Redis holds what they tell.

    Attributes:
        settings: Of its environment, over its defaults.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = "pgsync"

    def install(self) -> None:
        """Create its environment."""
        _PEER.install()

    def version(self) -> str:
        """Name its version and settings."""
        return " ".join(
            [_PEER.version(), *(f"{name}={each}" for name, each in self.settings.items())]
        )

    @contextmanager
    def running(self, place: Place) -> Iterator[Process]:
        """Bootstrap, then run the daemon, which first fills the index."""
        env = environment(place, self.settings)
        place.run(_command("bootstrap", place), env)
        with place.running(_command("pgsync", place, "--daemon"), env) as run:
            yield run

    def follows(self, place: Place) -> bool:
        """Tell whether it said so: it shows its state from then on."""
        return f"Sync {place.database}:{place.index}" in place.log.read_text(errors="replace")


@dataclass(frozen=True, slots=True)
class PGSyncLog(PGSync):
    """PGSync as a reader of the database's log, without triggers and Redis."""

    name: str = "pgsync-wal"

    @contextmanager
    def running(self, place: Place) -> Iterator[Process]:
        """Make the slot, fill the index, then follow the log.

        It makes a slot without triggers only where it goes on to follow it, and fills the index
        only where it does not.
        """
        env = environment(place, self.settings)
        follow = _command("pgsync", place, "--wal")
        with place.running([*follow, "--bootstrap"], env) as run:
            wait(lambda: place.slots() > 0, run, place.log)
        place.run(_command("pgsync", place), env)
        with place.running(follow, env) as run:
            yield run

    def follows(self, place: Place) -> bool:
        """Tell so at once: the block begins once the index is filled."""
        return True


def environment(place: Place, settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return what PGSync is told by its environment."""
    schema = (BENCH / "peers" / "pgsync_book.json").read_text()
    schema = schema.replace("@DATABASE@", place.database).replace("@INDEX@", place.index)
    (place.folder / "schema.json").write_text(schema)
    return {
        "PG_URL": f"{place.server}/{place.database}",
        "OPENSEARCH": "true",
        "ELASTICSEARCH": "false",
        "ELASTICSEARCH_URL": place.opensearch,
        "REDIS_URL": place.redis,
        "CHECKPOINT_PATH": str(place.folder),
        "PYTHONUNBUFFERED": "1",
        **settings,
    }


def _command(name: str, place: Place, *options: str) -> list[str]:
    program = str(_PEER.environment / "bin" / name)
    return [str(_PEER.python), program, "--config", str(place.folder / "schema.json"), *options]


SIDES = {
    "joinery": Joinery,
    "joinery-real-time": JoineryRealTime,
    "pgsync": PGSync,
    "pgsync-wal": PGSyncLog,
}
