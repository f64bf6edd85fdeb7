"""Many random projects joined into one, run by a runner and by the reference, compared.

What is compared is the ordered list of emissions of each key, batch by batch, and the dead
letters; a difference names the seed that makes it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.oracle.crowd import make_crowd_history, make_crowd_shape
from tests.oracle.history import cut, make_history
from tests.oracle.shape import Shape, make_shape

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.project.product import ProjectSpec
from joinery.semantics.arrivals import LATE_COUNTERS
from joinery.testing.changes import RowChange
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.runner import ReferenceRunner, Runner, Sent
from joinery.testing.conformance.suite import parse

BATCHES = 6
SEEDS_FILE = Path(__file__).parent / "seeds.txt"


@dataclass(frozen=True, slots=True)
class Trial:
    """Random projects as one, and the batches of all of them together."""

    seeds: tuple[int, ...]
    project: ProjectSpec
    batches: tuple[tuple[Change, ...], ...]


def kept_seeds() -> list[int]:
    """Return the seeds that once failed."""
    lines = SEEDS_FILE.read_text(encoding="utf-8").splitlines()
    return [int(line.split("#")[0]) for line in lines if line.split("#")[0].strip()]


def chosen_seeds(default: int) -> list[int]:
    """Return the kept seeds and as many new ones as the environment asks for."""
    count = int(os.environ.get("JOINERY_ORACLE") or default)
    start = int(os.environ.get("JOINERY_ORACLE_SEED") or 0)
    return list(dict.fromkeys([*kept_seeds(), *range(start, start + count)]))


def each_seed(seeds: Sequence[int], *, few: int) -> list[pytest.ParameterSet]:
    """Return the seeds of a test: a few, and those that once failed, are part of `make test`.

    All others are part of `make exhaustive`. `make oracle` takes all.
    """
    kept = set(kept_seeds())
    return [
        pytest.param(each, marks=_exhaustive(number >= few and each not in kept))
        for number, each in enumerate(seeds)
    ]


def trials(default: int, *, few: int, together: int) -> list[pytest.ParameterSet]:
    """Return the seeds of a test on Spark, each with those whose projects run together.

    A few, beside those that once failed, are the first run, which `make test` has; all others are
    runs of `make exhaustive`. `make oracle` takes all.
    """
    seeds = chosen_seeds(default)
    first = together if _all_asked_for() else len(kept_seeds()) + few
    starts = [0, *range(first, len(seeds), together)]
    parts = [seeds[at:end] for at, end in zip(starts, [*starts[1:], len(seeds)], strict=True)]
    return [
        pytest.param(each, id=f"seeds-{each[0]}-to-{each[-1]}", marks=_exhaustive(number > 0))
        for number, each in enumerate(parts)
    ]


def _exhaustive(others: bool) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.exhaustive,) if others and not _all_asked_for() else ()


def _all_asked_for() -> bool:
    """Return whether `make oracle` says how many seeds there are."""
    return bool(os.environ.get("JOINERY_ORACLE"))


def make_trial(seeds: Iterable[int]) -> Trial:
    """Return the projects of `seeds` under the prefixes `s<seed>_`."""
    kept = kept_seeds()  # What once failed stays as it was.
    shapes = {seed: make_shape(seed, logs=seed not in kept) for seed in seeds}
    return _trial(shapes, make_history)


def make_through_trial(seeds: Iterable[int]) -> Trial:
    """Return projects whose lists are reached through other relations."""
    return _trial({seed: make_shape(seed, through=True) for seed in seeds}, make_history)


def make_crowded_trial(seeds: Iterable[int]) -> Trial:
    """Return one project a seed, with hundreds of wide rows at a few join values."""
    return _trial({seed: make_crowd_shape(seed) for seed in seeds}, make_crowd_history)


def _trial(shapes: dict[int, Shape], history: Callable[[int, Plan], list[Change]]) -> Trial:
    specs = {seed: prefixed(shape.project, prefix(seed)) for seed, shape in shapes.items()}
    batches: list[list[Change]] = [[] for _ in range(BATCHES)]
    for seed, spec in specs.items():
        changes = history(seed, build_plan(spec))
        for batch, part in zip(batches, cut(seed, changes, BATCHES), strict=True):
            batch += part
    return Trial(tuple(shapes), joined(specs.values()), tuple(tuple(batch) for batch in batches))


def trial_of_logs(
    seeds: Sequence[int], make: Callable[[int], tuple[str, Sequence[RowChange]]]
) -> Trial:
    """Return one project a seed with its log, cut into equal parts.

    Args:
        seeds: Each makes a project of one product.
        make: Returns the project and the changes of its relations, for a seed.
    """
    specs: list[ProjectSpec] = []
    batches: list[list[Change]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        text, changes = make(seed)
        specs.append(prefixed(load_text(text), prefix(seed)))
        relations = {e.name: e for e in build_plan(specs[-1]).products[0].relations}
        for number, each in enumerate(changes):
            change = each.change(relations[prefix(seed) + each.relation])
            batches[number * BATCHES // len(changes)].append(change)
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches)))


def of_all_forms(trials: Mapping[str, Trial]) -> Trial:
    """Return trials as one, the names of each under that of its form."""
    batches = [
        tuple(
            replace(change, relation=f"{form}_{change.relation}")
            for form, trial in trials.items()
            for change in trial.batches[number]
        )
        for number in range(BATCHES)
    ]
    seeds = tuple(seed for trial in trials.values() for seed in trial.seeds)
    project = joined(prefixed(trial.project, f"{form}_") for form, trial in trials.items())
    return Trial(seeds, project, tuple(batches))


def prefix(seed: int) -> str:
    return f"s{seed}_"


def failures(trial: Trial, runner: Runner) -> list[str]:
    """Return a line for each product, named by its seed, on which `runner` differs."""
    expected = ReferenceRunner().run(trial.project, trial.batches)
    received = runner.run(trial.project, trial.batches)
    found = (
        (product.name, difference(expected, received, product.name))
        for product in trial.project.products
    )
    return [f"{name}: {told}" for name, told in found if told]


def difference(expected: Sequence[Sent], received: Sequence[Sent], product: str) -> str:
    """Return the first batch in which a product sent something else; empty where none."""
    if len(expected) != len(received):
        return f"{len(received)} batches, expected {len(expected)}"
    for number, (left, right) in enumerate(zip(expected, received, strict=True), 1):
        wanted, got = _emissions(left, product), _emissions(right, product)
        if wanted != got:
            return f"batch {number} sent {_only(got, wanted)}, expected {_only(wanted, got)}"
        if sorted(left.dead.get(product, ())) != sorted(right.dead.get(product, ())):
            dead = left.dead.get(product), right.dead.get(product)
            return f"batch {number} has the dead letters {dead[1]}, expected {dead[0]}"
        if (counted := _late(left, product)) != (late := _late(right, product)):
            return f"batch {number} counts {late}, expected {counted}"
    return ""


def _late(sent: Sent, product: str) -> dict[str, int]:
    counted = (sent.found or {}).get(product, {})
    return {each: counted[each] for each in LATE_COUNTERS if counted.get(each)}


def _emissions(sent: Sent, product: str) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for line in sent.lines.get(product, ()):
        parts = parse(line)
        found.setdefault(repr(parts["key"]), []).append(parts["value"])
    return found


def _only(these: dict[str, list[object]], those: dict[str, list[object]]) -> str:
    return str({key: value for key, value in these.items() if those.get(key) != value})
