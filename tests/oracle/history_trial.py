"""Random histories, as trials on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.compare import trials
from tests.oracle.histories import random_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from joinery.testing.changes import RowChange

TRIALS = trials(80, few=4, together=40)


def make_log(seed: int) -> tuple[str, Sequence[RowChange]]:
    log = random_log(seed, changes=80, known=seed % 3 == 1)
    return log.project, log.changes
