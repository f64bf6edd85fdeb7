"""The oracle itself under examination, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from tests.oracle.compare import chosen_seeds, each_seed
from tests.oracle.database import documents
from tests.oracle.final import counting, final_documents
from tests.oracle.history import cut, make_history
from tests.oracle.shape import make_shape

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.testing.conformance.joined import prefixed

SEEDS = chosen_seeds(150)


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=40))
def test_the_reference_agrees_with_a_database(seed: int) -> None:
    project = make_shape(seed, plain=True).project
    plan = build_plan(project)
    changes = make_history(seed, plan, plain=True)

    computed = final_documents(plan, cut(seed, changes, 5))

    assert documents(project, changes) == computed


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=40))
def test_documents_do_not_depend_on_how_changes_were_cut(seed: int) -> None:
    plan = build_plan(counting(make_shape(seed).project))
    changes = make_history(seed, plan)

    whole = final_documents(plan, [changes, []])

    assert whole == final_documents(plan, [[each] for each in changes])


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=40))
def test_documents_do_not_depend_on_the_order_between_keys(seed: int) -> None:
    plan = build_plan(counting(make_shape(seed).project))
    changes = make_history(seed, plan)
    shuffled = shuffle_between_keys(seed, changes)

    whole = final_documents(plan, [changes])

    assert whole == final_documents(plan, cut(seed, shuffled, 4))


def shuffle_between_keys(seed: int, changes: Sequence[Change]) -> list[Change]:
    random = Random(f"shuffle {seed}")
    logs: dict[str, list[Change]] = {}
    for change in changes:
        logs.setdefault(f"{change.relation} {change.key}", []).append(change)
    shuffled: list[Change] = []
    while logs:
        name = random.choice(sorted(logs))
        shuffled.append(logs[name].pop(0))
        if not logs[name]:
            del logs[name]
    return shuffled


def test_a_prefix_changes_nothing_but_names() -> None:
    shape = make_shape(7)

    renamed = prefixed(shape.project, "x_")

    assert {f"x_{each.name}" for each in shape.project.relations} == {
        each.name for each in renamed.relations
    }
    assert build_plan(renamed).products[0].name == "x_p"
