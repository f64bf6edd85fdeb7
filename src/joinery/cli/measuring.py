"""Shows how far `joinery solutions` is: a bar on a terminal, a line a solution elsewhere.

Invariant: all of it goes to standard error, so that standard output has the result alone.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from joinery.model.progress import BatchProgress

if TYPE_CHECKING:
    from rich.progress import Progress


class Measuring(Protocol):
    """Shows a measurement of some solutions, one after the other."""

    def prepare(self) -> None:
        """Spark is about to start."""

    def begin(self, solution: str) -> None:
        """A solution is measured from now on."""

    def batch(self, batch: BatchProgress) -> None:
        """One batch of it is through."""

    def end(self) -> None:
        """Nothing is measured any more."""


def measuring_for_output(solutions: int, changes: int) -> Measuring:
    """Return what fits standard error.

    Args:
        solutions: How many are measured.
        changes: About how many each of them reads.
    """
    terminal = sys.stderr.isatty()
    return TerminalMeasuring(solutions, changes) if terminal else LineMeasuring(solutions)


class LineMeasuring:
    """A line when a solution begins."""

    def __init__(self, solutions: int) -> None:
        self._solutions = solutions
        self._begun = 0

    def prepare(self) -> None:
        """Say why nothing is seen for some seconds."""
        self._say("starting Spark")

    def begin(self, solution: str) -> None:
        """Say which one of how many."""
        self._begun += 1
        self._say(f"measuring {solution} ({self._begun} of {self._solutions})")

    def batch(self, batch: BatchProgress) -> None:
        """Nothing to say: a line a solution is enough."""

    def end(self) -> None:
        """Nothing to say: the result follows."""

    def _say(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class TerminalMeasuring:
    """A bar of the solution at hand, which is gone at the end."""

    def __init__(self, solutions: int, changes: int) -> None:
        self._solutions, self._changes = solutions, changes
        self._begun = 0
        self._bar = _bar()
        self._task = self._bar.add_task("starting Spark", total=None)

    def prepare(self) -> None:
        """Say why nothing is seen for some seconds."""
        self._bar.start()

    def begin(self, solution: str) -> None:
        """Show an empty bar."""
        self._begun += 1
        told = f"{solution} ({self._begun} of {self._solutions})"
        self._bar.reset(self._task, description=told, total=self._changes)

    def batch(self, batch: BatchProgress) -> None:
        """Fill the bar by what the batch read."""
        self._bar.advance(self._task, batch.read)

    def end(self) -> None:
        """Take the bar away."""
        self._bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("changes"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
