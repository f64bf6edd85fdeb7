"""Store-backed solutions by name: those of Joinery, and those of installed packages.

A package adds one by an entry point of the group `joinery.solutions` that names a
`SolutionFactory`. Invariant: a name means one factory; a package cannot replace a built-in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol, cast

from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.project.read_solution import DEFAULT, ENTRY_POINTS
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import StoreSolution

_BUILT_IN: dict[str, str] = {
    "dynamodb": "joinery.solutions.single_table.open:dynamodb",
    "kv": "joinery.solutions.key_value.open:kv",
    "rdbms-store": "joinery.solutions.relational.open:rdbms_store",
    "rdbms-trigger": "joinery.solutions.trigger.open:rdbms_trigger",
}


class NoSolutionError(SpecError):
    """A solution is not installed."""

    code = "RUN_SOLUTION"


@dataclass(frozen=True, slots=True)
class SolutionPlace:
    """What a solution is told of where it runs.

    Attributes:
        folder: Its own, below the query's checkpoint; what is embedded stands there.
        query: The query's name, by which stores that are shared keep queries apart.
        project: Where relative paths of options begin.
        max_document_bytes: Above it a document is a dead letter; None sets no bound.
        owner: Whose join state it is; a store refuses to mix that of two projects.
    """

    folder: Path
    query: str
    project: Path = Path()
    max_document_bytes: int | None = None
    owner: Owner = NOBODY


class SolutionFactory(Protocol):
    """Opens a store-backed solution."""

    def __call__(
        self, products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
    ) -> StoreSolution:
        """Return the solution of one query's products, its store ready.

        Raises:
            StoreError: The store cannot be used as it is; says why and what to do.
            SpecError: The options are not what it takes.
        """


def store_solutions() -> tuple[str, ...]:
    """Return the names of the store-backed solutions that are installed."""
    return tuple(dict.fromkeys((*_BUILT_IN, *sorted(_added()))))


def open_solution(
    name: str, products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
) -> StoreSolution:
    """Return the store-backed solution `name` of one query's products.

    Raises:
        NoSolutionError: It is not installed.
        StoreError: Its store cannot be used.
    """
    return _factory(name)(products, options, place)


def _factory(name: str) -> SolutionFactory:
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        return cast(SolutionFactory, getattr(import_module(module), attribute))
    if entry := _added().get(name):
        return cast(SolutionFactory, entry.load())
    known = ", ".join((DEFAULT, *store_solutions()))
    raise NoSolutionError(f'solution "{name}" is not installed', detail=f"Installed are {known}.")


def _added() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=ENTRY_POINTS)}
