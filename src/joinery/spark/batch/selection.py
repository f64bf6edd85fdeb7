"""Chooses what a run starts: whole queries, and no rebuild of an outbox.

Invariant: products of one group are chosen together or not at all.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.project.product import ProjectSpec


class SelectionError(SpecError):
    """The arguments of a run name something that the project does not have."""

    code = "RUN_SELECTION"


class OutboxRefusedError(SpecError):
    """An outbox cannot do what a run is asked for."""

    code = "RUN_OUTBOX"


def check_runnable(spec: ProjectSpec) -> None:
    """See that a project has something to run, before Spark starts for it.

    Raises:
        SelectionError: It has neither products nor streams that have a name, as a sink gives it.
    """
    if not spec.products and not spec.streams:
        raise _nothing()


def select_queries(
    products: Sequence[Product], names: Sequence[str] = ()
) -> Mapping[str, tuple[Product, ...]]:
    """Return the products to run, by query.

    Args:
        products: All products of the project.
        names: Those to run; empty means all.

    Raises:
        SelectionError: A product is not known, or only a part of a group is named.
    """
    if not products:
        raise _nothing()
    known = tuple(each.name for each in products)
    for name in names:
        if name not in known:
            raise _unknown("product", name, known)
    chosen = tuple(each for each in products if not names or each.name in names)
    queries: dict[str, tuple[Product, ...]] = {}
    for product in chosen:
        queries[product.query] = (*queries.get(product.query, ()), product)
    for query, members in queries.items():
        _check_whole(query, members, products)
    return queries


def _nothing() -> SelectionError:
    return SelectionError(
        "the project has nothing to run",
        detail="It has no products, and none of its streams has a sink.",
        hint="Add a product, or a sink to a stream: in Python end it with .sink(…).",
    )


def _check_whole(query: str, members: Sequence[Product], products: Sequence[Product]) -> None:
    missing = [each.name for each in products if each.query == query and each not in members]
    if missing:
        raise SelectionError(
            f'products of group "{query}" run together',
            detail=f"Left out: {', '.join(missing)}.",
            hint=f"Name them too: {' '.join(f'--product {name}' for name in missing)}.",
        )


def _unknown(kind: str, name: str, known: Sequence[str]) -> SelectionError:
    near = difflib.get_close_matches(name, known, n=1)
    return SelectionError(
        f'there is no {kind} "{name}"',
        detail=f"Known: {', '.join(known)}.",
        hint=f'Use "{near[0]}".' if near else "",
    )


def check_rebuildable(chosen: Mapping[str, Sequence[Product]]) -> None:
    """Refuse to rebuild an outbox: its events would all be sent again.

    Raises:
        OutboxRefusedError: There is one among the products.
    """
    for products in chosen.values():
        for product in products:
            if product.outbox:
                raise OutboxRefusedError(
                    f'product "{product.name}" has an outbox, which cannot be rebuilt',
                    detail="Its events were sent, and would all be sent again.",
                    hint="Name the products to rebuild: --product NAME.",
                )
