"""What the fleet declares: a seeded choice of relations and of products over them.

Relations name each other by columns that end in `_id`: each names some that came before it, some
name themselves, some name another in two roles, and links hold nothing but two of them. Products
are trees over these: rows that are named, rows that name, rows across a link, the newest of many.

Invariant: the same seed and sizes give the same fleet, on any machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

Cardinality = Literal["root", "one", "newest", "many", "across"]
PAYLOADS = {
    "name": "string",
    "n": "long",
    "amount": "decimal(10,2)",
    "made_at": "timestamp",
    "open": "boolean",
}
CONDITIONS = (
    ("n", "{} > 20"),
    ("n", "{} % 3 <> 0"),
    ("open", "{}"),
    ("name", "{} like 'a%'"),
    ("name", "{} is not null"),
    ("amount", "{} >= 100"),
)
"""Of a column, which means the same in Spark and in DuckDB."""
COMPUTED = {
    "loud": ("name", "upper({})"),
    "label": ("name", "coalesce({}, '?')"),
    "twice": ("n", "{} * 2"),
    "size": ("n", "case when {} > 50 then 'high' else 'low' end"),
}
HOT_KEYS = 5
FILES = {"files": {"path": "data"}}
HOT_REFERENCES = 0.1
"""How many of a hot relation's references go to its hot row."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A field or a condition: what it is called, the column it is of, and what is made of that."""

    name: str
    column: str
    template: str = "{}"

    @property
    def text(self) -> str:
        """The expression, as it is declared."""
        return self.template.format(self.column)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table.

    Attributes:
        references: Columns, and the relations whose `id` they hold.
        weight: How many of the changes are its own, beside the others' weights.
        hot: One row of it, whose id is 1, is named far more often than any other.
    """

    name: str
    key: tuple[str, ...]
    references: tuple[tuple[str, str], ...]
    payloads: tuple[str, ...]
    weight: float
    hot: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """Names and types, the key's first."""
        names = dict.fromkeys((*self.key, *(column for column, _ in self.references)), "long")
        return {**names, **{each: PAYLOADS[each] for each in self.payloads}}

    @property
    def link(self) -> bool:
        """Whether it is a link of two others."""
        return len(self.key) > 1


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value over all rows of an embed: `column` is None for how many there are."""

    name: str
    function: str
    embed: str
    column: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One level of a product.

    Attributes:
        on: The column of its rows, and the one of its parent's rows.
        across: The link between its parent and itself, and the link's columns for the two.
        inner: An embed whose row must be there.
        told: Fields taken from an embed: name, embed, the embed's field.
    """

    name: str
    cardinality: Cardinality
    relation: Relation
    fields: tuple[Computed, ...]
    on: tuple[str, str] = ("", "")
    across: tuple[Relation, str, str] | None = None
    where: Computed | None = None
    inner: str | None = None
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    told: tuple[tuple[str, str, str], ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    sizes: tuple[str, ...] = ()
    embeds: tuple[Node, ...] = ()
    hidden: bool = False

    def walk(self) -> Iterator[Node]:
        """Yield itself and all below."""
        yield self
        for each in self.embeds:
            yield from each.walk()

    @property
    def many(self) -> bool:
        """Whether it is a list."""
        return self.cardinality in ("many", "across")


@dataclass(frozen=True, slots=True)
class Product:
    """A document for each row of a relation."""

    name: str
    root: Node

    @property
    def relations(self) -> dict[str, Relation]:
        """What it reads, by name."""
        found = {each.relation.name: each.relation for each in self.root.walk()}
        links = (each.across[0] for each in self.root.walk() if each.across is not None)
        return {**found, **{each.name: each for each in links}}


@dataclass(frozen=True, slots=True)
class Fleet:
    """Relations, and products over them."""

    seed: int
    relations: tuple[Relation, ...]
    products: tuple[Product, ...] = field(default=())

    def alone(self, *products: Product) -> Fleet:
        """Return a fleet of these products alone, and the relations that they read."""
        used = {name for each in products for name in each.relations}
        kept = tuple(each for each in self.relations if each.name in used)
        return Fleet(self.seed, kept, products)


def make_fleet(seed: int, *, relations: int = 40, products: int = 100) -> Fleet:
    """Return the fleet of a seed."""
    made = _relations(Random(f"relations {seed}"), relations)
    random = Random(f"products {seed}")
    return Fleet(
        seed, made, tuple(_product(random, made, f"p{number:03d}") for number in range(products))
    )


def _relations(random: Random, count: int) -> tuple[Relation, ...]:
    made: list[Relation] = []
    for number in range(count):
        plain = [each for each in made if not each.link]
        if len(plain) >= 3 and random.random() < 0.2:
            made.append(_link(random, number, plain))
        else:
            made.append(_plain(random, number, plain))
    hot = set(sorted(_named(made), key=lambda name: -_named(made)[name])[:HOT_KEYS])
    return tuple(replace(each, hot=each.name in hot) for each in made)


def _named(relations: list[Relation]) -> dict[str, int]:
    """Return how many columns name a relation."""
    found: dict[str, int] = {}
    for each in relations:
        for _, target in each.references:
            found[target] = found.get(target, 0) + 1
    return found


def _plain(random: Random, number: int, before: list[Relation]) -> Relation:
    name, references = f"r{number:02d}", []
    for target in random.sample(before, min(len(before), random.choice((1, 1, 2, 2, 3)))):
        references.append((f"{target.name}_id", target.name))
        if random.random() < 0.25:
            references.append((f"other_{target.name}_id", target.name))
    if random.random() < 0.2:
        references.append(("parent_id", name))
    payloads = ("name", *random.sample(sorted(set(PAYLOADS) - {"name"}), random.randint(1, 4)))
    return Relation(name, ("id",), tuple(references), payloads, weight=random.choice((1, 2, 4, 8)))


def _link(random: Random, number: int, before: list[Relation]) -> Relation:
    left, right = random.sample(before, 2)
    references = ((f"{left.name}_id", left.name), (f"{right.name}_id", right.name))
    key = tuple(column for column, _ in references)
    return Relation(
        f"l{number:02d}", key, references, ("n", "made_at"), weight=random.choice((2, 4, 8))
    )


@dataclass(slots=True)
class _Maker:
    """Draws the nodes of one product."""

    random: Random
    relations: tuple[Relation, ...]
    names: int = 0
    nodes: int = 0

    def name(self) -> str:
        self.names += 1
        return f"e{self.names}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def relation(self, name: str) -> Relation:
        return next(each for each in self.relations if each.name == name)

    def node(self, drawn: Node, depth: int, *, fan: bool) -> Node:
        """Complete a node: its fields, what it embeds, and values over that.

        Args:
            drawn: What is known of it so far.
            depth: How many levels it may have, its own included.
            fan: Whether many rows may show the same row of it, so that its lists must be short.
        """
        self.nodes += 1
        fields = self._fields(drawn.relation)
        where = self._where(drawn.relation) if self.chance(0.2) else None
        node = replace(drawn, fields=fields, where=where)
        if depth > 1:
            for _ in range(self.random.choice((1, 2, 2, 3))):
                embed = self._embed(node, depth, fan=fan) if self.nodes < 8 else None
                node = node if embed is None else replace(node, embeds=(*node.embeds, embed))
        return self._valued(self._ranked(node, fan=fan))

    def _fields(self, relation: Relation) -> tuple[Computed, ...]:
        some = self.random.sample(relation.payloads, self.random.randint(1, len(relation.payloads)))
        fields = [Computed(each, each) for each in (*relation.key, *some)]
        for name, (column, template) in COMPUTED.items():
            if column in relation.payloads and self.chance(0.15):
                fields.append(Computed(name, column, template))
        return tuple(fields)

    def _where(self, relation: Relation) -> Computed | None:
        fit = [Computed("", *each) for each in CONDITIONS if each[0] in relation.payloads]
        return self.random.choice(fit) if fit else None

    def _embed(self, parent: Node, depth: int, *, fan: bool) -> Node | None:
        kinds = [self._named, self._naming, self._naming, self._linked]
        return self.random.choice(kinds)(parent, depth, fan)

    def _named(self, parent: Node, depth: int, fan: bool) -> Node | None:
        """A row that the parent names."""
        if not parent.relation.references:
            return None
        column, target = self.random.choice(parent.relation.references)
        hidden = self.chance(0.3)
        drawn = Node(self.name(), "one", self.relation(target), (), ("id", column), hidden=hidden)
        return self.node(drawn, depth - 1, fan=True)

    def _naming(self, parent: Node, depth: int, fan: bool) -> Node | None:
        """Rows that name the parent, or the newest of them."""
        if parent.relation.link:
            return None
        pairs = [
            (each, column)
            for each in self.relations
            for column, target in each.references
            if target == parent.relation.name
        ]
        if not pairs:
            return None
        relation, column = self.random.choice(pairs)
        newest = self.chance(0.2)
        drawn = Node(self.name(), "newest" if newest else "many", relation, (), (column, "id"))
        return self.node(drawn, depth - 1, fan=fan)

    def _linked(self, parent: Node, depth: int, fan: bool) -> Node | None:
        """Rows across a link: all of them as one list, or the link's rows, each with its other."""
        sides = [
            (each, a, b)
            for each in self.relations
            if each.link
            for a, b in (each.references, each.references[::-1])
            if a[1] == parent.relation.name
        ]
        if not sides:
            return None
        link, (here, _), (there, target) = self.random.choice(sides)
        if self.chance(0.4):
            across = (link, here, there)
            drawn = Node(self.name(), "across", self.relation(target), (), across=across)
            return self.node(drawn, depth - 1, fan=True)
        drawn = Node(self.name(), "many", link, (), (here, "id"))
        return self.node(drawn, depth - 1, fan=fan)

    def _ranked(self, node: Node, *, fan: bool) -> Node:
        if node.cardinality in ("root", "one"):
            return node
        columns = self.random.sample(node.relation.payloads, min(2, len(node.relation.payloads)))
        order = tuple((each, self.chance(0.5)) for each in columns[: self.random.randint(0, 2)])
        order = order or ((columns[0], True),) if node.cardinality == "newest" else order
        limit = self.random.randint(1, 5) if node.many and (fan or self.chance(0.6)) else None
        return replace(node, order=order, limit=limit)

    def _valued(self, node: Node) -> Node:
        ones = [each for each in node.embeds if not each.many]
        lists = [each for each in node.embeds if each.many]
        told = tuple(
            (f"{each.name}_{each.fields[0].name}", each.name, each.fields[0].name)
            for each in ones
            if each.hidden or self.chance(0.2)
        )
        inner = self.random.choice(ones).name if ones and self.chance(0.15) else None
        sizes = tuple(each.name for each in lists if self.chance(0.3))
        aggregates = [
            each
            for embed in lists
            if embed.cardinality == "many" and self.chance(0.4)
            for each in self._aggregates(embed)
        ]
        return replace(node, told=told, inner=inner, sizes=sizes, aggregates=tuple(aggregates))

    def _aggregates(self, embed: Node) -> Iterator[Aggregate]:
        shown = [each.name for each in embed.fields]
        where = f"{embed.name}.n > 50" if "n" in shown and self.chance(0.4) else None
        yield Aggregate(f"{embed.name}_count", "count", embed.name, where=where)
        if "n" in shown:
            yield Aggregate(f"{embed.name}_sum", "sum", embed.name, "n", where)
        if "amount" in shown:
            yield Aggregate(f"{embed.name}_paid", "sum", embed.name, "amount")
        if "made_at" in shown:
            yield Aggregate(f"{embed.name}_last", "max", embed.name, "made_at")


def _product(random: Random, relations: tuple[Relation, ...], name: str) -> Product:
    """Draw until something is embedded, unless one level is wanted."""
    depth = random.choice((1, 2, 2, 2, 3, 3, 3, 3))
    while True:
        maker = _Maker(random, relations)
        relation = random.choice([each for each in relations if not each.link])
        root = maker.node(Node(name, "root", relation, ()), depth, fan=False)
        if depth == 1 or root.embeds:
            return Product(name, root)


def declared(
    fleet: Fleet, *, out: str, groups: int = 1, source: Mapping[str, Any] = FILES, **run: Any
) -> str:
    """Return the project file, as JSON, which is YAML.

    Args:
        fleet: What it declares.
        out: The folder for documents and the checkpoint.
        groups: Over how many groups the products are dealt.
        source: Where the changes are, as a project file says it.
        run: Settings of the run.
    """
    project = {
        "name": "fleet",
        "sources": {"changes": source},
        "defaults": {"source": "changes", "format": "debezium-json"},
        "relations": {
            each.name: {"key": list(each.key), "fields": each.columns} for each in fleet.relations
        },
        "products": {
            each.name: {
                **_declared_node(each.root),
                "group": f"fleet{number % groups}",
                "sink": {"files": {"path": out}},
            }
            for number, each in enumerate(fleet.products)
        },
        "run": {"checkpoint": f"{out}/checkpoint", **run},
    }
    return json.dumps(project, indent=1)


def _declared_node(node: Node) -> dict[str, Any]:
    kinds = {"root": "root", "one": "one", "newest": "one", "many": "many", "across": "many"}
    told: dict[str, Any] = {kinds[node.cardinality]: node.relation.name}
    if node.across is not None:
        link, here, there = node.across
        told |= {"through": {link.name: {here: "id"}}, "on": {"id": f"{link.name}.{there}"}}
    elif node.cardinality != "root":
        told["on"] = dict([node.on])
    names = {each.name: each.text for each in node.fields}
    told["fields"] = names | {name: f"{embed}.{text}" for name, embed, text in node.told}
    if conditions := _conditions(node):
        told["where"] = " and ".join(conditions)
    if node.order:
        told["order"] = [f"-{each}" if down else each for each, down in node.order]
    if node.limit is not None:
        told["limit"] = node.limit
    if node.hidden:
        told["hidden"] = True
    if node.embeds:
        told["embed"] = {each.name: _declared_node(each) for each in node.embeds}
    if values := _values(node):
        told["values"] = values
    return told


def _conditions(node: Node) -> list[str]:
    own = [node.where.text] if node.where else []
    if node.inner is None:
        return own
    embed = next(each for each in node.embeds if each.name == node.inner)
    return [*own, f"{node.inner}.{embed.fields[0].name} is not null"]


def _values(node: Node) -> dict[str, str]:
    values = {f"{each}_size": f"size({each})" for each in node.sizes}
    for each in node.aggregates:
        over = each.embed if each.column is None else f"{each.embed}.{each.column}"
        filtered = f" filter (where {each.where})" if each.where else ""
        values[each.name] = f"{each.function}({over}){filtered}"
    return values
