"""The command `joinery run` as a process of its own, with what it tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.looking import rest

import joinery

LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Command:
    """A run under way.

    Attributes:
        process: The command.
        output: Takes its JSON lines.
    """

    process: subprocess.Popen[bytes]
    output: Path

    def told(self, event: str) -> list[Mapping[str, Any]]:
        """Return the lines of one kind so far."""
        lines = self.output.read_bytes().split(b"\n")[:-1]
        return [each for each in map(json.loads, lines) if each["event"] == event]

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until something holds, or the command has ended."""
        begun = time.monotonic()
        deadline = begun + LIMIT_S
        while not condition():
            assert self.process.poll() is None, f"the command has ended: {self.ended()}"
            assert time.monotonic() < deadline, "it takes too long"
            rest(begun, 0.05)
            begun = time.monotonic()

    def end(self) -> tuple[int, str]:
        """Ask the command to end; return its exit code and what it wrote as errors."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and what was written as errors."""
        _, errors = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, errors.decode()


@contextmanager
def joinery_run(folder: Path, *arguments: str) -> Iterator[Command]:
    """Keep `joinery run` going in a folder for the length of a block."""
    with program_run(folder, "-m", "joinery.cli.main", "run", *arguments) as command:
        yield command


@contextmanager
def program_run(folder: Path, *program: str) -> Iterator[Command]:
    """Keep a program of Python going in a folder for the length of a block."""
    output = folder / "told.jsonl"
    # The code that is tested, not one that is installed.
    environment = {**os.environ, "PYTHONPATH": str(Path(joinery.__file__).parents[1])}
    with (
        output.open("wb") as lines,
        subprocess.Popen(
            [sys.executable, *program],
            cwd=folder,
            env=environment,
            stdout=lines,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        try:
            yield Command(process, output)
        finally:
            process.kill()
