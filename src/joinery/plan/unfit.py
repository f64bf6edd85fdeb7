"""Which options of solutions do not fit their products, told before a store is opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from joinery.errors import JoineryError
from joinery.plan.product import Plan, Product
from joinery.project.kinds import SOLUTIONS
from joinery.project.product import ProjectSpec


@runtime_checkable
class Refusing(Protocol):
    """Options of a solution that can tell without its store which products they do not fit."""

    def refuse(self, products: Sequence[Product]) -> None:
        """Refuse the products of one query.

        Raises:
            JoineryError: The options do not fit them, or the store could not keep them.
        """


def unfit_options(spec: ProjectSpec, plan: Plan) -> Iterator[JoineryError]:
    """Yield a problem, at its place, for each query whose products its options do not fit."""
    queries: dict[str, list[Product]] = {}
    for each in plan.products:
        if not each.outbox:
            queries.setdefault(each.query, []).append(each)
    for products in queries.values():
        first = products[0]
        if SOLUTIONS.options(first.solution) is None:
            continue
        options = SOLUTIONS.read(first.solution, dict(first.solution_options))
        if not isinstance(options, Refusing):
            continue
        try:
            options.refuse(products)
        except JoineryError as error:
            if error.location is None:
                error.location = spec.locate(("products", first.name, "solution"))
            yield error
