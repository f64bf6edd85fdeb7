"""Random patterns, as trials on Spark."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.oracle.compare import trials
from tests.oracle.patterns import random_changes, random_project, with_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from joinery.testing.changes import RowChange

TRIALS = trials(40, few=4, together=40)


def make_log(seed: int) -> tuple[str, Sequence[RowChange]]:
    pick = random.Random(seed)
    append, ruled = pick.random() < 0.4, seed % 2 == 1
    project = random_project(pick, append=append, ruled=ruled)
    changes = random_changes(pick, append=append)
    return project, with_rules(pick, changes) if ruled else changes
