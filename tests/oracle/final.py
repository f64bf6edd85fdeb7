"""The documents that the reference has at the end, of projects in which each is sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from joinery.model.change import Change
from joinery.plan.product import Plan
from joinery.project.node import NodeSpec
from joinery.project.product import ProjectSpec
from joinery.semantics.reference import ReferenceSolution
from joinery.testing.conformance.runner import document_line
from joinery.testing.conformance.suite import parse


def final_documents(plan: Plan, batches: Sequence[Sequence[Change]]) -> dict[str, Any]:
    product = plan.products[0]
    solution = ReferenceSolution(product)
    held: dict[str, Any] = {}
    for number, batch in enumerate(batches, 1):
        for document in solution.apply(batch, number).documents:
            parts = parse(document_line(document, product))
            held[json.dumps(list(parts["key"].values()))] = parts["value"]
    return {key: value for key, value in held.items() if value is not None}


def counting(project: ProjectSpec) -> ProjectSpec:
    """Return the project without `overflow: fail`, under which the sink keeps old documents."""
    products = tuple(replace(each, root=_counting(each.root)) for each in project.products)
    return replace(project, products=products)


def _counting(node: NodeSpec) -> NodeSpec:
    return replace(node, overflow="count", embed=tuple(_counting(each) for each in node.embed))
