"""The assembly rules: a row and the rows below it, to the object a node shows.

Invariant: an object depends on the rows that exist and on nothing else: not on the order
of rows, nor on what stood before. Over the same rows each is made once, however many parents
show it, so what fails in it is found once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from joinery.expression.evaluate import never_fails, typed_expression
from joinery.expression.group_aggregate import InstanceLimitError, folded
from joinery.expression.order import is_ordered_itself, row_key
from joinery.expression.problem import EvaluationError
from joinery.expression.typed import Aggregate
from joinery.model.change import Row
from joinery.plan.node import Node
from joinery.semantics.render import map_key_text
from joinery.semantics.rows import (
    Findings,
    JoinValue,
    Matching,
    Rows,
    guarded,
    join_reader,
    time_of,
    values_reader,
)
from joinery.semantics.through import Reached


@dataclass(slots=True)
class Assembled:
    """The object of one row.

    Attributes:
        value: What the node shows, in the order of its output.
        row: Its own row.
        seen: What the node's `order` sees.
        overflowed: The paths of embeds with `overflow: fail` that are above their limit,
            in this object or below it.
    """

    value: dict[str, Any]
    row: Row
    seen: Mapping[str, Any]
    overflowed: tuple[str, ...]


@dataclass(slots=True)
class Gathered:
    """What one embed gives its parent: the value, and all objects before the limit.

    Attributes:
        hot: The join values that are left out, as the document tells them.
    """

    value: Any
    objects: Sequence[Assembled]
    overflowed: tuple[str, ...]
    hot: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Near:
    """A row above an embed: its key, its time, and the row itself; None for no time."""

    key: tuple[Any, ...]
    time_us: int | None
    row: Row = field(compare=False)


class Assembler:
    """Builds the objects of one node and of all nodes below it."""

    def __init__(self, node: Node, findings: Findings) -> None:
        self.node = node
        self._findings = findings
        self._below = [
            (
                e.name,
                join_reader(node.relation, [pair.parent for pair in e.parent_on]),
                Assembler(e, findings),
            )
            for e in node.embeds
        ]
        self._ones = [embed.name for embed in node.embeds if embed.cardinality == "one"]
        self._fields = [(f.name, guarded(f.expression, findings)) for f in node.fields]
        self._values = [(v.name, guarded(v.expression, findings)) for v in node.values]
        self._where = guarded(node.where, findings) if node.where else None
        self._order = [
            guarded(each.expression, findings)
            for each in node.order
            if not never_fails(typed_expression(each.expression))
        ]
        self._aggregates = [Aggregating(each, findings) for each in node.aggregates]
        self._visible = [(e.name, e.total_name, e.hot_name) for e in node.embeds if not e.hidden]
        self._totals = [(e.name, e.total_name) for e in node.embeds if e.total_name]
        self._hot = [(e.name, e.hot_name) for e in node.embeds if e.hot_name]
        self._key_types = [node.relation.type_of(column) for column in node.relation.key]
        self._rank = _ranking(node)
        self._place = node.relation.name, tuple(pair.child for pair in node.on)
        self._reached = None if node.through is None else Reached(node, node.through)
        self._key_of = values_reader(node.relation.key)
        timed = any(each.within is not None for each in node.embeds)
        self._time = node.relation.time if timed else None
        self._rows: Matching | None = None
        self._made: dict[Any, Assembled | None] = {}
        self._given: dict[tuple[JoinValue | None, Near | None, int | None], Gathered] = {}
        self._aggregated: dict[tuple[str, int], Any] = {}

    def assemble(self, row: Row, rows: Matching) -> Assembled | None:
        """Return the object of `row`, None where the node's `where` leaves it out."""
        self._begin(rows)
        key = self._key_of(row)
        if self.node.within is not None:
            # A row that is forgotten to its changes is beside another of its key, at another time.
            key = *key, time_of(row, self.node.relation.time)
        if key not in self._made:
            self._made[key] = self._assemble(row, rows)
        return self._made[key]

    def _begin(self, rows: Matching) -> None:
        """Forget what was made over other rows."""
        if rows is not self._rows:
            self._rows = rows
            self._made.clear()
            self._given.clear()
            self._aggregated.clear()

    def _assemble(self, row: Row, rows: Matching) -> Assembled | None:
        if not self._below:
            return self._leaf(row)
        near = Near(self._key_of(row), time_of(row, self._time), row)
        gathered = {
            name: each.gather(value_of(row), rows, near) for name, value_of, each in self._below
        }
        seen = {**row, **{name: gathered[name].value for name in self._ones}} if self._ones else row
        value = {name: evaluate(seen) for name, evaluate in self._fields}
        values = self._compute_values(value, gathered) if self._values else {}
        if values:
            seen = {**seen, **values}
        if not self._keeps(seen):
            return None
        for name, total, hot in self._visible:
            value[name] = gathered[name].value
            if total:
                value[total] = len(gathered[name].objects)
            if hot:
                value[hot] = gathered[name].hot
        value.update(values)
        overflowed = tuple(path for each in gathered.values() for path in each.overflowed)
        return Assembled(value, row, seen, overflowed)

    def gather(self, value: JoinValue | None, rows: Matching, near: Near) -> Gathered:
        """Return what the node, an embed, gives a row of the node above it with a join value.

        Args:
            value: The join value.
            rows: All rows that exist.
            near: The row above, of which only an interval asks.
        """
        self._begin(rows)
        # Versions above of one row have its key, each with a time of its own.
        at_us = time_of(near.row, self.node.as_of)
        place = value, None if self._is_one_for_all else near, at_us
        if place not in self._given:
            self._given[place] = self._gather(value, rows, near)
        return self._given[place]

    def below(
        self, row: Row, rows: Matching
    ) -> Iterator[tuple[Assembler, JoinValue | None, Gathered]]:
        """Yield what each embed gives a row, and what it joins on."""
        self._begin(rows)
        near = Near(self._key_of(row), time_of(row, self._time), row)
        for _, value_of, each in self._below:
            value = value_of(row)
            yield each, value, each.gather(value, rows, near)

    @property
    def _is_one_for_all(self) -> bool:
        """Whether all rows above with one join value are given the same."""
        return self.node.within is None and self.node.as_of is None

    def _near(self, matching: Sequence[Row], near: Near) -> Sequence[Row]:
        """Return the rows whose times are as near as the node asks."""
        within, column = self.node.within, self.node.relation.time
        if within is None:
            return matching
        if near.time_us is None:
            return ()
        times = [(row, time_of(row, column)) for row in matching]
        return [row for row, at in times if at is not None and at - near.time_us in within]

    def _gather(self, value: JoinValue | None, rows: Matching, near: Near) -> Gathered:
        if self.node.as_of is not None:
            hot = list[Any]()
            made = [self._assemble(row, rows) for row in self._valid(value, rows, near)]
        else:
            reached, hot = self._matching(value, rows)
            made = [self.assemble(row, rows) for row in self._near(reached, near)]
        objects = [each for each in made if each is not None]
        if len(objects) > 1:
            objects.sort(key=self._rank)
        match self.node.cardinality:
            case "many":
                return replace(self._list(objects), hot=hot)
            case "one":
                return self._first(value, objects, near)
            case "root":
                raise AssertionError(self.node.path)  # nothing embeds it

    def _valid(self, value: JoinValue | None, rows: Matching, near: Near) -> Sequence[Row]:
        """Return the rows that were valid at the time that the row above tells."""
        at_us = time_of(near.row, self.node.as_of)
        assert isinstance(rows, Rows), "the reference alone keeps versions"
        return () if at_us is None else rows.valid(*self._place, value, at_us)

    def _matching(self, value: JoinValue | None, rows: Matching) -> tuple[Sequence[Row], list[Any]]:
        """Return the rows that a join value leads to, and the hot ones that it leads to instead."""
        if self._reached is None:
            return rows.matching(*self._place, value), []
        values, hot = self._reached.by(value, rows)
        return [row for each in values for row in rows.matching(*self._place, each)], hot

    def _first(self, value: JoinValue | None, objects: Sequence[Assembled], near: Near) -> Gathered:
        if not objects:
            return _NOTHING
        if len(objects) > 1 and value is not None:
            parent = () if self._is_one_for_all else near.key
            self._findings.multiple.add((self.node.path, (*value, *parent)))
        return Gathered(objects[0].value, objects, objects[0].overflowed)

    def _leaf(self, row: Row) -> Assembled | None:
        """Return the object of a row that has nothing below it."""
        value = {name: evaluate(row) for name, evaluate in self._fields}
        seen = row
        if self._values:
            values = self._compute_values(value, {})
            seen = {**row, **values}
            value.update(values)
        return Assembled(value, row, seen, ()) if self._keeps(seen) else None

    def _keeps(self, seen: Mapping[str, Any]) -> bool:
        """Return whether `where` keeps a row; of one that it keeps, `order` is tried, too."""
        if self._where is not None and self._where(seen) is not True:
            return False
        for evaluate in self._order:
            evaluate(seen)
        return True

    def _list(self, objects: Sequence[Assembled]) -> Gathered:
        node = self.node
        kept = objects if node.limit is None else objects[: node.limit]
        below = tuple([path for each in kept if each.overflowed for path in each.overflowed])
        over = node.overflow == "fail" and len(kept) < len(objects)
        value = self._map(kept) if node.keyed else [each.value for each in kept]
        return Gathered(value, objects, (node.path, *below) if over else below)

    def _map(self, kept: Sequence[Assembled]) -> dict[str, Any]:
        key, types = self.node.relation.key, self._key_types
        return {
            map_key_text([each.row[column] for column in key], types): each.value for each in kept
        }

    def _compute_values(
        self, fields: Mapping[str, Any], gathered: Mapping[str, Gathered]
    ) -> dict[str, Any]:
        scope = dict(fields)
        scope.update((name, below.value) for name, below in gathered.items())
        for name, total in self._totals:
            scope[total] = len(gathered[name].objects)
        for name, hot in self._hot:
            scope[hot] = gathered[name].hot
        for each in self._aggregates:
            scope[each.name] = self._aggregate(each, gathered[each.embed])
        values: dict[str, Any] = {}
        for name, evaluate in self._values:
            values[name] = scope[name] = evaluate(scope)
        return values

    def _aggregate(self, each: Aggregating, given: Gathered) -> Any:
        """Return an aggregate over what an embed gave, once for all rows that it gave it."""
        name = each.name, id(given)
        if name not in self._aggregated:
            self._aggregated[name] = each.over([o.value for o in given.objects])
        return self._aggregated[name]


_NOTHING = Gathered(None, (), ())


def _ranking(node: Node) -> Callable[[Assembled], Any]:
    """Return what siblings sort by: `order`, then the key.

    The columns of a key are never null, but for those of a product's groups.
    """
    key = node.relation.key
    found = Findings()  # what fails here was found when the object was made
    order = [guarded(each.expression, found) for each in node.order]
    kinds = [(each.expression.type, each.descending) for each in node.order]
    key_kinds = [(node.relation.type_of(column), False) for column in key]
    plain = all(is_ordered_itself(kind) for kind, _ in key_kinds)
    if node.relation.product is not None or not plain:
        rank = row_key(kinds + key_kinds)
        return lambda each: rank(
            [*(evaluate(each.seen) for evaluate in order), *(each.row[column] for column in key)]
        )
    read = itemgetter(*key)
    if not order:
        return lambda each: read(each.row)
    first = row_key(kinds)
    return lambda each: (first([evaluate(each.seen) for evaluate in order]), read(each.row))


class Aggregating:
    """Computes one aggregate over the objects of an embed, before its limit, or over a group."""

    def __init__(self, spec: Aggregate, findings: Findings) -> None:
        self.name, self.embed = spec.name, spec.embed
        self.limited = False  # whether the last value is null for that it has too many instances
        self._spec, self._findings = spec, findings
        self._argument = guarded(spec.argument, findings) if spec.argument else None
        self._filter = guarded(spec.filter, findings) if spec.filter else None

    def over(self, shown: Sequence[Mapping[str, Any]]) -> Any:
        """Return the aggregate's value over objects; a failure or too many values give null."""
        kept = [each for each in shown if self._filter is None or self._filter(each) is True]
        self.limited = False
        try:
            return folded(self._spec, self._arguments(kept))
        except InstanceLimitError:
            self.limited = True
            return None
        except EvaluationError:
            self._findings.failures += 1
            return None

    def _arguments(self, kept: Sequence[Mapping[str, Any]]) -> list[Any]:
        if self._argument is None:
            return [True] * len(kept)
        return [self._argument(each) for each in kept]
