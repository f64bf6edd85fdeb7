"""Time, processor time and memory of a command with everything it starts.

Memory is the proportional set size (PSS) of the whole process tree, sampled from /proc, so
shared pages count once. Linux only.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_S = 0.25
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of a command cost."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    returncode: int


class Tree:
    """Samples a process tree until it is gone.

    Attributes:
        bytes: Of each process that lived at the last sample.
    """

    def __init__(self, root: int) -> None:
        self.root, self.peak_bytes = root, 0
        self.cpu_ticks: dict[int, int] = {}
        self.bytes: dict[int, int] = {}

    def sample(self) -> None:
        """Note the memory of the living; remember each one's processor time."""
        self.bytes = {}
        for process in self._members():
            try:
                rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
                fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
            except OSError:
                continue
            self.bytes[process] = 1024 * sum(
                int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")
            )
            after_name = fields.rpartition(")")[2].split()
            self.cpu_ticks[process] = int(after_name[11]) + int(after_name[12])
        self.peak_bytes = max(self.peak_bytes, sum(self.bytes.values()))

    def _members(self) -> set[int]:
        parents: dict[int, int] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    stat = (entry / "stat").read_text(encoding="utf-8")
                except OSError:
                    continue
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        members = {self.root}
        while grown := {each for each, parent in parents.items() if parent in members} - members:
            members |= grown
        return members


def measure(
    command: Sequence[str], *, output: Path, cwd: Path, env: Mapping[str, str], timeout_s: float
) -> Measured:
    """Run `command` to its end, its standard output and error in `output` and `output.err`."""
    output.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=cwd, env=dict(env))
        tree, gone = Tree(process.pid), threading.Event()
        sampler = threading.Thread(target=_sample, args=(tree, gone))
        sampler.start()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        seconds = time.monotonic() - started
        gone.set()
        sampler.join()
    return Measured(
        seconds=round(seconds, 3),
        cpu_seconds=round(sum(tree.cpu_ticks.values()) / TICKS_PER_S, 2),
        peak_bytes=tree.peak_bytes,
        returncode=process.returncode,
    )


def _sample(tree: Tree, gone: threading.Event) -> None:
    while not gone.wait(SAMPLE_S):
        tree.sample()
