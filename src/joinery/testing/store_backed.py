"""A store-backed solution as the test driver takes it: typed values instead of texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from joinery.expression.order import row_key
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.model.type import DataType
from joinery.plan.product import Product
from joinery.semantics.read_change import typed
from joinery.solutions.protocol import DeadDocument, Emissions
from joinery.solutions.stored.groups import key_text
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    Emitted,
    StoreSolution,
)


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
