"""Processes that outlive the command which started them, found again by id and start time.

Invariant: a signal goes only to a process that started when the recorded one did, so that an
id which the system gave to another process is left alone.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
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

    Raises:
        RunError: Root lacks the program `setpriv`.
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
