"""The runs of this process that have not ended, also those whose handle nobody has any more.

A notebook's cell that is run again loses the run that it started, which goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from joinery.spark.batch.run import Run

_STARTED: list[Run] = []


def note_start(run: Run) -> None:
    """Remember a run until it has ended."""
    _STARTED[:] = [*going(), run]


def going() -> tuple[Run, ...]:
    """Return the runs that have not ended, in the order of their starts."""
    return tuple(each for each in tuple(_STARTED) if not each.ended)
