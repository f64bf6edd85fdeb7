"""The changes that one document depends on, found in logs without going through all of them.

From the root down: all changes of the root's key, the values in them that an embed joins on, the
changes that have these, all changes of the keys that these are of, and so on.

Invariant: what a `DocumentLog` tells of the key over the changes found, it tells over all of them.
Each value of a row was set by some change, so a row that ever joined is found by that value; the
change that made it stop joining is found by the row's key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from joinery.model.change import Change, Key
from joinery.model.type import WHOLE_NUMBERS, DataType, Decimal
from joinery.plan.node import Node, Through
from joinery.plan.product import Product
from joinery.plan.relation import JoinPair, Relation
from joinery.provenance.roots import ways
from joinery.semantics.rows import JoinValue

_TOLD_ALIKE = frozenset({"string", "boolean", "date", "timestamp", "timestamp_ntz", "binary"})


class Search(Protocol):
    """Finds changes of logs, each known by a number."""

    def holding(
        self, relation: Relation, columns: Sequence[str], values: Collection[JoinValue]
    ) -> set[int]:
        """Return the changes that tell some value of columns; more where that is simpler.

        Args:
            relation: Whose changes they are.
            columns: Of those that `sought_columns` names.
            values: One value per column, as rows have them.
        """

    def changes(self, numbers: Collection[int]) -> Mapping[int, Change]:
        """Return changes that were found, but for those that turn out to be none."""


class Sought:
    """Finds what documents of a product depend on, each of which adds to what was found.

    Attributes:
        found: The numbers of the changes.
    """

    def __init__(self, product: Product, search: Search) -> None:
        self.found: set[int] = set()
        self._root, self._search = product.root, search
        self._followed: dict[str, set[Key]] = {}
        self._of_key: dict[str, dict[Key, list[Change]]] = {}

    def document(self, key: Key) -> None:
        """Find what the document of a key depends on."""
        self._follow(self._root, [key])

    def row(self, relation: Relation, key: Key) -> None:
        """Find all changes of a row, and of what leads to it."""
        changes = self._changes(relation, [key])
        for node in self._root.walk():
            if node.through is not None and node.relation == relation:
                self._leading(node, node.through, changes)

    def roots(self, relation: Relation, key: Key) -> None:
        """Find all changes of a row, and of the rows between it and the roots above it."""
        changes = self._changes(relation, [key])
        for way in ways(self._root):
            node = way[-1]
            if node.relation == relation:
                self._climb(way, changes)
            if node.through is not None and node.through.relation == relation:
                self._climb(way[:-1], self._above(way[-2], node.through.on, changes))

    def _follow(self, node: Node, keys: Iterable[Key]) -> None:
        known = self._followed.setdefault(node.path, set())
        new = [each for each in dict.fromkeys(keys) if each not in known]
        known.update(new)
        changes = self._changes(node.relation, new)
        for embed in node.embeds:
            if changes:
                self._follow(embed, self._below(embed, changes))

    def _climb(self, way: Sequence[Node], changes: Sequence[Change]) -> None:
        """Find what stands above rows of the last node of a way."""
        while len(way) > 1 and changes:
            node, on = way[-1], way[-1].on
            if node.through is not None:
                changes, on = self._leading(node, node.through, changes), node.through.on
            way = way[:-1]
            changes = self._above(way[-1], on, changes)

    def _above(
        self, node: Node, on: Sequence[JoinPair], below: Sequence[Change]
    ) -> Sequence[Change]:
        return self._changes(node.relation, self._joining(node.relation, _turned(on), below))

    def _leading(self, node: Node, through: Through, below: Sequence[Change]) -> Sequence[Change]:
        """Return the changes of what leads to rows of an embed."""
        keys = self._joining(through.relation, _turned(node.on), below)
        return self._changes(through.relation, keys)

    def _below(self, embed: Node, above: Sequence[Change]) -> Collection[Key]:
        """Return the keys of rows that an embed may show below some rows."""
        if embed.through is None:
            return self._joining(embed.relation, embed.on, above)
        between, bound = embed.through.relation, embed.through.hot_above
        leading = self._changes(between, self._joining(between, embed.through.on, above))
        if bound is not None:  # All that lead to the same rows are counted.
            to = [JoinPair(each.parent, each.parent, each.type) for each in embed.on]
            self._changes(between, self._joining(between, to, leading))
        return self._joining(embed.relation, embed.on, leading)

    def _joining(
        self, relation: Relation, on: Sequence[JoinPair], above: Sequence[Change]
    ) -> set[Key]:
        """Return the keys of which some change has a value that rows above had, for each pair."""
        told = {each.child: {*_values(above, each.parent)} for each in on}
        if not all(told.values()):
            return set()
        held = {
            name: self._search.holding(relation, [name], [(each,) for each in values])
            for name, values in told.items()
        }
        rarest, *others = sorted(told, key=lambda each: len(held[each]))
        changes = self._search.changes(held[rarest]).values()
        keys = {_key(each) for each in changes if _value(each, rarest) in told[rarest]}
        for name in others:
            of_keys = self._changes(relation, keys)
            keys = {_key(each) for each in of_keys if _value(each, name) in told[name]}
        return keys

    def _changes(self, relation: Relation, keys: Collection[Key]) -> Sequence[Change]:
        """Return all changes of some keys."""
        of_key = self._of_key.setdefault(relation.name, {})
        new = {each for each in keys if each not in of_key}
        of_key.update((each, []) for each in new)
        held = self._search.holding(relation, relation.key, new) if new else ()
        for number, change in self._search.changes(held).items():
            key = _key(change)
            if key in new:
                of_key[key].append(change)
                self.found.add(number)
        return [change for each in keys for change in of_key[each]]


def _turned(on: Sequence[JoinPair]) -> list[JoinPair]:
    return [JoinPair(each.parent, each.child, each.type) for each in on]


def _key(change: Change) -> Key:
    return tuple(change.key.values())


def _values(changes: Iterable[Change], column: str) -> Iterator[Any]:
    return (value for each in changes if (value := _value(each, column)) is not None)


def _value(change: Change, column: str) -> Any:
    return change.key[column] if column in change.key else (change.after or {}).get(column)


def sought_columns(product: Product) -> dict[str, set[str]]:
    """Return, by relation, the columns by which changes are sought for a product that can be."""
    found = {each.name: {*each.key} for each in product.relations}
    for node in product.root.walk():
        for embed in node.embeds:
            for relation, above, pairs in _joins(node, embed):
                found[relation.name].update(each.child for each in pairs)
                found[above.name].update(each.parent for each in pairs)
    return found


def can_seek(product: Product) -> bool:
    """Return whether what a document of a product depends on can be sought by values of columns."""
    if any(each.personal is not None for each in product.relations):
        return False
    return all(
        _is_sought(each, relation, relation, JoinPair(column, column, relation.type_of(column)))
        for each in product.root.walk()
        for relation in each.relations
        for column in relation.key
    ) and all(
        _is_sought(embed, relation, above, pair)
        for node in product.root.walk()
        for embed in node.embeds
        for relation, above, pairs in _joins(node, embed)
        for pair in pairs
    )


def _joins(node: Node, embed: Node) -> Iterable[tuple[Relation, Relation, Sequence[JoinPair]]]:
    """Return which relation is joined with which, and by what."""
    if embed.through is None:
        return [(embed.relation, node.relation, embed.on)]
    between = embed.through.relation
    return [(between, node.relation, embed.through.on), (embed.relation, between, embed.on)]


def _is_sought(node: Node, relation: Relation, above: Relation, pair: JoinPair) -> bool:
    """Return whether a join value reads the same in the rows below as in the row above."""
    declared = {each.name for each in relation.columns}, {each.name for each in above.columns}
    if pair.child not in declared[0] or pair.parent not in declared[1]:
        return False
    if not relation.key or node.as_of is not None:
        return False
    one, other = relation.type_of(pair.child), above.type_of(pair.parent)
    return _alike(one, other)


def _alike(one: DataType, other: DataType) -> bool:
    if str(one) in WHOLE_NUMBERS and str(other) in WHOLE_NUMBERS:
        return True
    return one == other and (isinstance(one, Decimal) or str(one) in _TOLD_ALIKE)
