"""Random projects with lists through other relations: the reference against SQLite."""

from __future__ import annotations

import pytest
from tests.oracle.compare import chosen_seeds, each_seed
from tests.oracle.database import documents
from tests.oracle.final import counting, final_documents
from tests.oracle.history import cut, make_history
from tests.oracle.shape import make_shape

from joinery.plan.build import build_plan

SEEDS = chosen_seeds(150)


def test_most_projects_have_such_lists() -> None:
    shapes = [make_shape(seed, through=True).project for seed in SEEDS]

    led = [any(each.through for each in one.products[0].root.walk()) for one in shapes]

    assert sum(led) > len(SEEDS) / 2


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=40))
def test_the_reference_agrees_with_a_database(seed: int) -> None:
    project = make_shape(seed, plain=True, through=True).project
    plan = build_plan(project)
    changes = make_history(seed, plan, plain=True)

    computed = final_documents(plan, cut(seed, changes, 5))

    assert documents(project, changes) == computed


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=40))
def test_documents_do_not_depend_on_how_changes_were_cut(seed: int) -> None:
    plan = build_plan(counting(make_shape(seed, through=True).project))
    changes = make_history(seed, plan)

    whole = final_documents(plan, [changes, []])

    assert whole == final_documents(plan, [[each] for each in changes])
