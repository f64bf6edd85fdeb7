"""What documents a database offers: a relation for each table, a product along its foreign keys.

A table that others name is the root of a document. It embeds the rows that name it, and the row
that each of its own foreign keys names; so does an embedded row, for its other foreign keys. A
junction table, whose rows are identified by two foreign keys, is no root: from either side its
rows lead to those of the other, whose columns stand beside its own.

Invariant: the same tables give the same proposal; every table is in it or is named as left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from joinery.expression.token import RESERVED
from joinery.model.table import ForeignKey, SourceTable, TableName
from joinery.model.type import DataType, parse_type, quoted
from joinery.plan.join import common_type, comparable
from joinery.project.kind import SinkSpec
from joinery.project.node import NodeSpec
from joinery.project.product import ProductSpec
from joinery.project.relation import RelationSpec
from joinery.project.value import Pairs

SINK = "out"
_PUBLIC = "public"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LITERALS = frozenset(("null", "true", "false"))
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
_NOT_IN_PATHS = frozenset(".*?,/\\")
_OF_KEY = re.compile(r"(?<=.)(?:_id|(?<=[a-z0-9])(?:Id|ID))$")
_VOWELS = "aeiou"
_ALONE = "no foreign key joins it to another table"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a database could become.

    Attributes:
        relations: In order of their tables.
        products: In order of their roots.
        notes: By the name of a relation, what it lacks of its table.
        left_out: Tables and foreign keys that are not in it, and why.
    """

    relations: tuple[RelationSpec, ...]
    products: tuple[ProductSpec, ...]
    notes: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]


def propose(
    tables: Iterable[SourceTable],
    unfit: Mapping[TableName, str] | None = None,
    home: str = _PUBLIC,
) -> Proposal:
    """Return the documents that tables offer.

    Args:
        tables: All of a database.
        unfit: Why some of them cannot be captured.
        home: The schema whose tables need not be named with it.
    """
    known = sorted(tables, key=lambda each: each.name)
    reasons = {each.name: (unfit or {}).get(each.name) or _unfit(each) for each in known}
    kept = {each.name: each for each in known if not reasons[each.name]}
    keys, unjoined = _foreign_keys(kept)
    offer = _Offer(kept, _names(kept, home), keys, home)
    roots = offer.roots()
    joined = {each for key in keys for each in (key.child, key.parent)} | {*roots}
    reasons |= {each: _ALONE for each in kept if each not in joined}
    shown = [each for name, each in kept.items() if name in joined]
    return Proposal(
        relations=tuple(map(offer.relation, shown)),
        products=tuple(map(offer.product, roots)),
        notes={offer.names[each.name]: tuple(_column_notes(each)) for each in shown},
        left_out=(
            *(f"table {name}: {reason}" for name, reason in reasons.items() if reason),
            *unjoined,
        ),
    )


def _unfit(table: SourceTable) -> str:
    """Return why a table cannot be a relation; nothing where it can."""
    name = f"{table.name.schema}.{table.name.table}"
    if _NOT_IN_PATHS & {*table.name.schema, *table.name.table}:
        return "a source cannot have a table whose name has one of . * ? , / \\"
    if table.identity == "nothing":
        return (
            f"its updates and deletes identify no row; alter table {name} replica identity default"
        )
    if not _row_key(table):
        may_be_full = table.identity not in (None, "full")
        full = f", or alter table {name} replica identity full" if may_be_full else ""
        return f"it has no key; alter table {name} add primary key (…){full}"
    return ""


def _row_key(table: SourceTable) -> tuple[str, ...]:
    """Return columns that identify a row, and that a delete tells; none where there are none."""
    types = _types(table)
    told = {"index": table.identity_columns, "full": (*types,), "nothing": ()}
    of_delete = {*told.get(table.identity or "", table.key)}
    for key in (table.key, *table.unique):
        if key and {*key} <= of_delete and all(e in types and comparable(types[e]) for e in key):
            return key
    return ()


def _types(table: SourceTable) -> dict[str, DataType]:
    """Return the columns of a table that a relation can have, with their types."""
    return {each.name: parse_type(each.type) for each in table.columns if _may_be_field(each.name)}


def _may_be_field(name: str) -> bool:
    return not name.startswith("__") and "/" not in name


def _column_notes(table: SourceTable) -> Iterator[str]:
    for name, type_ in table.left_out:
        yield f'column "{name}" is left out: {type_} cannot be captured'
    for each in table.columns:
        if not _may_be_field(each.name):
            yield f'column "{each.name}" is left out: a field cannot have its name'


def _foreign_keys(
    kept: Mapping[TableName, SourceTable],
) -> tuple[tuple[ForeignKey, ...], tuple[str, ...]]:
    """Return the foreign keys along which rows can be joined, and what is wrong with others."""
    found: dict[tuple[TableName, TableName, frozenset[tuple[str, str]]], ForeignKey] = {}
    refused = []
    for table in kept.values():
        for each in sorted(table.foreign_keys, key=lambda each: _place(table, each)):
            if each.child != table.name or each.parent not in kept:
                continue
            if not _joinable(each, kept):
                on = ", ".join(map(" = ".join, each.pairs))
                refused.append(f"foreign key {each.child} to {each.parent} ({on}): types differ")
                continue
            found.setdefault((each.child, each.parent, frozenset(each.pairs)), each)
    return tuple(found.values()), tuple(refused)


def _place(table: SourceTable, key: ForeignKey) -> tuple[int, ...]:
    order = [each.name for each in table.columns]
    return tuple(order.index(each) if each in order else len(order) for each in key.columns)


def _joinable(key: ForeignKey, kept: Mapping[TableName, SourceTable]) -> bool:
    child, parent = _types(kept[key.child]), _types(kept[key.parent])
    return all(
        mine in child and its in parent and common_type(child[mine], parent[its]) is not None
        for mine, its in key.pairs
    )


def _names(kept: Iterable[TableName], home: str) -> dict[TableName, str]:
    """Return the relations' names: the tables', with the schema where two are named alike."""
    tables = [*kept]
    plain = [_NOT_IN_NAMES.sub("_", each.table) for each in tables]
    names: dict[TableName, str] = {}
    for table, name in zip(tables, plain, strict=True):
        alone = plain.count(name) == 1 or table.schema == home
        wanted = name if alone else f"{_NOT_IN_NAMES.sub('_', table.schema)}_{name}"
        names[table] = _free({*names.values()}, wanted if _PLAIN.match(wanted) else f"t_{wanted}")
    return names


def _free(taken: Collection[str], *wanted: str) -> str:
    """Return the first of the names that is not taken, or the last with a number."""
    folded = {each.casefold() for each in taken}
    numbered = (f"{wanted[-1]}_{number}" for number in range(2, len(folded) + 3))
    return next(each for each in (*wanted, *numbered) if each.casefold() not in folded)


def plural(name: str) -> str:
    """Return a name for several of what a name means.

    Example:
        >>> [plural(each) for each in ("star", "category", "day", "address", "box", "orders")]
        ['stars', 'categories', 'days', 'addresses', 'boxes', 'orders']
    """
    if name.endswith("y") and name[-2:-1] not in _VOWELS:
        return f"{name[:-1]}ies"
    if name.endswith(("ss", "x", "ch", "sh")):
        return f"{name}es"
    return name if name.endswith("s") else f"{name}s"


def _expression(column: str) -> str:
    plain = _PLAIN.fullmatch(column) and column.lower() not in RESERVED | _LITERALS
    return column if plain else quoted(column)


@dataclass(frozen=True, slots=True)
class _Offer:
    """Tables that can be relations, their names as such, how they are joined, where most are."""

    tables: Mapping[TableName, SourceTable]
    names: Mapping[TableName, str]
    keys: Sequence[ForeignKey]
    home: str

    def roots(self) -> list[TableName]:
        """Return the tables that others name; all of them where no table names another."""
        named = {each.parent for each in self.keys}
        return [each for each in self.tables if each in named or not self.keys]

    def relation(self, table: SourceTable) -> RelationSpec:
        name, at = self.names[table.name], table.name
        topic = at.table if at.schema == self.home else str(at)
        return RelationSpec(
            name=name,
            key=_row_key(table),
            fields=tuple((e.name, e.type) for e in table.columns if _may_be_field(e.name)),
            topic=None if topic == name else topic,
        )

    def product(self, root: TableName) -> ProductSpec:
        taken, embeds = self._columns(root), []
        for each in self._found(root):
            embeds.append(self._embed(each, taken))
            taken = [*taken, embeds[-1].name]
        name = self.names[root]
        return ProductSpec(
            name=f"{name}_document",
            root=NodeSpec(name, "root", name, embed=tuple(embeds)),
            sinks=(SinkSpec(kind="", use=SINK),),
        )

    def _found(self, root: TableName) -> list[tuple[ForeignKey, bool]]:
        """Return the keys of a root and to it, and whether each is its own."""
        own = [(each, True) for each in self.keys if each.child == root]
        return own + [(each, False) for each in self.keys if each.parent == root]

    def _embed(self, found: tuple[ForeignKey, bool], taken: Collection[str]) -> NodeSpec:
        key, own = found
        if own:
            return self._named_row(key, taken)
        other = self._across(key)
        return self._naming_rows(key, taken) if other is None else self._far(key, other, taken)

    def _columns(self, table: TableName, *but: str) -> list[str]:
        return [each for each in _types(self.tables[table]) if each not in but]

    def _shown(self, table: TableName, *but: str) -> list[str]:
        """Return the columns of a table without some; all where none would be left."""
        return self._columns(table, *but) or self._columns(table)

    def _named_row(self, key: ForeignKey, taken: Collection[str]) -> NodeSpec:
        """Return the one row that a foreign key names."""
        pairs = tuple((its, mine) for mine, its in key.pairs)
        role = self._role(key)
        by = f"{role}_by_{self._by(key)}"
        # Two people of an order are told apart, though no column says `buyer_id`.
        told = self._says_role(key) or not self._has_alike(key)
        name = _free(taken, role, by) if told else _free(taken, by)
        shown = self._shown(key.parent, *(its for its, _ in pairs))
        return NodeSpec(name, "one", self.names[key.parent], pairs, _pairs(shown))

    def _role(self, key: ForeignKey) -> str:
        """Return what a row is to those that name it: `author_id`, `authorId` name an author."""
        named = self._says_role(key)
        return _OF_KEY.sub("", key.columns[0]) if named else self.names[key.parent]

    def _says_role(self, key: ForeignKey) -> bool:
        return len(key.pairs) == 1 and _OF_KEY.search(key.columns[0]) is not None

    def _has_alike(self, key: ForeignKey) -> bool:
        """Return whether rows name several of a table by different keys, or their own kind."""
        alike = [each for each in self.keys if (each.child, each.parent) == (key.child, key.parent)]
        return len(alike) > 1 or key.child == key.parent

    def _naming_rows(self, key: ForeignKey, taken: Collection[str]) -> NodeSpec:
        """Return the rows that name a root, each with the other rows that it names."""
        relation = self.names[key.child]
        name = relation if key.unique else plural(relation)
        if self._has_alike(key):
            name = f"{name}_by_{self._by(key)}"
        shown = self._shown(key.child, *key.columns)
        below: list[NodeSpec] = []
        for each in self.keys:
            if each.child == key.child and each is not key:
                below.append(self._named_row(each, [*shown, *(e.name for e in below)]))
        return NodeSpec(
            _free(taken, name, f"{name}_by_{self._by(key)}"),
            "one" if key.unique else "many",
            relation,
            key.pairs,
            _pairs(shown),
            embed=tuple(below),
        )

    def _by(self, key: ForeignKey) -> str:
        """Return the role that a key gives a row, by its columns where there are several."""
        if len(key.pairs) > 1:
            return "_".join(_NOT_IN_NAMES.sub("_", each) for each in key.columns)
        return _OF_KEY.sub("", _NOT_IN_NAMES.sub("_", key.columns[0]))

    def _across(self, key: ForeignKey) -> ForeignKey | None:
        """Return the other foreign key of a junction table; None where it is no such table."""
        table = self.tables[key.child]
        mine = [each for each in self.keys if each.child == key.child]
        if len(mine) != 2 or any(each.unique for each in mine):
            return None
        if any(each.parent == key.child for each in self.keys):
            return None
        columns = {column for each in mine for column in each.columns}
        if not any(each and {*each} <= columns for each in (table.key, *table.unique)):
            return None
        return next((each for each in mine if each is not key), None)

    def _far(self, key: ForeignKey, other: ForeignKey, taken: Collection[str]) -> NodeSpec:
        """Return the rows that a junction leads to, whose columns stand beside its own."""
        relation, role = self.names[key.child], self._role(other)
        table = self.tables[key.child]
        hidden = () if {*table.key} & {*key.columns, *other.columns} else table.key
        own = self._columns(key.child, *key.columns, *hidden)
        fields = [*_pairs(own)]
        far = _free(self._columns(key.child), role, f"{role}_row")
        shown = self._columns(other.parent, *(its for _, its in other.pairs))
        for each in shown:
            name = _free([name for name, _ in fields], each, f"{far}_{each}")
            fields.append((name, f"{_expression(far)}.{_expression(each)}"))
        pairs = tuple((its, mine) for mine, its in other.pairs)
        row = NodeSpec(far, "one", self.names[other.parent], pairs, _pairs(shown), hidden=True)
        several = plural(role)
        return NodeSpec(
            _free(taken, several, f"{several}_by_{relation}"),
            "many",
            relation,
            key.pairs,
            tuple(fields),
            embed=(row,) if shown else (),
        )


def _pairs(columns: Iterable[str]) -> Pairs:
    return tuple((each, _expression(each)) for each in columns)
