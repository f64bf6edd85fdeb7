"""The store-backed solution of a query, by its name.

A package adds one by an entry point of the group `joinery.solutions` that names its
`SolutionOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from joinery.plan.product import Product
from joinery.project.kinds import SOLUTIONS
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import StoreSolution


@dataclass(frozen=True, slots=True)
class SolutionPlace:
    """What a solution is told of where it runs.

    Attributes:
        folder: Its own, below the query's checkpoint; what is embedded stands there.
        query: The query's name, by which stores that are shared keep queries apart.
        project: Where relative paths of options begin.
        max_document_bytes: Above it a document is a dead letter; None sets no bound.
        owner: Whose join state it is; a store refuses to mix that of two projects.
        beside: It is built beside the one that stands; nothing that others see may name it yet.
    """

    folder: Path
    query: str
    project: Path = Path()
    max_document_bytes: int | None = None
    owner: Owner = NOBODY
    beside: bool = False


@runtime_checkable
class SolutionOptions(Protocol):
    """The options of a store-backed solution; an entry point of `joinery.solutions` names a class.

    Made by `joinery.project.option.options`, which says how a project file gives them. It may
    have a property `server`, see `joinery.solutions.price.Hosted`, a `whole_rows` that is
    true, which has all columns decoded, also those that no product reads, and a method `refuse`,
    see `joinery.plan.unfit.Refusing`.
    """

    def make(self, products: Sequence[Product], place: SolutionPlace) -> StoreSolution:
        """Return the solution of one query's products, its store ready.

        Raises:
            StoreError: The store cannot be used as it is; says why and what to do.
            SpecError: The options do not fit each other, or the products.
        """


def store_solutions() -> tuple[str, ...]:
    """Return the names of the store-backed solutions that are installed."""
    kinds = {name: SOLUTIONS.options(name) for name in SOLUTIONS.names()}
    return tuple(
        name for name, kind in kinds.items() if kind is None or issubclass(kind, SolutionOptions)
    )


def open_solution(
    name: str, products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
) -> StoreSolution:
    """Return the store-backed solution `name` of one query's products.

    Raises:
        UnknownKindError: It is not installed.
        SpecError: The options are not what it takes.
        StoreError: Its store cannot be used.
    """
    solution: StoreSolution = SOLUTIONS.make(name, options, products, place)
    return solution
