"""Processes that outlive the command which started them, found again by id and start time.

Invariant: a signal goes only to a process that started when the recorded one did, so that an
id which the system gave to another process is left alone.

Asking a server of this machine over HTTP, with what it answered as plain values.

How the Java servers of the stack are kept small, and what their log lines look like.

Free ports of this machine's own address, below those the system hands to clients.

A port that was chosen is reserved until its server listens, so that two that start at once
do not choose the same. Only Linux lets a server listen where another socket is bound.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import RunError, needs_extra

if TYPE_CHECKING:
    from types import ModuleType

    import psutil

_SAME_START_S = 2.0  # the start time is counted from the boot time, which clocks may correct
_STOPPED_S, _POLL_S = 10.0, 0.005


class ExtraMissingError(RunError):
    """The libraries of the local stack are not installed."""

    code = "RUN_STACK_EXTRA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a server process is started.

    Attributes:
        command: The program, by its path, and its arguments.
        environment: Added to the environment of this process.
        folder: Its working directory.
        user: Whom it runs as where this process is root; empty for nobody else.
    """

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """Names one process for good: its id, and when it started (seconds since 1970)."""

    pid: int
    started_at: float


def spawn(launch: Launch, log: Path, *, tied: bool) -> ProcessId:
    """Start a process in a session of its own, what it prints appended to `log`.

    Args:
        launch: What to start.
        log: Grows by what the process prints.
        tied: Whether the process is killed when the thread that started it ends in
            whatever way (only where `setpriv` is installed).
    """
    process = _psutil().Process
    command = as_user(launch.user, launch.command)
    with log.open("ab") as out:
        child = subprocess.Popen(
            _tied(command) if tied else command,
            cwd=launch.folder,
            env={**os.environ, **launch.environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return ProcessId(child.pid, process(child.pid).create_time())


def as_user(user: str, command: tuple[str, ...]) -> tuple[str, ...]:
    """Return `command` so that root runs it as `user`; as it is for everybody else.

    The right to enter folders is kept, since root's own are often closed to other users.
    """
    if not user or os.geteuid() != 0:
        return command
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise RunError(
            f"cannot start {Path(command[0]).name} as root",
            detail="It refuses root, and `setpriv` (util-linux) is not on the PATH.",
            hint="Run as another user, or install util-linux.",
        )
    entering = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    return (setpriv, f"--reuid={user}", f"--regid={user}", "--clear-groups", *entering, *command)


def _tied(command: tuple[str, ...]) -> tuple[str, ...]:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return command
    if command[0] == setpriv:
        return (setpriv, "--pdeathsig=KILL", *command[1:])
    return (setpriv, "--pdeathsig=KILL", *command)


def alive(process: ProcessId) -> bool:
    """Tell whether the process still runs (or is suspended)."""
    return _find(process) is not None


def suspended(process: ProcessId) -> bool:
    """Tell whether the process is stopped by SIGSTOP."""
    found = _find(process)
    return found is not None and found.status() == _psutil().STATUS_STOPPED


def resident_bytes(process: ProcessId) -> int:
    """Return the memory that the process and its children hold; 0 once it has ended."""
    total = 0
    for each in _tree(process):
        with suppress(_psutil().NoSuchProcess):
            total += each.memory_info().rss
    return total


def end(process: ProcessId, how: signal.Signals, *, within_s: float) -> None:
    """Ask the process to end, and kill it with its children when it takes too long."""
    tree = _tree(process)
    if tree:
        with suppress(_psutil().NoSuchProcess):
            tree[0].send_signal(signal.SIGCONT)
            tree[0].send_signal(how)
        _, left = _psutil().wait_procs(tree, timeout=within_s)
        _kill(left)


def kill(process: ProcessId) -> None:
    """Kill the process and its children (SIGKILL), and wait until they are gone."""
    _kill(_tree(process))


def suspend(process: ProcessId) -> None:
    """Stop the process and its children in their tracks (SIGSTOP), and wait until they are."""
    tree = _tree(process)
    _signal(tree, signal.SIGSTOP)
    until = time.monotonic() + _STOPPED_S
    while not all(map(_stopped, tree)) and time.monotonic() < until:
        time.sleep(_POLL_S)


def resume(process: ProcessId) -> None:
    """Let a suspended process and its children go on (SIGCONT)."""
    _signal(_tree(process), signal.SIGCONT)


def _stopped(process: psutil.Process) -> bool:
    library = _psutil()
    try:
        return bool(process.status() in {library.STATUS_STOPPED, library.STATUS_ZOMBIE})
    except library.NoSuchProcess:
        return True


def _kill(processes: list[psutil.Process]) -> None:
    _signal(processes, signal.SIGKILL)
    _psutil().wait_procs(processes, timeout=10)


def _signal(processes: list[psutil.Process], what: signal.Signals) -> None:
    for each in processes:
        with suppress(_psutil().NoSuchProcess):
            each.send_signal(what)


def _find(process: ProcessId) -> psutil.Process | None:
    library = _psutil()
    try:
        found = library.Process(process.pid)
        same = abs(found.create_time() - process.started_at) <= _SAME_START_S
        return found if same and found.status() != library.STATUS_ZOMBIE else None
    except library.NoSuchProcess:
        return None


def _tree(process: ProcessId) -> list[psutil.Process]:
    """Return the process and its children, the parent first; nothing once it has ended."""
    found = _find(process)
    try:
        return [] if found is None else [found, *found.children(recursive=True)]
    except _psutil().NoSuchProcess:
        return []


def _psutil() -> ModuleType:
    message = "the local stack needs libraries that are not installed"
    with needs_extra("stack", message, ExtraMissingError):
        return importlib.import_module("psutil")


# Never through a proxy: the servers are on this machine.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url: str, *, method: str = "GET", body: object = None, within_s: float = 10.0) -> object:
    """Return the JSON that a server answers; None where the answer is empty.

    Raises:
        OSError: The server is not there, or answers with an error (`HTTPError`).
    """
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data=data, method=method)
    asked.add_header("Content-Type", "application/json")
    with _opener.open(asked, timeout=within_s) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def answers(url: str) -> object:
    """Return the JSON that a server answers, or None where it does not (yet)."""
    try:
        return ask(url, within_s=2)
    except (OSError, HTTPException, ValueError):
        return None


SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSX",
)


HOST = "127.0.0.1"
PORTS = range(20000, 30000)
_random = random.SystemRandom()


def free_port(among: range = PORTS, taken: Iterable[int] = ()) -> int:
    """Return a port on which nobody listens, other than those `taken`."""
    left = [each for each in among if each not in set(taken)]
    _random.shuffle(left)
    for port in left:
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))  # not where another is bound, reserved ones included
            return port
    raise RunError(f"no port from {among.start} to {among.stop - 1} is free")


@contextmanager
def reserved(ports: Iterable[int]) -> Iterator[None]:
    """Keep others from choosing some ports for the length of a block."""
    with ExitStack() as stack:
        for port in ports if sys.platform == "linux" else ():
            holder = stack.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):  # taken meanwhile: its server will say so
                holder.bind((HOST, port))
        yield


def is_free(port: int) -> bool:
    """Tell whether a server could listen on `port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
