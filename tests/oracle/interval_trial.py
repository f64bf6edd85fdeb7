"""Random intervals, as trials on Spark."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.oracle.compare import BATCHES, Trial, prefix, trials
from tests.oracle.intervals import (
    Log,
    random_alike,
    random_append,
    random_append_alike,
    random_forgetting,
    random_log,
    random_partial,
)

from joinery.plan.build import build_plan
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text

if TYPE_CHECKING:
    from collections.abc import Iterable


TRIALS = trials(60, few=4, together=60)


def deep(log: Log, seed: int) -> str:
    """Return a project whose interval hangs below another embed, in some of all cases."""
    if log.closed or random.Random(seed).random() < 0.5:
        return log.project
    near = log.project.partition("    embed:\n")[2].partition("    values:")[0]
    below = "".join(f"    {line}\n" for line in near.splitlines() if line.strip())
    values = "{count: size(all), total: sum(all.n), most: max(all.n)}"
    return (
        log.project.partition("products:")[0]
        + f"""  g: {{key: [u], fields: {{u: string}}}}
products:
  p:
    root: g
    embed:
      rows:
        many: r
        on: [u]
        fields: [id, x]
        embed:
{below}        values: {values}
"""
    )


def make_forgetting(seeds: list[int]) -> Trial:
    """Return projects that forget soon, leave out late rows, or leave columns out, as one."""
    logs = [(random_partial if seed % 2 else random_forgetting)(seed) for seed in seeds]
    return _joined(seeds, [(log, log.project) for log in logs])[0]


def make_alike(seeds: list[int]) -> Trial:
    """Return projects whose intervals have the rows of their roots, as one."""
    logs = [random_alike(seed, recent=seed % 3 == 0) for seed in seeds]
    return _joined(seeds, [(log, log.project) for log in logs])[0]


def make_appended(seeds: list[int]) -> Trial:
    """Return projects whose relations are logs, as one."""
    logs = [(random_append if seed % 3 else random_append_alike)(seed) for seed in seeds]
    return _joined(seeds, [(log, log.project) for log in logs])[0]


def make_intervals(seeds: list[int]) -> tuple[Trial, list[list[int]]]:
    """Return projects as one, and for each how many records each batch ends after."""
    logs = [(random_log(seed), seed) for seed in seeds]
    return _joined(seeds, [(log, deep(log, seed)) for log, seed in logs])


def _joined(seeds: list[int], logs: Iterable[tuple[Log, str]]) -> tuple[Trial, list[list[int]]]:
    specs, ends = [], []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed, (log, project) in zip(seeds, logs, strict=True):
        spec = prefixed(load_text(project), prefix(seed))
        relations = {each.name: each for each in build_plan(spec).products[0].relations}
        specs.append(spec)
        for number, change in enumerate(log.changes):
            relation = relations[prefix(seed) + change.relation]
            batches[number * BATCHES // len(log.changes)].append(change.change(relation))
        ends.append([-(-len(log.changes) * each // BATCHES) for each in range(1, BATCHES + 1)])
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches))), ends
