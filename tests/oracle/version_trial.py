"""Random versions of a time, as trials on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.as_of import random_log
from tests.oracle.compare import trials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from joinery.testing.changes import RowChange

TRIALS = trials(40, few=4, together=40)


def make_log(seed: int) -> tuple[str, Sequence[RowChange]]:
    log = random_log(seed)
    return log.project, log.changes
