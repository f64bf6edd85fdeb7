"""Random logs of events, as trials on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.compare import trials
from tests.oracle.event_logs import random_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from joinery.testing.changes import RowChange

TRIALS = trials(12, few=6, together=12)


def make_log(seed: int) -> tuple[str, Sequence[RowChange]]:
    log = random_log(seed, changes=100 if seed % 6 else 1500)  # States are kept at each 100th.
    return log.project, log.changes
