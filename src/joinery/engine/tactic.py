"""How the affected roots of a product, and their documents, are found in a store.

`RowTactic` does both over rows, with any store. A store that computes can offer another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Protocol

from joinery.engine.climb import Climb, Image
from joinery.engine.document import Built, judged
from joinery.engine.fold import Fold
from joinery.engine.scope import Findings
from joinery.engine.table import join_values
from joinery.plan.nodes import Product
from joinery.solutions.store import JoinState, Key


class Tactic(Protocol):
    """Finds the roots and the documents of one product."""

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return the roots whose document may show one of the rows, called before they are written.

        Args:
            images: Of changed rows, by relation.
            state: The store.
        """

    def documents(self, keys: Sequence[Key], state: JoinState) -> Mapping[Key, Built]:
        """Return the documents of some roots; a root that has none is left out."""

    def counters(self) -> Counter[str]:
        """Return what was counted since the last call."""


class RowTactic:
    """Climbs and folds over rows.

    Args:
        product: Its documents are assembled.
        max_bytes: Above it a document fails; None sets no bound.
    """

    def __init__(self, product: Product, max_bytes: int | None) -> None:
        self._root = product.root
        self._climb = Climb(product.root)
        self._findings = Findings()
        self._fold = Fold(product.root, self._findings, value=False, text=True)
        self._max_bytes = max_bytes
        self._keys = join_values(product.root.relation, product.root.relation.key)

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return the affected roots, level by level."""
        return self._climb.roots(images, state)

    def documents(self, keys: Sequence[Key], state: JoinState) -> Mapping[Key, Built]:
        """Return the documents of some roots, from the rows below them."""
        relation = self._root.relation
        rows = state.matching(relation.name, relation.key, keys)
        folded = self._fold.fold(rows, state.matching)
        overflowed = folded.overflowed or repeat(())
        return {
            key: judged(text, {}, paths, max_bytes=self._max_bytes)
            for key, text, paths in zip(
                self._keys(folded.rows), folded.texts, overflowed, strict=False
            )
            if key is not None
        }

    def counters(self) -> Counter[str]:
        """Return the expressions that failed and the `one` embeds with several rows."""
        findings = self.findings()
        return +Counter(
            expression_errors=findings.failures, multiple_matches=len(findings.multiple)
        )

    def findings(self) -> Findings:
        """Return what was found since the last call."""
        found = Findings(self._findings.failures, set(self._findings.multiple))
        self._findings.failures = 0
        self._findings.multiple.clear()
        return found

    def add(self, findings: Findings) -> None:
        """Add what the same tactic found in another process."""
        self._findings.failures += findings.failures
        self._findings.multiple |= findings.multiple
