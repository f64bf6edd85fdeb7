"""Random stored queries, as trials on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.compare import BATCHES, Trial, prefix, trials
from tests.oracle.searches import Log, random_search

from joinery.plan.build import build_plan
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text

TRIALS = trials(40, few=3, together=20)
TEXT_TRIALS = trials(20, few=3, together=20)
LOG_TRIALS = trials(20, few=3, together=20)


def make_searches(seeds: list[int], make: Callable[[int], Log] = random_search) -> Trial:
    specs = []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        log = make(seed)
        spec = prefixed(load_text(log.project), prefix(seed))
        (product,) = build_plan(joined([spec])).products
        known = {each.name: each for each in product.relations}
        specs.append(spec)
        for number, change in enumerate(log.changes):
            made = change.change(known[prefix(seed) + change.relation])
            batches[number * BATCHES // len(log.changes)].append(made)
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches)))
