"""The assembly rules over sets: the documents of many roots, node by node.

Rows are read downward, one request per edge, and folded upward: all objects of a node at
once, each row once however many parents show it, its text where the document shows it and
its values where an expression reads them. `assemble.py` says the same row by row.

Invariant: a document's text is the one that `Assembler` and `renderer` give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from joinery.expression.evaluate import never_fails, typed_expression
from joinery.expression.typed import Expression
from joinery.model.change import Row
from joinery.plan.node import Node
from joinery.plan.relation import Relation
from joinery.semantics.assemble import Aggregating
from joinery.semantics.render import map_key_text
from joinery.semantics.rows import Findings, JoinValue
from joinery.solutions.stored.column import (
    Column,
    Columns,
    cells_of,
    column_of,
    join_values,
    ranks_of,
    texts_of,
)

Find = Callable[[str, tuple[str, ...], Collection[JoinValue]], Sequence[Row]]
"""As `JoinState.matching`."""


class Given(NamedTuple):
    """What an embed gives the rows above it, a column each.

    Attributes:
        values: Objects, lists or maps; empty where no expression reads them.
        texts: The same as JSON; empty where the document does not show them.
        objects: The values of all objects before the limit, for aggregates.
        totals: Their numbers.
        overflowed: The paths of embeds above their limit that makes a document fail.
    """

    values: Column
    texts: list[str]
    objects: Sequence[Sequence[Any]]
    totals: list[int]
    overflowed: Sequence[tuple[str, ...]]


class Folded(NamedTuple):
    """The objects of the rows that a node shows: values and texts where they are wanted."""

    rows: Sequence[Row]
    values: Sequence[Any]
    texts: Sequence[str]
    ranks: Callable[[], Sequence[Any]]
    overflowed: Sequence[tuple[str, ...]]


class Fold:
    """Folds the rows of one node and of all below it.

    Args:
        node: A root or an embed.
        findings: Where failures are counted.
        value: Whether an expression above reads the objects.
        text: Whether the document shows them.
    """

    def __init__(self, node: Node, findings: Findings, *, value: bool, text: bool) -> None:
        self._value, self._text = value, text
        read = set(_read(node))
        self._embeds = [
            _Embed(
                each,
                node.relation,
                findings,
                value=each.name in read or (value and not each.hidden),
                text=text and not each.hidden,
            )
            for each in node.embeds
        ]
        self._fields = [(f.name, column_of(f.expression, findings)) for f in node.fields]
        self._values = [(v.name, column_of(v.expression, findings)) for v in node.values]
        self._where = column_of(node.where, findings) if node.where else None
        self._aggregates = [Aggregating(each, findings) for each in node.aggregates]
        self._order = [column_of(each.expression, findings) for each in node.order]
        self._order_fails = not all(
            never_fails(typed_expression(each.expression)) for each in node.order
        )
        self._key = node.relation.key
        self._ranks = ranks_of(
            [(each.expression.type, each.descending) for each in node.order]
            + [(node.relation.type_of(column), False) for column in self._key]
        )
        self._shown = [each.name for each in node.output.fields]
        self._renders = {
            each.name: texts_of(each.expression.type) for each in (*node.fields, *node.values)
        }
        names = (encode_basestring(name).replace("%", "%%") for name in self._shown)
        self._template = "{" + ",".join(f"{name}:%s" for name in names) + "}"

    def fold(self, rows: Sequence[Row], find: Find) -> Folded:
        """Return the objects of `rows`, without those that the node's `where` leaves out."""
        seen, output = Columns(rows), Columns(rows)
        given = [(each, each.give(rows, find)) for each in self._embeds]
        for each, columns in given:
            each.put(columns, seen, output)
        for name, compute in self._fields:
            output.put(name, compute(seen))
        for aggregate in self._aggregates:
            of = next(columns for each, columns in given if each.name == aggregate.embed)
            output.put(aggregate.name, _over_groups(aggregate, of.objects))
        values: dict[str, Column] = {}
        for name, compute in self._values:
            values[name] = compute(output)
            output.put(name, values[name])
        overflowed = self._overflowed([columns for _, columns in given])
        ranked = seen.over(values) if values else seen
        if self._where is not None:
            keep = [each is True for each in self._where(ranked)]
            ranked, output = ranked.kept(keep), output.kept(keep)
            overflowed = [each for each, kept in zip(overflowed, keep, strict=False) if kept]
        # What fails in an order is found where it decides nothing, too.
        ranks = self._rank(ranked) if self._order_fails else None
        return Folded(
            output.rows,
            self._objects(output) if self._value else (),
            self._texts(output) if self._text else (),
            lambda: self._rank(ranked) if ranks is None else ranks,
            overflowed,
        )

    def several(self, path: str, values: Collection[JoinValue], find: Find) -> set[JoinValue]:
        """Return the join values of the embed at `path` that several rows have."""
        for each in self._embeds:
            if path == each.path:
                return each.several(values, find)
            if path.startswith(f"{each.path}/"):
                return each.below.several(path, values, find)
        raise KeyError(path)

    def _objects(self, output: Columns) -> list[dict[str, Any]]:
        columns = [output[name] for name in self._shown]
        if not columns:
            return [{} for _ in output.rows]
        shown = self._shown
        return [dict(zip(shown, cells, strict=True)) for cells in zip(*columns, strict=True)]

    def _texts(self, output: Columns) -> list[str]:
        columns = [
            self._renders[name](output[name]) if name in self._renders else output[_text_of(name)]
            for name in self._shown
        ]
        if not columns:
            return ["{}"] * len(output.rows)
        template = self._template
        return [template % cells for cells in zip(*columns, strict=True)]

    def _rank(self, ranked: Columns) -> list[Any]:
        own = Columns(ranked.rows)
        return self._ranks(
            [*(compute(ranked) for compute in self._order), *(own[name] for name in self._key)]
        )

    def _overflowed(self, given: Sequence[Given]) -> list[tuple[str, ...]]:
        columns = [each.overflowed for each in given if each.overflowed]
        of_rows = zip(*columns, strict=True)
        return [tuple(path for paths in row for path in paths) for row in of_rows]


def _over_groups(aggregate: Aggregating, groups: Sequence[Sequence[Any]]) -> Column:
    """Return an aggregate over each group, once for all rows that were given the same one."""
    of = {id(group): group for group in groups}
    results = {name: aggregate.over(group) for name, group in of.items()}
    return [results[id(group)] for group in groups]


class _Embed:
    """One embed: read for the rows above it, folded, and grouped by join value."""

    def __init__(
        self, node: Node, parent: Relation, findings: Findings, *, value: bool, text: bool
    ) -> None:
        self.name, self.path = node.name, node.path
        self._node, self._findings = node, findings
        self._value, self._text = value, text
        self._fold = Fold(node, findings, value=value, text=text)
        self._columns = tuple(pair.child for pair in node.on)
        self._child_values = join_values(node.relation, self._columns)
        self._parent_values = join_values(parent, [pair.parent for pair in node.on])
        self._key_types = [node.relation.type_of(column) for column in node.relation.key]
        self._may_overflow = any(each.overflow == "fail" for each in node.walk())

    def give(self, parents: Sequence[Row], find: Find) -> Given:
        """Return what each of the rows above is given."""
        wanted = self._parent_values(parents)
        values: set[Any] = set(wanted)
        values.discard(None)
        rows = find(self._node.relation.name, self._columns, values) if values else ()
        folded = self._fold.fold(rows, find)
        groups = self._groups(folded)
        finished = self._one(groups, folded) if self._is_one else self._many(groups, folded)
        place = {value: at for at, value in enumerate(groups)}.get
        # Where nothing matches, the last of each column stands.
        at = [place(value, -1) for value in wanted]
        columns: list[Any] = [
            [column[each] for each in at] if column else [] for column in finished
        ]
        return Given(*columns)

    @property
    def below(self) -> Fold:
        """Folds the embed's own rows."""
        return self._fold

    def several(self, values: Collection[JoinValue], find: Find) -> set[JoinValue]:
        """Return those of `values` that several of the embed's objects have."""
        folded = self._fold.fold(find(self._node.relation.name, self._columns, values), find)
        return {value for value, group in self._groups(folded).items() if len(group) > 1}

    def put(self, given: Given, seen: Columns, output: Columns) -> None:
        """Put the columns that expressions and texts of the node above read."""
        if self._value:
            output.put(self.name, given.values)
            if self._is_one:
                seen.put(self.name, given.values)
        if self._text:
            output.put(_text_of(self.name), given.texts)
        if self._node.total_name:
            output.put(self._node.total_name, given.totals)
            output.put(_text_of(self._node.total_name), list(map(str, given.totals)))

    @property
    def _is_one(self) -> bool:
        return self._node.cardinality == "one"

    def _groups(self, folded: Folded) -> Mapping[Any, Sequence[int]]:
        """Return join values, each with the places of its objects in order."""
        values = self._child_values(folded.rows)
        alone = {value: (at,) for at, value in enumerate(values)}
        if len(alone) == len(values):
            return alone
        groups: dict[Any, list[int]] = {value: [] for value in alone}
        for at, value in enumerate(values):
            groups[value].append(at)
        rank = folded.ranks().__getitem__
        for group in groups.values():
            if len(group) > 1:
                group.sort(key=rank)
        return groups

    def _one(self, groups: Mapping[Any, Sequence[int]], folded: Folded) -> Given:
        """Return what each group gives, then what no row gives."""
        firsts = [group[0] for group in groups.values()]
        if len(groups) < len(folded.rows):
            path = self._node.path
            several = ((path, value) for value, group in groups.items() if len(group) > 1)
            self._findings.multiple.update(several)
        return Given(
            [*(folded.values[at] for at in firsts), None] if self._value else [],
            [*(folded.texts[at] for at in firsts), "null"] if self._text else [],
            (),
            [],
            [*(folded.overflowed[at] for at in firsts), ()] if folded.overflowed else (),
        )

    def _many(self, groups: Mapping[Any, Sequence[int]], folded: Folded) -> Given:
        """Return what each group gives, then what no row gives."""
        every = [*groups.values(), ()]
        limit = self._node.limit
        kept = every if limit is None else [group[:limit] for group in every]
        names = self._names(folded) if self._node.keyed else []
        return Given(
            self._shown(kept, folded, names) if self._value else [],
            self._shown_texts(kept, folded, names) if self._text else [],
            [[folded.values[at] for at in group] for group in every] if self._value else (),
            [len(group) for group in every] if self._node.total_name else [],
            self._overflows(every, kept, folded) if self._may_overflow else (),
        )

    def _shown(self, kept: Sequence[Sequence[int]], folded: Folded, names: Sequence[str]) -> Column:
        values = folded.values
        if self._node.keyed:
            return [{names[at]: values[at] for at in group} for group in kept]
        return [[values[at] for at in group] for group in kept]

    def _shown_texts(
        self, kept: Sequence[Sequence[int]], folded: Folded, names: Sequence[str]
    ) -> list[str]:
        texts = folded.texts
        if not self._node.keyed:
            return [f"[{','.join([texts[at] for at in group])}]" for group in kept]
        pairs = [f"{encode_basestring(n)}:{text}" for n, text in zip(names, texts, strict=True)]
        return ["{" + ",".join([pairs[at] for at in group]) + "}" for group in kept]

    def _overflows(
        self, every: Sequence[Sequence[int]], kept: Sequence[Sequence[int]], folded: Folded
    ) -> list[tuple[str, ...]]:
        below = folded.overflowed or [()] * len(folded.rows)
        fails = self._node.overflow == "fail"
        return [
            ((self._node.path,) if fails and len(some) < len(group) else ())
            + tuple(path for at in some for path in below[at])
            for group, some in zip(every, kept, strict=True)
        ]

    def _names(self, folded: Folded) -> list[str]:
        key, types = self._node.relation.key, self._key_types
        columns = [cells_of(folded.rows, name) for name in key]
        return [map_key_text(values, types) for values in zip(*columns, strict=True)]


def _read(node: Node) -> Iterator[str]:
    """Yield the names that the expressions of a node read, and the embeds of its aggregates."""
    expressions: list[Expression] = [each.expression for each in (*node.fields, *node.values)]
    expressions += [each.expression for each in node.order]
    expressions += [node.where] if node.where else []
    for each in expressions:
        yield from each.references
    yield from (each.embed for each in node.aggregates)


def _text_of(name: str) -> str:
    """Return the name of the column of an embed's texts, which no field can have."""
    return f"\0{name}"
