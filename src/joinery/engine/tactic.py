"""How the affected roots of a product, and their documents, are found in a store.

`RowTactic` does both over rows, with any store. A store that computes can offer another one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Protocol

from joinery.engine.climb import Climb, Image
from joinery.engine.document import Built, judged
from joinery.engine.fold import Find, Fold
from joinery.engine.scope import Findings
from joinery.engine.table import join_values
from joinery.plan.nodes import Product
from joinery.solutions.store import JoinState, Key

_TOGETHER = 10_000


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

    def counters(self, now: Find, before: Callable[[], Find]) -> Counter[str]:
        """Return what was counted since the last call.

        Args:
            now: Finds the rows.
            before: Returns what finds rows as they were before the batch.
        """


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
        self._made: dict[Key, None] = {}
        self._keys = join_values(product.root.relation, product.root.relation.key)

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return the affected roots, level by level."""
        return self._climb.roots(images, state)

    def documents(self, keys: Sequence[Key], state: JoinState) -> Mapping[Key, Built]:
        """Return the documents of some roots, from the rows below them."""
        self._made.update(dict.fromkeys(keys))
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

    def counters(self, now: Find, before: Callable[[], Find]) -> Counter[str]:
        """Return the expressions that began to fail, and the `one` embeds that met several rows.

        Where an expression failed, documents are made again: of many roots at once, as a row that
        stands in several is counted once; and of the rows before the batch.
        """
        found, keys = self._findings.taken(), list(self._made)
        self._made.clear()
        counted: Counter[str] = Counter()
        if found.multiple:
            counted["multiple_matches"] = len(found.multiple - self._multiple(found, before()))
        for at in range(0, len(keys), _TOGETHER) if found.failures else ():
            some = keys[at : at + _TOGETHER]
            more = self._failures(some, now) - self._failures(some, before())
            counted["expression_errors"] += max(0, more)
        return +counted

    def _multiple(self, found: Findings, find: Find) -> set[tuple[str, Key]]:
        """Return those of the join values with several rows that had several."""
        values: dict[str, set[Key]] = defaultdict(set)
        for path, value in found.multiple:
            values[path].add(value)
        had = {
            (path, value)
            for path, some in values.items()
            for value in self._fold.several(path, some, find)
        }
        self._findings.taken()
        return had

    def _failures(self, keys: Sequence[Key], find: Find) -> int:
        relation = self._root.relation
        self._fold.fold(find(relation.name, relation.key, keys), find)
        return self._findings.taken().failures

    def findings(self) -> Findings:
        """Return what was found since the last call, for the same tactic in another process."""
        self._made.clear()
        return self._findings.taken()

    def add(self, findings: Findings, keys: Sequence[Key]) -> None:
        """Add what the same tactic found over some roots in another process."""
        self._findings.failures += findings.failures
        self._findings.multiple |= findings.multiple
        self._made.update(dict.fromkeys(keys))
