"""One server of the local stack: its folder, its ports, its process.

A service is its recipe and its folder; what else there is to know (ports, process) stands in
the folder's `service.json`, so that any process can find, stop or restart it.

Invariant: a restart finds the same ports and the same data, unless somebody else took a port.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from joinery.dev import process
from joinery.dev.port import free_port, is_free, reserved
from joinery.dev.process import Launch, ProcessId
from joinery.errors import RunError
from joinery.files import write_whole

_POLL_S = 0.05
_TAIL_LINES = 12


class ServiceError(RunError):
    """A server of the local stack did not start, or is not there."""

    code = "RUN_SERVICE"


class Recipe(Protocol):
    """How one kind of server is laid out, started and asked whether it is ready."""

    @property
    def name(self) -> str:
        """Such as `kafka`; also its folder's name."""

    @property
    def ports(self) -> Mapping[str, range]:
        """The names of the ports it needs, each with the range it must lie in."""

    @property
    def stops_by(self) -> signal.Signals:
        """The signal that makes it end in good order."""

    @property
    def start_s(self) -> float:
        """How long a start may take."""

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Fetch what is needed, write settings and first data. Safe to repeat."""

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the server answers; never raises because it does not."""

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return what a client is told, by the name of its environment variable."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What `service.json` remembers: the ports, and the process once there was one."""

    ports: Mapping[str, int] = field(default_factory=dict)
    process: ProcessId | None = None


class State(Enum):
    """What can become of a server, in the words of `joinery dev status`."""

    ABSENT = "never started"
    STOPPED = "stopped"
    ENDED = "ended by itself"
    SUSPENDED = "suspended"
    SILENT = "not answering"
    READY = "ready"


class Service:
    """A server of the local stack.

    Args:
        recipe: What kind of server it is.
        folder: Where its settings, its data and its log are kept.
        tied: Whether a process started here is killed when the starting thread ends.
    """

    def __init__(self, recipe: Recipe, folder: Path, *, tied: bool = False) -> None:
        self.recipe = recipe
        self.folder = folder.absolute()
        self._tied = tied

    @property
    def name(self) -> str:
        """The recipe's name."""
        return self.recipe.name

    @property
    def log(self) -> Path:
        """The file that holds what the server printed."""
        return self.folder / "log"

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports by name; empty before the first start."""
        return self._standing().ports

    @property
    def addresses(self) -> Mapping[str, str]:
        """What a client is told, by the name of its environment variable."""
        ports = self.ports
        if not ports:
            raise ServiceError(f"{self.name} was never started", hint="Start it first.")
        return self.recipe.addresses(ports)

    @property
    def address(self) -> str:
        """The first of `addresses`: bootstrap servers, or a URL."""
        return next(iter(self.addresses.values()))

    @property
    def pid(self) -> int | None:
        """The id of the running process, or None."""
        found = self._process()
        return None if found is None else found.pid

    @property
    def running(self) -> bool:
        """Whether the process runs, also when it is suspended."""
        return self._process() is not None

    @property
    def ready(self) -> bool:
        """Whether the server answers now."""
        return self.state is State.READY

    @property
    def state(self) -> State:
        """What has become of the server."""
        standing = self._standing()
        if standing.process is None:
            return State.STOPPED if standing.ports else State.ABSENT
        if not process.alive(standing.process):
            return State.ENDED
        if process.suspended(standing.process):
            return State.SUSPENDED
        return State.READY if self.recipe.ready(standing.ports) else State.SILENT

    @property
    def resident_bytes(self) -> int:
        """The memory that the process and its children hold."""
        found = self._process()
        return 0 if found is None else process.resident_bytes(found)

    def start(self) -> Service:
        """Start the server where it does not run, and wait until it is ready.

        Raises:
            ServiceError: It ended, or was not ready in the recipe's time; the server is
                stopped again, and the error tells the end of its log.
        """
        try:
            if self.running:
                self.wait_until_ready()
            else:
                self._launch()
        except BaseException:
            self.kill()
            raise
        return self

    def wait_until_ready(self, within_s: float | None = None) -> None:
        """Wait until the server answers; `within_s` replaces the recipe's time.

        Raises:
            ServiceError: It ended, or did not answer in time.
        """
        limit_s = self.recipe.start_s if within_s is None else within_s
        until = time.monotonic() + limit_s
        while not self.ready:
            if not self.running:
                raise self._failed("ended while it started")
            if time.monotonic() > until:
                raise self._failed(f"was not ready within {limit_s:g} s")
            time.sleep(_POLL_S)

    def stop(self, within_s: float = 20.0) -> None:
        """End the server in good order; kill it when that takes longer than `within_s`."""
        self._forget(lambda found: process.end(found, self.recipe.stops_by, within_s=within_s))

    def kill(self) -> None:
        """Kill the server and its children at once (SIGKILL)."""
        self._forget(process.kill)

    def suspend(self) -> None:
        """Stop the server in its tracks (SIGSTOP)."""
        process.suspend(self._running())

    def resume(self) -> None:
        """Let a suspended server go on (SIGCONT)."""
        process.resume(self._running())

    def restart(self) -> Service:
        """Stop and start on the same ports and data."""
        self.stop()
        return self.start()

    @contextmanager
    def started(self) -> Iterator[Service]:
        """Keep the server running for the length of a block, then stop it.

        It does not outlive this process either, however that ends.
        """
        tied = Service(self.recipe, self.folder, tied=True)
        try:
            yield tied.start()
        finally:
            tied.stop()

    def _launch(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = self._choose_ports()
        with reserved(ports.values()):
            self._remember(Remembered(ports))
            launch = self.recipe.prepare(self.folder, ports)
            self._remember(Remembered(ports, process.spawn(launch, self.log, tied=self._tied)))
            self.wait_until_ready()

    def _choose_ports(self) -> dict[str, int]:
        """Return the ports of last time as far as they are still free."""
        last = self.ports
        chosen: dict[str, int] = {}
        for name, among in self.recipe.ports.items():
            port = last.get(name)
            if port is None or not is_free(port):
                port = free_port(among, chosen.values())
            chosen[name] = port
        return chosen

    def _process(self) -> ProcessId | None:
        known = self._standing().process
        return known if known is not None and process.alive(known) else None

    def _running(self) -> ProcessId:
        found = self._process()
        if found is None:
            raise ServiceError(f"{self.name} is not running", hint="Start it first.")
        return found

    def _forget(self, ending: Callable[[ProcessId], None]) -> None:
        if found := self._process():
            ending(found)
        if self._file.exists():
            self._remember(Remembered(self.ports))

    @property
    def _file(self) -> Path:
        return self.folder / "service.json"

    def _standing(self) -> Remembered:
        try:
            told = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Remembered()
        known = told["process"]
        return Remembered(told["ports"], ProcessId(**known) if known else None)

    def _remember(self, standing: Remembered) -> None:
        write_whole(self._file, json.dumps(asdict(standing)), synced=False)

    def _failed(self, how: str) -> ServiceError:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = "\n".join(lines[-_TAIL_LINES:]) or "It printed nothing"
        failed = ServiceError(f"{self.name} {how}", detail=said, hint=f"Its log is {self.log}.")
        failed.add_note(said)
        return failed
