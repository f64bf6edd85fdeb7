"""How the affected roots of a product, and their documents, are found in a store.

`RowTactic` does both over rows, with any store. A store that computes can offer another one.

Which roots a batch affects: from the rows that changed upward, edge by edge.

Both images of a changed row climb, over the rows as they stood before the batch. That is
enough: a row that itself changed climbs from its own images.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Protocol

from joinery.expression.typed import Expression
from joinery.model.change import Key, Row
from joinery.model.type import Atomic, DataType
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import Computed
from joinery.semantics.document import Built, judged
from joinery.semantics.rows import Findings
from joinery.solutions.stored.column import join_values
from joinery.solutions.stored.fold import Find, Fold
from joinery.solutions.stored.state import JoinState, RowFinder

Image = tuple[Row | None, Row | None]
"""A row as products saw it before a batch, and as they see it afterwards."""

_PLAIN = tuple("boolean byte short int long string binary date timestamp timestamp_ntz".split())


class Climb:
    """Finds the affected roots of one product."""

    def __init__(self, root: Node) -> None:
        self._levels = [Level(node) for node in reversed(list(root.walk()))]
        self._parents = {embed.path: node for node in root.walk() for embed in node.embeds}

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return the keys of all roots whose document may show one of `images` of a relation."""
        found: dict[str, list[Sequence[Row]]] = defaultdict(list)
        for level in self._levels:
            touched = list(level.touched(images.get(level.node.relation.name, ())))
            values: set[Any] = set(level.values_of(touched))
            values.update(*map(level.values_of, found[level.path]))
            values.discard(None)
            parent = self._parents.get(level.path)
            if parent is None:
                return values
            if values:
                found[parent.path].append(
                    state.matching(parent.relation.name, level.parent_columns, values)
                )
        raise AssertionError("the last level is the root")


class Level:
    """One node: what of its relation's changes it shows, and how it leads to its parent."""

    def __init__(self, node: Node) -> None:
        self.node, self.path = node, node.path
        self.child_columns = tuple(pair.child for pair in node.on)
        columns = self.child_columns or node.relation.key
        self.values_of = join_values(node.relation, columns)
        self.parent_columns = tuple(pair.parent for pair in node.on)
        self._seen = seen_by(node)

    def touched(self, images: Iterable[Image]) -> Iterator[Row]:
        """Yield the images of rows of which this node sees a change."""
        seen = self._seen
        for old, new in images:
            if old is None or new is None or seen(old) != seen(new):
                if old is not None:
                    yield old
                if new is not None:
                    yield new


def seen_by(node: Node) -> Callable[[Row], Any]:
    """Return the function from a row to what a node sees of it; equal means the same object."""
    columns = columns_of(node)
    plain = [each for each in columns if _is_plain(node.relation.type_of(each))]
    rest = [each for each in columns if each not in plain]
    known = itemgetter(*plain) if plain else None
    if not rest and known is not None:
        return known
    # Zeros of both signs, and maps in another order, are equal and have other texts.
    return lambda row: (known(row) if known else (), repr([row[each] for each in rest]))


def columns_of(node: Node) -> tuple[str, ...]:
    """Return the columns of a node's relation that its objects, or its joins, depend on."""
    named = {pair.child for pair in node.on}
    named |= {pair.parent for embed in node.embeds for pair in embed.on}
    for expression in _expressions(node):
        named |= expression.references
    return tuple(
        each.name
        for each in node.relation.row.fields
        if each.name in named or each.name in node.relation.key
    )


def _expressions(node: Node) -> Iterator[Expression]:
    computed: tuple[Computed, ...] = (*node.fields, *node.values)
    yield from (each.expression for each in computed)
    yield from (each.expression for each in node.order)
    if node.where is not None:
        yield node.where


def _is_plain(kind: DataType) -> bool:
    return isinstance(kind, Atomic) and kind.name in _PLAIN


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

    def documents(self, keys: Sequence[Key], state: RowFinder) -> Mapping[Key, Built]:
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
