"""The runs of this process that have not ended, also those whose handle nobody has any more.

A notebook's cell that is run again loses the run that it started, which goes on.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from joinery.spark.batch.run import Run

_STARTED: list[Run] = []
_LOCK = threading.Lock()


def note_start(run: Run) -> None:
    """Remember a run until it has ended."""
    with _LOCK:
        _STARTED[:] = [*(each for each in _STARTED if not each.ended), run]


def going() -> tuple[Run, ...]:
    """Return the runs that have not ended, in the order of their starts."""
    with _LOCK:
        return tuple(each for each in _STARTED if not each.ended)
