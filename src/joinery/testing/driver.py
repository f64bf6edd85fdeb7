"""A product under test: changes in, emissions out, without Spark and without servers.

Invariant: each `send` is one batch, and the driver's clock moves one second a batch, so
equal sends give equal emissions, versions included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

from joinery.errors import JoineryError
from joinery.model.change import Change, DocumentChange, Row
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.support import missing
from joinery.project.declare_embed import Document
from joinery.semantics.reference import ReferenceSolution
from joinery.solutions.choose import SolutionPlace, open_solution, store_solutions
from joinery.solutions.protocol import DeadDocument, Emissions, Solution
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import (
    StoreSolution,
)
from joinery.testing.changes import ChangeError, RowChange, flat, shown
from joinery.testing.memory_state import MemoryState
from joinery.testing.store_backed import StoreBacked

BATCH_US = 1_000_000


class Planned(Protocol):
    """Anything that has a plan, such as a product of a loaded project."""

    @property
    def plan(self) -> Product:
        """The product's logical plan."""


class DriverError(JoineryError):
    """A driver is asked for a solution that it cannot drive."""

    code = "TEST_DRIVER"


@dataclass(frozen=True, slots=True)
class Emission:
    """What the sink receives for one root key.

    Two emissions are equal when key and value are; the version is left out, so that a
    test can write what it expects.

    Attributes:
        key: The root key: its only column's value, or a tuple of several; of a match that of
            the query and that of the document.
        value: The document, None for a tombstone.
        version: Strictly increasing for its key.
    """

    key: Any
    value: Mapping[str, Any] | None
    version: int = field(default=0, compare=False)


def upsert(key: Any, value: Mapping[str, Any]) -> Emission:
    """Return the emission of a whole document."""
    return Emission(key, value)


def gone(key: Any) -> Emission:
    """Return the emission of a tombstone."""
    return Emission(key, None)


class Driver:
    """Runs one product and shows what it sends.

    Args:
        product: A product of a project, its plan, or what `jn.document` makes.
        solution: `"reference"`, `"memory"` (the driver of store-backed solutions over rows in
            memory), a store-backed solution by name, or a solution made for this product.
        options: Of a solution by name, as in a project file.
        folder: Where a solution by name keeps what is embedded; a temporary one by default.

    Raises:
        DriverError: There is no such solution, or it cannot run the product.
    """

    def __init__(
        self,
        product: Product | Planned | Document,
        solution: str | Solution | StoreSolution = "reference",
        *,
        options: Mapping[str, object] | None = None,
        folder: str | Path | None = None,
    ) -> None:
        self.product = _plan(product)
        if self.product.outbox:
            raise DriverError(f'product "{self.product.name}" has an outbox, and no documents')
        self.counters: Counter[str] = Counter()
        self.dead_letters: list[DeadDocument] = []
        self._solution = _solution(solution, self.product, options or {}, folder)
        self._relations = {each.name: each for each in self.product.relations}
        self._documents: dict[Any, Mapping[str, Any]] = {}
        self._time_us = 0

    def send(self, *changes: Change | RowChange | Iterable[Change | RowChange]) -> list[Emission]:
        """Send one batch of changes, in log order, and return its emissions in key order."""
        batch = [self._change(each) for each in flat(changes)]
        self._time_us += BATCH_US
        return self._sent(self._solution.apply(batch, self._time_us))

    def erase(self, relation: str, key: Any) -> list[Emission]:
        """Erase the subject that is a row of a relation, and return what is sent again.

        Raises:
            DriverError: The solution is not the reference, or nothing of the relation is personal.
        """
        if not isinstance(self._solution, ReferenceSolution):
            raise DriverError("only the reference can erase")
        if self._relation(relation).personal is None:
            raise DriverError(f'relation "{relation}" has no personal columns')
        self._time_us += BATCH_US
        return self._sent(self._solution.erase(relation, key, self._time_us))

    def until_closed(self) -> list[Emission]:
        """Treat every partition as ended, and return what that sends: all windows close.

        Raises:
            DriverError: The solution is not the reference.
        """
        if not isinstance(self._solution, ReferenceSolution):
            raise DriverError("only the reference can end its partitions")
        self._time_us += BATCH_US
        return self._sent(self._solution.until_closed(self._time_us))

    def documents(self) -> dict[Any, Mapping[str, Any]]:
        """Return the documents that the sink now holds, by root key."""
        return dict(self._documents)

    def _sent(self, emitted: Emissions) -> list[Emission]:
        self.counters.update(emitted.counters)
        self.dead_letters.extend(emitted.dead_letters)
        return [self._record(document) for document in emitted.documents]

    def _record(self, document: DocumentChange) -> Emission:
        key = _plain_key(document.key)
        if document.value is None:
            self._documents.pop(key, None)
        else:
            self._documents[key] = shown(document.value, self.product.output)
        return Emission(key, self._documents.get(key), document.version)

    def _change(self, told: Change | RowChange) -> Change:
        if isinstance(told, Change):
            return told
        return told.change(self._relation(told.relation))

    def _relation(self, name: str) -> Relation:
        if name not in self._relations:
            raise ChangeError(
                f'product "{self.product.name}" reads no relation "{name}"',
                detail=f"It reads {', '.join(self._relations)}.",
            )
        return self._relations[name]


def _plan(product: object) -> Product:
    """Return the plan of a product, in one of the ways in which it is given.

    Raises:
        DriverError: It is none.
        ProjectErrors: It cannot be planned.
    """
    if isinstance(product, Document):
        from joinery.app.project import Project

        product = Project(products=[product]).products[product.spec.name]
    plan = getattr(product, "plan", product)  # of a project's product, or of what is none
    if isinstance(plan, Product):
        return plan
    raise DriverError(
        f"an object of type {type(product).__name__} is not a product",
        hint='Pass one such as project.products["profile"].',
    )


def _refuse_missing(product: Product, solution: str, *, told: str) -> None:
    """Refuse a product of which a solution would leave something out.

    Raises:
        DriverError: It cannot run the product yet.
    """
    found = missing(replace(product, solution=solution))
    if found is not None:
        raise DriverError(
            f'the solution {told} cannot run "{product.name}" yet: {found.what}',
            hint='Leave solution out: "reference" computes it.',
        )


def _plain_key(key: Row) -> Any:
    """Return a key's only column's value, or a tuple of several; so too of an object in it."""
    values = tuple(_plain_key(e) if isinstance(e, Mapping) else e for e in key.values())
    return values[0] if len(values) == 1 else values


def _solution(
    solution: str | Solution | StoreSolution,
    product: Product,
    options: Mapping[str, object],
    folder: str | Path | None,
) -> Solution:
    if solution == "reference":
        return ReferenceSolution(product)
    if any(each.personal is not None for each in product.relations):
        raise DriverError(f'product "{product.name}" has personal columns, only for the reference')
    if solution == "memory":
        _refuse_missing(product, "dynamodb", told=solution)  # which keeps documents alone, too
        return StoreBacked(StoreDriver([product], MemoryState([product])), [product])
    if isinstance(solution, str):
        if solution not in store_solutions():
            known = ", ".join(("reference", "memory", *store_solutions()))
            raise DriverError(
                f'the driver has no solution "{solution}"',
                detail=f"It has {known}.",
                hint="Or pass the solution itself.",
            )
        _refuse_missing(product, solution, told=solution)
        place = SolutionPlace(Path(folder or mkdtemp(prefix="joinery-")), product.query)
        return StoreBacked(open_solution(solution, [product], options, place), [product])
    if isinstance(solution, StoreSolution):
        return StoreBacked(solution, [product])
    return solution
