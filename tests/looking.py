"""Looks at what is not there yet, which leave the machine to what they wait for."""

from __future__ import annotations

import time

_SHARE = 10
"""Of the time of a wait, looks take this part at most."""


def rest(begun: float, at_least_s: float) -> None:
    """Sleep after a look that began at `begun`, by `time.monotonic`, and did not see it yet."""
    took_s = time.monotonic() - begun
    time.sleep(max(at_least_s, (_SHARE - 1) * took_s))
