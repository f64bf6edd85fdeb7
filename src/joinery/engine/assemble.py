"""The assembly rules: a row and the rows below it, to the object a node shows.

Invariant: an object depends on the rows that exist and on nothing else: not on the order
of rows, nor on what stood before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joinery.engine.aggregate import aggregate
from joinery.engine.failure import EvaluationError
from joinery.engine.order import row_key
from joinery.engine.render import key_text
from joinery.engine.rows import Matching, join_value
from joinery.engine.scope import (
    Findings,
    fields_scope,
    guarded,
    rank_scope,
    values_scope,
)
from joinery.model.change import Row
from joinery.plan.nodes import Aggregate, Node


@dataclass(frozen=True, slots=True)
class Assembled:
    """The object of one row.

    Attributes:
        value: What the node shows, in the order of its output.
        rank: Sorts siblings: by `order`, then by key.
        key_text: The text of the row's key, for a map.
        overflowed: The paths of embeds with `overflow: fail` that are above their limit,
            in this object or below it.
    """

    value: dict[str, Any]
    rank: Any
    key_text: str
    overflowed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one embed gives its parent: the value, and all objects before the limit."""

    value: Any
    objects: Sequence[Assembled]
    overflowed: tuple[str, ...]


class Assembler:
    """Builds the objects of one node and of all nodes below it."""

    def __init__(self, node: Node, findings: Findings) -> None:
        self.node = node
        self._findings = findings
        self._below = tuple(Assembler(embed, findings) for embed in node.embeds)
        seen, ranked, valued = fields_scope(node), rank_scope(node), values_scope(node)
        self._fields = [(f.name, guarded(f.expression, seen, findings)) for f in node.fields]
        self._values = [(v.name, guarded(v.expression, valued, findings)) for v in node.values]
        self._where = guarded(node.where, ranked, findings) if node.where else None
        self._order = [guarded(each.expression, ranked, findings) for each in node.order]
        self._aggregates = [_Aggregating(each, node, findings) for each in node.aggregates]
        self._key_types = [node.relation.type_of(column) for column in node.relation.key]
        order = [(each.expression.type, each.descending) for each in node.order]
        self._rank_key = row_key(order + [(type_, False) for type_ in self._key_types])
        self._child_columns = tuple(pair.child for pair in node.on)
        self._parent_columns = tuple(pair.parent for pair in node.on)

    def assemble(self, row: Row, rows: Matching) -> Assembled | None:
        """Return the object of `row`, None where the node's `where` leaves it out."""
        gathered = {each.node.name: each.gather(row, rows) for each in self._below}
        seen = {**row, **{e.name: gathered[e.name].value for e in self._embeds("one")}}
        fields = {name: evaluate(seen) for name, evaluate in self._fields}
        values = self._compute_values(fields, gathered)
        ranked = {**seen, **values}
        if self._where is not None and self._where(ranked) is not True:
            return None
        return Assembled(
            value={**fields, **self._visible(gathered), **values},
            rank=self._rank(row, ranked),
            key_text=key_text([row[column] for column in self.node.relation.key], self._key_types),
            overflowed=tuple(path for each in gathered.values() for path in each.overflowed),
        )

    def gather(self, parent: Row, rows: Matching) -> Gathered:
        """Return what the node, an embed, gives the row `parent` of the node above it."""
        value = join_value(parent, self._parent_columns)
        matching = rows.matching(self.node.relation.name, self._child_columns, value)
        assembled = (self.assemble(row, rows) for row in matching)
        objects = sorted((each for each in assembled if each is not None), key=lambda o: o.rank)
        if self.node.cardinality == "many":
            return self._list(objects)
        if len(objects) > 1 and value is not None:
            self._findings.multiple.add((self.node.path, value))
        return Gathered(
            value=objects[0].value if objects else None,
            objects=objects,
            overflowed=objects[0].overflowed if objects else (),
        )

    def _list(self, objects: Sequence[Assembled]) -> Gathered:
        node = self.node
        kept = objects[: node.limit]
        below = tuple(path for each in kept for path in each.overflowed)
        over = node.overflow == "fail" and len(kept) < len(objects)
        value = {o.key_text: o.value for o in kept} if node.keyed else [o.value for o in kept]
        return Gathered(value, objects, (node.path, *below) if over else below)

    def _compute_values(
        self, fields: Mapping[str, Any], gathered: Mapping[str, Gathered]
    ) -> dict[str, Any]:
        embeds = {name: each.value for name, each in gathered.items()}
        aggregates = {a.name: a.over(gathered[a.embed].objects) for a in self._aggregates}
        scope = {**fields, **embeds, **self._totals(gathered), **aggregates}
        values: dict[str, Any] = {}
        for name, evaluate in self._values:
            values[name] = scope[name] = evaluate(scope)
        return values

    def _totals(self, gathered: Mapping[str, Gathered]) -> dict[str, int]:
        embeds = self.node.embeds
        return {e.total_name: len(gathered[e.name].objects) for e in embeds if e.total_name}

    def _visible(self, gathered: Mapping[str, Gathered]) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for embed in self.node.embeds:
            if not embed.hidden:
                shown[embed.name] = gathered[embed.name].value
                if embed.total_name:
                    shown[embed.total_name] = len(gathered[embed.name].objects)
        return shown

    def _embeds(self, cardinality: str) -> list[Node]:
        return [embed for embed in self.node.embeds if embed.cardinality == cardinality]

    def _rank(self, row: Row, ranked: Mapping[str, Any]) -> Any:
        order = [evaluate(ranked) for evaluate in self._order]
        return self._rank_key(order + [row[column] for column in self.node.relation.key])


class _Aggregating:
    """Computes one aggregate over the objects of an embed, before its limit."""

    def __init__(self, spec: Aggregate, node: Node, findings: Findings) -> None:
        self.name, self.embed = spec.name, spec.embed
        self._spec, self._findings = spec, findings
        embed = next(each for each in node.embeds if each.name == spec.embed)
        scope = {each.name: each.type for each in embed.output.fields}
        self._argument = guarded(spec.argument, scope, findings) if spec.argument else None
        self._filter = guarded(spec.filter, scope, findings) if spec.filter else None

    def over(self, objects: Sequence[Assembled]) -> Any:
        """Return the aggregate's value; a failure gives null."""
        shown = [each.value for each in objects]
        kept = [each for each in shown if self._filter is None or self._filter(each) is True]
        try:
            return aggregate(self._spec.function, self._spec.type, self._arguments(kept))
        except EvaluationError:
            self._findings.failures += 1
            return None

    def _arguments(self, kept: Sequence[Mapping[str, Any]]) -> list[Any]:
        if self._argument is None:
            return [True] * len(kept)
        return [self._argument(each) for each in kept]
