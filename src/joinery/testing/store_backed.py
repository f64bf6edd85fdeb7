"""A store-backed solution as the test driver takes it: typed values instead of texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from joinery.engine.json_value import typed
from joinery.engine.key import key_row
from joinery.model.change import Change, DocumentChange
from joinery.model.type import DataType
from joinery.plan.nodes import Product
from joinery.solutions.protocol import DeadDocument, Emissions
from joinery.solutions.store import Batch, Emitted, Outcome, StoreSolution


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

    def _documents(self, name: str, outcome: Outcome) -> list[DocumentChange]:
        root = self._products[name].root
        return [
            DocumentChange(
                name, key_row(root.relation, key), value_of(sent.text, root.output), sent.version
            )
            for key, sent in outcome.emitted.get(name, Emitted()).documents.items()
        ]

    def _dead(self, name: str, outcome: Outcome) -> list[DeadDocument]:
        relation = self._products[name].root.relation
        return [
            DeadDocument(name, key_row(relation, key), reason, detail)
            for key, (reason, detail) in outcome.emitted.get(name, Emitted()).dead.items()
        ]


def value_of(text: str | None, type_: DataType) -> Any:
    """Return the typed value of a document's text."""
    return None if text is None else typed(json.loads(text, parse_float=str), type_)
