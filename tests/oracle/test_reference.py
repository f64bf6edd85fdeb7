"""The oracle itself under examination, without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.oracle.compare import chosen_seeds, each_seed
from tests.oracle.database import documents
from tests.oracle.history import cut, make_history
from tests.oracle.shape import make_shape

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.project.node import NodeSpec
from joinery.project.product import ProjectSpec
from joinery.semantics.reference import ReferenceSolution
from joinery.testing.conformance.runner import document_line, prefixed
from joinery.testing.conformance.suite import parse

SEEDS = chosen_seeds(150)


def final_documents(plan: Plan, batches: Sequence[Sequence[Change]]) -> dict[str, Any]:
    product = plan.products[0]
    solution = ReferenceSolution(product)
    held: dict[str, Any] = {}
    for number, batch in enumerate(batches, 1):
        for document in solution.apply(batch, number).documents:
            parts = parse(document_line(document, product))
            key = json_key(parts["key"])
            held[key] = parts["value"]
    return {key: value for key, value in held.items() if value is not None}


def counting(project: ProjectSpec) -> ProjectSpec:
    """Return the project without `overflow: fail`, under which the sink keeps old documents."""
    products = tuple(replace(each, root=_counting(each.root)) for each in project.products)
    return replace(project, products=products)


def _counting(node: NodeSpec) -> NodeSpec:
    return replace(node, overflow="count", embed=tuple(_counting(each) for each in node.embed))


def json_key(key: dict[str, Any]) -> str:
    return json.dumps(list(key.values()))


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
