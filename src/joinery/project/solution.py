"""Another solution for a whole project, in place of those that its products name."""

from __future__ import annotations

import difflib
from dataclasses import replace

from joinery.errors import SpecError
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.read_solution import solution_names


def with_solution(spec: ProjectSpec, name: str) -> ProjectSpec:
    """Return the project whose products all have the solution `name`; outboxes keep theirs.

    A product's own options stay where it names that solution already.

    Raises:
        SpecError: There is no such solution.
    """
    known = solution_names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise SpecError(
            f'there is no solution "{name}"',
            detail=f"Known: {', '.join(known)}.",
            hint=f'Use "{near[0]}".' if near else "",
            code="RUN_SELECTION",
        )
    return replace(spec, products=tuple(_changed(each, name) for each in spec.products))


def _changed(product: ProductSpec, name: str) -> ProductSpec:
    if product.outbox or product.solution == name:
        return product
    return replace(product, solution=name, solution_options=())
