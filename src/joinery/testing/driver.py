"""A product under test: changes in, emissions out, without Spark and without servers.

Invariant: each `send` is one batch, and the driver's clock moves one second a batch, so
equal sends give equal emissions, versions included.

A store-backed solution as the test driver takes it: typed values instead of texts.

Join state in dictionaries: each call takes effect at once, as in a store without transactions.

For tests, and as the plainest example of a `JoinState`. It is lost with the process.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

from joinery.errors import JoineryError
from joinery.expression.order import row_key
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.model.type import DataType
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.project.declare_embed import Document
from joinery.semantics.document import SentDocument
from joinery.semantics.read_change import typed
from joinery.semantics.reference import ReferenceSolution
from joinery.semantics.rows import JoinValue, join_value
from joinery.solutions.choose import SolutionPlace, open_solution, store_solutions
from joinery.solutions.protocol import DeadDocument, Emissions, Solution
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.groups import key_text
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    Emitted,
    StoredRow,
    StoreError,
    StoreFencedError,
    StoreSolution,
)
from joinery.testing.changes import ChangeError, RowChange, flat, shown

_Index = dict[JoinValue, dict[Key, Row]]


class MemoryState:
    """The rows of some products' relations."""

    def __init__(self, products: Sequence[Product]) -> None:
        self._sides = {side for product in products for side in _sides(product)}
        self._owner: str | None = None

    def _empty(self, batch: Batch) -> None:
        if batch.number > 0:
            raise StoreError(f"the join state of the batches before {batch.number} is not here")
        self._owner = batch.query_id
        self._rows: dict[str, dict[Key, StoredRow]] = defaultdict(dict)
        self._indexes: dict[tuple[str, tuple[str, ...]], _Index] = {
            side: defaultdict(dict) for side in self._sides
        }
        self._sent: dict[str, dict[Key, SentDocument]] = defaultdict(dict)
        self._marks: dict[str, set[Key]] = defaultdict(set)
        self._epoch = 0
        self._done: tuple[Batch, Mapping[str, Emitted]] | None = None

    def begin(self, batch: Batch) -> bool:
        """Start a batch, or start it again; return whether it was acknowledged before."""
        if batch.query_id != self._owner:
            self._empty(batch)
        if batch.epoch < self._epoch:
            raise StoreFencedError(f"a run with the epoch {self._epoch} keeps its join state here")
        self._epoch = batch.epoch
        return self._done is not None and self._done[0].number == batch.number

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`."""
        stored = self._rows[relation]
        return {key: stored[key] for key in keys if key in stored}

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        index = self._indexes[relation, columns]
        return [row for value in values if value in index for row in index[value].values()]

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Remember roots by product as work to do."""
        for product, keys in roots.items():
            self._marks[product].update(keys)

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return what an earlier try of this batch marked."""
        return {product: set(keys) for product, keys in self._marks.items()}

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys."""
        stored = self._rows[relation]
        for key, row in rows.items():
            self._index(relation, key, stored.get(key), row)
            stored[key] = row

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sink holds."""
        sent = self._sent[product]
        return {key: sent[key] for key in roots if key in sent}

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch."""
        for product, each in emitted.items():
            self._sent[product].update({**each.documents, **each.silent})
        self._marks.clear()
        self._done = batch, emitted

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""
        return self._done[1] if self._done else {}

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and documents that went, before a time."""
        for stored in self._rows.values():
            old = [k for k, row in stored.items() if row.row is None and row.changed_us < before_us]
            for key in old:
                del stored[key]
        for sent in self._sent.values():
            went = [k for k, each in sent.items() if each.text is None and not each.failing]
            for key in went:
                if sent[key].version < before_us:
                    del sent[key]

    def close(self) -> None:
        """Keep everything; a test may go on with the same state."""

    def _index(self, relation: str, key: Key, old: StoredRow | None, new: StoredRow) -> None:
        for (name, columns), index in self._indexes.items():
            if name == relation:
                if old is not None and old.row is not None and old.visible:
                    value = join_value(old.row, columns)
                    if value is not None:
                        index[value].pop(key, None)
                if new.row is not None and new.visible:
                    value = join_value(new.row, columns)
                    if value is not None:
                        index[value][key] = new.row


def _sides(product: Product) -> Sequence[tuple[str, tuple[str, ...]]]:
    """Return the relations and columns by which rows are looked up."""
    root = product.root
    sides = [(root.relation.name, root.relation.key)]
    for node in root.walk():
        for embed in node.embeds:
            sides.append((embed.relation.name, tuple(pair.child for pair in embed.on)))
            sides.append((node.relation.name, tuple(pair.parent for pair in embed.on)))
    return sides


class StoreBacked:
    """Numbers the batches of a solution, and reads its texts back."""

    def __init__(self, solution: StoreSolution, products: Sequence[Product]) -> None:
        self._solution = solution
        self._products = {each.name: each for each in products}
        self._number = 0

    def apply(self, batch: Sequence[Change], timestamp_us: int) -> Emissions:
        """Apply `batch` as the next one."""
        outcome = self._solution.apply(batch, Batch("driver", self._number, 1, timestamp_us))
        self._number += 1
        counters: dict[str, int] = {}
        for counts in [*outcome.relations.values(), *outcome.counters.values()]:
            for name, count in counts.items():
                counters[name] = counters.get(name, 0) + count
        return Emissions(
            tuple(change for name in self._products for change in self._documents(name, outcome)),
            tuple(letter for name in self._products for letter in self._dead(name, outcome)),
            counters,
        )

    def _documents(self, name: str, outcome: BatchResult) -> list[DocumentChange]:
        product = self._products[name]
        row = _key_reader(product)
        ordered = row_key([(each.type, False) for each in product.key.fields])
        found = (
            DocumentChange(name, row(key), value_of(sent.text, product.output), sent.version)
            for key, sent in outcome.emitted.get(name, Emitted()).documents.items()
        )
        return sorted(found, key=lambda each: ordered([*each.key.values()]))

    def _dead(self, name: str, outcome: BatchResult) -> list[DeadDocument]:
        row = _key_reader(self._products[name])
        return [
            DeadDocument(name, row(key), reason, detail)
            for key, (reason, detail) in outcome.emitted.get(name, Emitted()).dead.items()
        ]


def _key_reader(product: Product) -> Callable[[Key], Row]:
    """Return the function from what a store knows a root by to the sink's key."""
    text = key_text(product)
    return lambda key: typed(json.loads(text(key), parse_float=str), product.key)


def value_of(text: str | None, type_: DataType) -> Any:
    """Return the typed value of a document's text."""
    return None if text is None else typed(json.loads(text, parse_float=str), type_)


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
        emitted = self._solution.apply(batch, self._time_us)
        self.counters.update(emitted.counters)
        self.dead_letters.extend(emitted.dead_letters)
        return [self._record(document) for document in emitted.documents]

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
        emitted = self._solution.erase(relation, key, self._time_us)
        return [self._record(document) for document in emitted.documents]

    def until_closed(self) -> list[Emission]:
        """Treat every partition as ended, and return what that sends: all windows close.

        Raises:
            DriverError: The solution is not the reference.
        """
        if not isinstance(self._solution, ReferenceSolution):
            raise DriverError("only the reference can end its partitions")
        self._time_us += BATCH_US
        emitted = self._solution.until_closed(self._time_us)
        return [self._record(document) for document in emitted.documents]

    def documents(self) -> dict[Any, Mapping[str, Any]]:
        """Return the documents that the sink now holds, by root key."""
        return dict(self._documents)

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
        return StoreBacked(StoreDriver([product], MemoryState([product])), [product])
    if isinstance(solution, str):
        if solution not in store_solutions():
            known = ", ".join(("reference", "memory", *store_solutions()))
            raise DriverError(
                f'the driver has no solution "{solution}"',
                detail=f"It has {known}.",
                hint="Or pass the solution itself.",
            )
        place = SolutionPlace(Path(folder or mkdtemp(prefix="joinery-")), product.query)
        return StoreBacked(open_solution(solution, [product], options, place), [product])
    if isinstance(solution, StoreSolution):
        return StoreBacked(solution, [product])
    return solution
