"""How many processors this process may use."""

from __future__ import annotations

import os


def usable_processors() -> int:
    """Return how many processors this process may run on, at least 1.

    Linux knows which ones a container or `taskset` has left it; other systems, macOS among
    them, know only how many the machine has.
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
