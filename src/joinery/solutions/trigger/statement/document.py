"""The statement that gives the documents of a set of roots, as JSON text built in the database.

A node's row is read under an alias. Its `one` embeds are joined beside it, each the first row
that matches; its `many` embeds are subqueries over its columns. An expression is written out
where it is used, so a name of an embed's output stands for what computes it there.

Invariant: the text equals `engine.render.document_json` of what `engine.assemble` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from joinery.clients.sql import quoted
from joinery.expression.aggregate import EMBED_AGGREGATES
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import STRING, Field
from joinery.plan.node import Hot, Named, Node, Total
from joinery.plan.product import Product
from joinery.plan.relation import Computed
from joinery.semantics.render import document_json
from joinery.solutions.trigger.statement.dialect import Dialect, literal
from joinery.solutions.trigger.statement.expression import (
    Value,
    scalar,
    translate,
)
from joinery.solutions.trigger.statement.fragment import Fragment, UntranslatableError
from joinery.solutions.trigger.statement.json_form import COMPACT, JsonForm
from joinery.solutions.trigger.statement.layout import Layout


def documents_statement(
    product: Product, layout: Layout, dialect: Dialect, roots: str, form: JsonForm = COMPACT
) -> str:
    """Return the statement: a row for each root that has a document.

    Its columns are the root's key, the text, and the paths, a line each, of lists with
    `overflow: fail` that are above their limit.

    Args:
        product: What to show.
        layout: Where rows are.
        dialect: Of the database.
        roots: A table, already quoted, of root keys under the names of their columns.
        form: How objects and lists are written.

    Raises:
        UntranslatableError: Something in the product has no faithful SQL.
    """
    return _Statement(layout, dialect, form).documents(product.root, roots)


def range_statement(
    product: Product,
    layout: Layout,
    dialect: Dialect,
    within: Callable[[Sequence[str]], str],
    form: JsonForm = COMPACT,
) -> str:
    """Return the same statement for the roots whose keys meet a condition.

    Args:
        product: What to show.
        layout: Where rows are.
        dialect: Of the database.
        within: Returns the condition on the columns of a key, by which rows are found.
        form: How objects and lists are written.

    Raises:
        UntranslatableError: Something in the product has no faithful SQL.
    """
    return _Statement(layout, dialect, form).documents_within(product.root, within)


class _Statement:
    """What the parts of one statement share."""

    def __init__(self, layout: Layout, dialect: Dialect, form: JsonForm) -> None:
        self.layout, self.dialect, self.form = layout, dialect, form
        self._aliases: set[str] = {"wanted"}

    def alias(self, name: str) -> str:
        """Return a name that no other row of the statement has."""
        plain = "".join(each if each.isascii() and each.isalnum() else "_" for each in name)[:40]
        found, number = plain, 1
        while found in self._aliases:
            number += 1
            found = f"{plain}_{number}"
        self._aliases.add(found)
        return found

    def documents(self, root: Node, roots: str) -> str:
        table = _From(self, root)
        key = [quoted(column) for column in root.relation.key]
        same = " AND ".join(
            f"{table.row.found_by(c)} = wanted.{quoted(c)}" for c in root.relation.key
        )
        shown = ", ".join([*(f"wanted.{column}" for column in key), *self._told(table.row)])
        where = table.where()
        return (
            f"SELECT {shown}\nFROM {roots} AS wanted\n"
            f"{self.dialect.join} {table.name} ON {same}\n{table.joins()}WHERE {where}"
        )

    def documents_within(self, root: Node, within: Callable[[Sequence[str]], str]) -> str:
        table = _From(self, root)
        found_by = {each: table.row.found_by(each) for each in root.relation.key}
        key = [f"{sql} AS {quoted(each)}" for each, sql in found_by.items()]
        shown = ", ".join([*key, *self._told(table.row)])
        where = f"{within([*found_by.values()])} AND {table.where()}"
        return f"SELECT {shown}\n{table.tail(where)}"

    def _told(self, row: _Row) -> list[str]:
        """Return what is told of a root: its text, and the lists above their limits."""
        return [f"{row.json()} AS document", f"{row.overflow()} AS overflowed"]


class _From:
    """Rows of one node's relation, with the rows that are joined beside them."""

    def __init__(self, statement: _Statement, node: Node, *, above: _Row | None = None) -> None:
        self.statement, self._above = statement, above
        self.row = _Row(self, node, statement.alias(node.name))
        self._joins: list[str] = []

    @property
    def name(self) -> str:
        return f"{self.statement.layout.table(self.row.node.relation)} AS {quoted(self.row.alias)}"

    def add(self, join: str) -> None:
        """Join one more row to each."""
        self._joins.append(join)

    def joins(self) -> str:
        return "".join(f"{join}\n" for join in self._joins)

    def conditions(self) -> list[str]:
        """Return that a row exists, joins the row above and passes the node's `where`."""
        row = self.row
        told = [] if self._above is None else _pairs(row, self._above)
        told.append(self.statement.layout.exists(quoted(row.alias)))
        if row.node.where is not None:
            told.append(row.ranked(row.node.where).guarded())
        return told

    def where(self) -> str:
        return " AND ".join(self.conditions()) or "(1 = 1)"

    def order(self) -> str:
        """Return the clause that orders rows: by the node's own order, then by the key."""
        row, dialect = self.row, self.statement.dialect
        # What the join compares is the same in all rows; a column orders once.
        known = {row.column(pair.child) for pair in row.node.on}
        keys = []
        for key in row.node.order:
            told = row.ranked(key.expression).guarded()
            way = "DESC NULLS LAST" if key.descending else "ASC NULLS FIRST"
            if told not in known:
                keys.append(f"{dialect.sortable(told, key.expression.type)} {way}")
            known.add(told)
        relation = row.node.relation
        keys += [
            dialect.sortable(row.column(column), relation.type_of(column))
            for column in relation.key
            if row.column(column) not in known
        ]
        return f"\nORDER BY {', '.join(keys)}" if keys else ""

    def select(self, shown: str, *, ordered: bool = False, limit: int | None = None) -> str:
        """Return the statement that shows something of each row; `shown` is already written."""
        where = self.where()
        order = self.order() if ordered else ""
        most = f" LIMIT {limit}" if limit is not None else ""
        return f"\nSELECT {shown}\n{self.tail(where)}{order}{most}"

    def tail(self, where: str) -> str:
        return f"FROM {self.name}\n{self.joins()}WHERE {where}"


class _Row:
    """One row of a node under its alias; what expressions above and below it see of it."""

    def __init__(self, source: _From, node: Node, alias: str) -> None:
        self.node, self.alias = node, alias
        self._source = source
        self.statement = source.statement
        self._embeds = {each.name: each for each in node.embeds}
        self._shown = dict(node.shown)
        self._fields_scope, self._rank_scope = node.fields_scope, node.rank_scope
        self._values = {each.name: place for place, each in enumerate(node.values)}
        self._ones: dict[str, _Object] = {}

    # -- what it is

    def column(self, name: str) -> str:
        return f"{quoted(self.alias)}.{quoted(name)}"

    def found_by(self, name: str) -> str:
        """Return the column whose equality finds the row by one of its columns."""
        return f"{quoted(self.alias)}.{self.statement.layout.found_by(self.node.relation, name)}"

    @property
    def columns(self) -> frozenset[str]:
        """All its columns; each is null where the row is absent."""
        return frozenset(self.column(field.name) for field in self.node.relation.row.fields)

    @property
    def present(self) -> str:
        return f"({self.column(self.node.relation.key[0])} IS NOT NULL)"

    def json(self) -> str:
        """Return the text of the object that the node shows of this row."""
        entries = [(each.name, self._text(self._computed(each), each)) for each in self.node.fields]
        for embed in self.node.embeds:
            if not embed.hidden:
                entries.append((embed.name, self._embed_json(embed)))
                if embed.total_name:
                    entries.append((embed.total_name, f"({self._count(embed)})"))
        entries += [
            (each.name, self._text(self._computed(each), each)) for each in self.node.values
        ]
        form = self.statement.form
        parts = [
            f"{literal(document_json(name, STRING) + form.colon)} || {text}"
            for name, text in form.ordered(entries)
        ]
        told = f"\n|| '{form.comma}' || ".join(parts) if parts else "''"
        return f"('{{' || {told} || '}}')"

    def overflow(self) -> str:
        """Return the paths, a line each, of the lists in this row's object above their limit."""
        told = [self._overflow(each) for each in self.node.embeds if _may_overflow(each)]
        return f"({' || '.join(told)})" if told else "''"

    def _overflow(self, embed: Node) -> str:
        match embed.cardinality:
            case "many":
                return _List(self, embed).overflow()
            case "one":
                one = self._one(embed)
                return f"(CASE WHEN {one.present} THEN {one.overflow()} ELSE '' END)"
            case "root":
                raise AssertionError(embed.path)  # nothing embeds it

    def _text(self, value: Value, computed: Computed) -> str:
        match value:
            case Fragment():
                return self.statement.dialect.json(value.guarded(), computed.expression.type)
            case _Object() | _List():
                return value.json()
            case _:
                raise UntranslatableError(f'the value "{computed.name}"')

    def _embed_json(self, embed: Node) -> str:
        match embed.cardinality:
            case "one":
                return self._one(embed).json()
            case "many":
                return _List(self, embed).json()
            case "root":
                raise AssertionError(embed.path)  # nothing embeds it

    def _count(self, embed: Node) -> str:
        return _From(self.statement, embed, above=self).select("count(*)")

    # -- what expressions see

    def ranked(self, expression: Expression) -> Fragment:
        """Return an expression of `where` or `order`."""
        return scalar(translate(expression, self._rank, self.statement.dialect))

    def member(self, name: str) -> Value:
        """Return one output of the node, as its parent sees it."""
        return self._of(self._shown[name])

    def _rank(self, name: str) -> Value:
        return self._of(self._rank_scope[name])

    def _of(self, named: Named) -> Value:
        match named:
            case Field(name):
                return Fragment(self.column(name))
            case Computed():
                return self._computed(named)
            case Node(cardinality="one"):
                return self._one(named)
            case Node():
                return _List(self, named)
            case Total(embed):
                return Fragment(f"({self._count(embed)})")
            case Aggregate():
                return Fragment(self._aggregate(named))
            case Hot(embed):
                raise AssertionError(embed.path)  # refused before anything starts

    def _computed(self, each: Computed) -> Value:
        place = self._values.get(each.name)
        scope = self._fields_scope if place is None else self.node.values_scope(before=place)
        dialect = self.statement.dialect
        value = translate(each.expression, lambda name: self._of(scope[name]), dialect)
        return Fragment(value.guarded()) if isinstance(value, Fragment) else value

    def _one(self, embed: Node) -> _Object:
        if embed.name not in self._ones:
            self._ones[embed.name] = _Object(self._join(embed))
        return self._ones[embed.name]

    def _join(self, embed: Node) -> _Row:
        statement = self.statement
        row = _Row(self._source, embed, statement.alias(embed.name))
        table = statement.layout.table(embed.relation)
        pairs = {pair.child for pair in embed.on}
        if embed.where is None and pairs.issuperset(embed.relation.key):
            on = " AND ".join([*_pairs(row, self), statement.layout.exists(quoted(row.alias))])
            self._source.add(f"LEFT JOIN {table} AS {quoted(row.alias)} ON {on}")
        else:
            pick = _First(_From(statement, embed, above=self))
            key = embed.relation.key
            self._source.add(statement.dialect.joined(row.alias, table, pick, key))
        return row

    def _aggregate(self, each: Aggregate) -> str:
        rows = _From(self.statement, self._embeds[each.embed], above=self)
        dialect = self.statement.dialect
        shown = "count(*)"
        if each.argument is not None:
            argument = scalar(translate(each.argument, rows.row.member, dialect)).guarded()
            shown = _aggregated(each, argument, dialect)
        kept: list[str] = []
        if each.filter is not None:
            kept.append(scalar(translate(each.filter, rows.row.member, dialect)).guarded())
        where = " AND ".join([*rows.conditions(), *kept])
        return f"(SELECT {shown} {rows.tail(where)})"


class _First:
    """The candidates of a `one` embed, best first."""

    def __init__(self, rows: _From) -> None:
        self._rows = rows
        self.alias = rows.row.alias

    def rest(self) -> str:
        where, order = self._rows.where(), self._rows.order()
        return f"{self._rows.tail(where)}{order}"


class _Object:
    """A joined row that may be absent."""

    def __init__(self, row: _Row) -> None:
        self._row = row
        self.present = row.present

    def member(self, name: str) -> Value:
        found = self._row.member(name)
        if isinstance(found, Fragment) and found.sql in self._row.columns:
            return found
        if isinstance(found, Fragment):
            return Fragment(f"(CASE WHEN {self.present} THEN {found.sql} END)")
        return found.within(self.present) if isinstance(found, _List) else found

    def overflow(self) -> str:
        return self._row.overflow()

    def json(self) -> str:
        return f"(CASE WHEN {self.present} THEN {self._row.json()} ELSE 'null' END)"


class _List:
    """The rows of a `many` embed under one row."""

    def __init__(self, above: _Row, embed: Node, known: str = "") -> None:
        self._above, self._embed, self._known = above, embed, known
        self._statement = above.statement

    def within(self, present: str) -> _List:
        """Return the list as a member of an object that may be absent."""
        return _List(self._above, self._embed, present)

    @property
    def known(self) -> str:
        """The condition that there is a list, empty where there always is."""
        return self._known

    def size(self) -> str:
        """Return how many rows are shown."""
        limit = self._embed.limit
        rows = _From(self._statement, self._embed, above=self._above)
        most = "count(*)"
        if limit is not None:
            most = f"CASE WHEN count(*) > {limit} THEN {limit} ELSE count(*) END"
        sql = f"({rows.select(most)})"
        return f"(CASE WHEN {self._known} THEN {sql} END)" if self._known else sql

    def json(self) -> str:
        embed, dialect, form = self._embed, self._statement.dialect, self._statement.form
        rows = _From(self._statement, embed, above=self._above)
        text = rows.row.json()
        left, right = "[", "]"
        if embed.keyed:
            text, left, right = f"{self._key(rows.row)} || '{form.colon}' || {text}", "{", "}"
        inner = rows.select(f"{text} AS shown", ordered=True, limit=embed.limit)
        name = quoted(self._statement.alias("list"))
        listed = f"'{left}' || {dialect.gathered('shown', form.comma)} || '{right}'"
        sql = f"(SELECT {listed}\nFROM ({inner}) AS {name})"
        return f"(CASE WHEN {self._known} THEN {sql} ELSE 'null' END)" if self._known else sql

    def overflow(self) -> str:
        """Return the paths of this list and of those in the rows it shows."""
        embed, dialect = self._embed, self._statement.dialect
        told: list[str] = []
        if _fails(embed):
            rows = _From(self._statement, embed, above=self._above)
            path = literal(embed.path + "\n")
            most = f"CASE WHEN count(*) > {embed.limit} THEN {path} ELSE '' END"
            told.append(f"({rows.select(most)})")
        if any(map(_may_overflow, embed.embeds)):
            rows = _From(self._statement, embed, above=self._above)
            below = f"{rows.row.overflow()} AS shown"
            inner = rows.select(below, ordered=True, limit=embed.limit)
            name = quoted(self._statement.alias("list"))
            told.append(f"(SELECT {dialect.gathered('shown', '')} FROM ({inner}) AS {name})")
        return " || ".join(told)

    def _key(self, row: _Row) -> str:
        """Return the JSON text of a row's key as the name of a map's entry."""
        dialect, relation = self._statement.dialect, row.node.relation
        parts = [(row.column(column), relation.type_of(column)) for column in relation.key]
        if len(parts) == 1:
            return dialect.json(dialect.plain(*parts[0]), STRING)
        told = " || ',' || ".join(dialect.json(*part) for part in parts)
        return dialect.json(f"('[' || {told} || ']')", STRING)


def _fails(embed: Node) -> bool:
    return embed.overflow == "fail" and embed.limit is not None


def _may_overflow(embed: Node) -> bool:
    return any(_fails(node) for node in embed.walk())


def _pairs(child: _Row, parent: _Row) -> list[str]:
    relations = child.node.relation, parent.node.relation
    for pair in child.node.on:
        dialect = child.statement.dialect
        dialect.joinable(relations[0].type_of(pair.child), relations[1].type_of(pair.parent))
    return [
        f"{child.found_by(pair.child)} = {parent.found_by(pair.parent)}" for pair in child.node.on
    ]


def _aggregated(each: Aggregate, argument: str, dialect: Dialect) -> str:
    assert each.argument is not None
    sql = EMBED_AGGREGATES[each.function].sql
    if sql is None:
        raise UntranslatableError(f'the aggregate "{each.function}"')
    return sql(dialect, argument, each.type, each.argument.type)
