"""The assembly rules over sets: the documents of many roots, node by node.

Rows are read downward, one request an edge, and folded upward: all objects of a node at
once, each row once however many parents show it, its text where the document shows it and
its values where an expression reads them. `assemble.py` says the same row by row.

Invariant: a document's text is the one that `Assembler` and `renderer` give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from joinery.engine.assemble import Aggregating
from joinery.engine.column import Column, Columns, column_of, ranks_of, texts_of
from joinery.engine.render import key_text
from joinery.engine.rows import JoinValue, join_reader
from joinery.engine.scope import Findings, fields_scope, rank_scope, values_scope
from joinery.model.change import Row
from joinery.plan.nodes import Expression, Node, Relation

Find = Callable[[str, tuple[str, ...], Collection[JoinValue]], Sequence[Row]]
"""As `JoinState.matching`."""


class Group(NamedTuple):
    """What an embed gives the parents with one join value.

    Attributes:
        value: An object, a list or a map; None where no expression reads it.
        text: The same as JSON; empty where the document does not show it.
        objects: The values of all objects before the limit, for aggregates.
        total: Their number.
        overflowed: The paths of embeds above their limit that makes a document fail.
    """

    value: Any
    text: str
    objects: Sequence[Any]
    total: int
    overflowed: tuple[str, ...]


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
        seen, ranked, valued = fields_scope(node), rank_scope(node), values_scope(node)
        self._fields = [(f.name, column_of(f.expression, seen, findings)) for f in node.fields]
        self._values = [(v.name, column_of(v.expression, valued, findings)) for v in node.values]
        self._where = column_of(node.where, ranked, findings) if node.where else None
        self._aggregates = [Aggregating(each, node, findings) for each in node.aggregates]
        self._order = [column_of(each.expression, ranked, findings) for each in node.order]
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
        self._may_overflow = any(each.overflow == "fail" for each in node.walk())

    def fold(self, rows: Sequence[Row], find: Find) -> Folded:
        """Return the objects of `rows`, without those that the node's `where` leaves out."""
        seen, output = Columns(rows), Columns(rows)
        groups = [(each, each.groups(rows, find)) for each in self._embeds]
        for each, found in groups:
            each.put(found, seen, output)
        for name, compute in self._fields:
            output.put(name, compute(seen))
        for aggregate in self._aggregates:
            of = next(found for embed, found in groups if embed.name == aggregate.embed)
            output.put(aggregate.name, [aggregate.over(group.objects) for group in of])
        values: dict[str, Column] = {}
        for name, compute in self._values:
            values[name] = compute(output)
            output.put(name, values[name])
        overflowed = self._overflowed(groups)
        ranked = seen.over(values) if values else seen
        if self._where is not None:
            keep = [each is True for each in self._where(ranked)]
            ranked, output = ranked.kept(keep), output.kept(keep)
            overflowed = [each for each, kept in zip(overflowed, keep, strict=False) if kept]
        return Folded(
            output.rows,
            self._objects(output) if self._value else (),
            self._texts(output) if self._text else (),
            lambda: self._rank(ranked),
            overflowed,
        )

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

    def _overflowed(
        self, groups: Sequence[tuple[_Embed, Sequence[Group]]]
    ) -> list[tuple[str, ...]]:
        if not self._may_overflow or not groups:
            return []
        of_rows = zip(*(found for _, found in groups), strict=True)
        return [tuple(path for group in row for path in group.overflowed) for row in of_rows]


class _Embed:
    """One embed: read for the rows above it, folded, and grouped by join value."""

    def __init__(
        self, node: Node, parent: Relation, findings: Findings, *, value: bool, text: bool
    ) -> None:
        self.name = node.name
        self._node, self._findings = node, findings
        self._value, self._text = value, text
        self._fold = Fold(node, findings, value=value, text=text)
        self._columns = tuple(pair.child for pair in node.on)
        self._child_value = join_reader(node.relation, self._columns)
        self._parent_value = join_reader(parent, [pair.parent for pair in node.on])
        self._key_types = [node.relation.type_of(column) for column in node.relation.key]
        self._finish = self._many if node.cardinality == "many" else self._one
        self._nothing = self._finish(None, [], Folded((), (), (), lambda: (), ()))

    def groups(self, parents: Sequence[Row], find: Find) -> list[Group]:
        """Return what each of the rows above is given."""
        wanted = list(map(self._parent_value, parents))
        values: set[Any] = set(wanted)
        values.discard(None)
        rows = find(self._node.relation.name, self._columns, values) if values else ()
        folded = self._fold.fold(rows, find)
        found = {value: self._finish(value, at, folded) for value, at in self._grouped(folded)}
        nothing = self._nothing
        return [found.get(value, nothing) for value in wanted]

    def put(self, groups: Sequence[Group], seen: Columns, output: Columns) -> None:
        """Put the columns that expressions and texts of the node above read."""
        if self._value:
            values = [each.value for each in groups]
            output.put(self.name, values)
            if self._node.cardinality == "one":
                seen.put(self.name, values)
        if self._text:
            output.put(_text_of(self.name), [each.text for each in groups])
        if self._node.total_name:
            totals = [each.total for each in groups]
            output.put(self._node.total_name, totals)
            output.put(_text_of(self._node.total_name), list(map(str, totals)))

    def _grouped(self, folded: Folded) -> Iterator[tuple[Any, list[int]]]:
        """Yield join values, each with the places of its objects in order."""
        places: dict[Any, list[int]] = {}
        for at, value in enumerate(map(self._child_value, folded.rows)):
            if value in places:
                places[value].append(at)
            else:
                places[value] = [at]
        if len(places) < len(folded.rows):
            rank = folded.ranks().__getitem__
            for group in places.values():
                if len(group) > 1:
                    group.sort(key=rank)
        yield from places.items()

    def _one(self, value: Any, group: Sequence[int], folded: Folded) -> Group:
        if not group:
            return Group(None, "null", (), 0, ())
        if len(group) > 1:
            self._findings.multiple.add((self._node.path, value))
        first = group[0]
        return Group(
            folded.values[first] if self._value else None,
            folded.texts[first] if self._text else "",
            [folded.values[at] for at in group] if self._value else (),
            len(group),
            folded.overflowed[first] if folded.overflowed else (),
        )

    def _many(self, value: Any, group: Sequence[int], folded: Folded) -> Group:
        node = self._node
        kept = group if node.limit is None else group[: node.limit]
        overflowed: tuple[str, ...] = ()
        if folded.overflowed:
            overflowed = tuple(path for at in kept for path in folded.overflowed[at])
        if node.overflow == "fail" and len(kept) < len(group):
            overflowed = (node.path, *overflowed)
        objects: Sequence[Any] = [folded.values[at] for at in group] if self._value else ()
        texts = [folded.texts[at] for at in kept] if self._text else ()
        if not node.keyed:
            shown: Any = objects[: len(kept)]
            text = f"[{','.join(texts)}]"
        else:
            names = [self._key_text(folded.rows[at]) for at in kept]
            shown = dict(zip(names, objects, strict=False))
            pairs = zip(map(encode_basestring, names), texts, strict=False)
            text = "{" + ",".join([f"{name}:{each}" for name, each in pairs]) + "}"
        return Group(shown, text, objects, len(group), overflowed)

    def _key_text(self, row: Row) -> str:
        return key_text([row[column] for column in self._node.relation.key], self._key_types)


def _read(node: Node) -> Iterator[str]:
    """Yield the names that the expressions of a node read, and the embeds of its aggregates."""
    expressions: list[Expression] = [each.expression for each in (*node.fields, *node.values)]
    expressions += [each.expression for each in node.order]
    expressions += [node.where] if node.where else []
    for each in expressions:
        yield from each.references
    yield from (each.embed for each in node.aggregates)


def _text_of(name: str) -> str:
    """Return the name of the column of an embed's texts."""
    return f"{name} as text"
