"""Random projects: relations with tiny domains, one product, any shape.

A plain project keeps to what has the same meaning in any SQL, so that a database can
compute its documents too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias

from tests.oracle.names import NUMERIC, Name, condition, expression, of_type

from joinery.project.kind import SinkSpec, SourceSpec
from joinery.project.node import NodeSpec, ThroughSpec
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.project.run import RunSpec
from joinery.project.value import OrderSpec

PAYLOADS = ("int", "string", "boolean", "decimal(6,2)", "double", "timestamp", "date", "long")
PLAIN_PAYLOADS = ("int", "string", "long")
JOINABLE = ("int", "long", "string")
Cardinality: TypeAlias = Literal["root", "one", "many"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A random project and the seed that made it."""

    seed: int
    project: ProjectSpec


@dataclass(slots=True)
class _Maker:
    random: Random
    plain: bool
    through: bool = False
    relations: tuple[RelationSpec, ...] = ()
    names: int = 0
    nodes: int = 0

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability


def make_shape(
    seed: int, *, plain: bool = False, through: bool = False, logs: bool = False
) -> Shape:
    """Return the project of `seed`.

    Args:
        seed: Another project for each.
        plain: Whether a database can compute its documents.
        through: Whether most lists are reached through another relation.
        logs: Whether some relations are append.
    """
    name = f"shape {seed} {plain}{' through' if through else ''}"
    maker = _Maker(Random(name), plain, through)
    maker.relations = tuple(
        _relation(maker, f"r{number}") for number in range(maker.random.randint(2, 4))
    )
    if logs:
        chosen = Random(f"logs {seed}")
        maker.relations = tuple(
            replace(each, append=chosen.random() < 0.3) for each in maker.relations
        )
    root = maker.random.choice(maker.relations)
    node, _ = _node(
        maker, "p", root, depth=maker.random.choice((1, 2, 2, 3, 3, 3, 4, 4, 4)), cardinality="root"
    )
    sinks = (SinkSpec("files", (("path", "out"),)),)
    used = {name for each in node.walk() for name in each.relations}
    project = ProjectSpec(
        name=f"oracle_{seed}",
        sources=(SourceSpec("changes", "files", (("path", "in"),)),),
        relations=tuple(each for each in maker.relations if each.name in used),
        products=(ProductSpec("p", node, sinks),),
        run=RunSpec(),
    )
    return Shape(seed, project)


def _relation(maker: _Maker, name: str) -> RelationSpec:
    random = maker.random
    key = [(f"k{number}", random.choice(JOINABLE)) for number in range(random.choice((1, 1, 1, 2)))]
    joins = [(f"j{number}", random.choice(JOINABLE)) for number in range(random.randint(1, 3))]
    payloads = PLAIN_PAYLOADS if maker.plain else PAYLOADS
    others = [(f"c{number}", random.choice(payloads)) for number in range(random.randint(1, 2))]
    fields = (*key, *joins, *others)
    random.shuffle(key)
    relation = RelationSpec(
        name=name,
        key=tuple(column for column, _ in key),
        fields=fields,
        source="changes",
        format="json" if maker.plain or maker.chance(0.6) else "debezium-json",
    )
    columns = [Name(column, type_) for column, type_ in fields]
    if maker.chance(0.2) and not maker.plain:
        made = expression(random, of_type(columns, *JOINABLE), plain=False)
        relation = replace(relation, derive=(("d0", made.text),))
    if maker.chance(0.15):
        relation = replace(relation, where=condition(random, columns, plain=maker.plain))
    return relation


def _columns(relation: RelationSpec) -> list[Name]:
    return [Name(column, type_) for column, type_ in relation.fields]


def _node(
    maker: _Maker, name: str, relation: RelationSpec, *, depth: int, cardinality: Cardinality
) -> tuple[NodeSpec, list[Name]]:
    """Return a node and its output names."""
    random = maker.random
    maker.nodes += 1
    embeds = _embeds(maker, relation, depth)
    ones = [
        Name(f"{e.name}.{o.text}", o.type)
        for e, out in embeds
        if e.cardinality == "one"
        for o in out
    ]
    seen = _columns(relation) + ones
    outputs: list[Name] = []
    fields: list[tuple[str, str]] = []
    for _ in range(random.choice((0, 1, 1, 2, 2, 3))):
        made = expression(random, ones if ones and maker.chance(0.4) else seen, plain=maker.plain)
        plain_column = made.text in {each.text for each in _columns(relation)}
        label = made.text if plain_column and maker.chance(0.5) else maker.name("o")
        if label not in dict(fields):
            fields.append((label, made.text))
            outputs.append(Name(label, made.type))
    if not fields and not embeds:
        fields.append(("k0", "k0"))
        outputs.append(Name("k0", dict(relation.fields)["k0"]))
    values = _values(maker, embeds, outputs)
    node = NodeSpec(
        name=name,
        cardinality=cardinality,
        relation=relation.name,
        fields=tuple(fields),
        values=tuple((each.text, text) for each, text in values),
        embed=tuple(each for each, _ in embeds),
    )
    ranked = seen + [each for each, _ in values]
    if maker.chance(0.25):
        pool = ones if ones and maker.chance(0.5) else ranked
        node = replace(node, where=condition(random, pool, plain=maker.plain))
    if cardinality != "root":
        node = _ranked(maker, node, ranked)
    return node, outputs + [each for each, _ in values]


def _ranked(maker: _Maker, node: NodeSpec, ranked: list[Name]) -> NodeSpec:
    random = maker.random
    if maker.chance(0.4):
        order = tuple(
            OrderSpec(
                expression(random, of_type(ranked, *JOINABLE), plain=maker.plain).text,
                maker.chance(0.5),
            )
            for _ in range(random.choice((1, 1, 2)))
        )
        node = replace(node, order=order)
    if node.cardinality == "many":
        if maker.chance(0.35):
            node = replace(node, limit=random.randint(1, 3))
            if maker.chance(0.4) and not maker.plain:
                node = replace(node, overflow="fail")
        node = replace(node, keyed=maker.chance(0.12) and not maker.plain)
    return replace(node, hidden=maker.chance(0.2))


def _embeds(maker: _Maker, relation: RelationSpec, depth: int) -> list[tuple[NodeSpec, list[Name]]]:
    if depth <= 1:
        return []
    embeds: list[tuple[NodeSpec, list[Name]]] = []
    for _ in range(maker.random.choice((1, 2, 2, 3))):
        if maker.nodes >= 9:
            break
        child = maker.random.choice(maker.relations)
        if maker.through and maker.chance(0.7):
            if (led := _led(maker, relation, child, depth)) is not None:
                embeds.append(led)
            continue
        on = _on(maker, child, relation)
        if on:
            cardinality: Cardinality = maker.random.choice(("one", "many", "many"))
            node, outputs = _node(
                maker, maker.name("e"), child, depth=depth - 1, cardinality=cardinality
            )
            embeds.append((replace(node, on=on), outputs))
    return embeds


def _led(
    maker: _Maker, parent: RelationSpec, child: RelationSpec, depth: int
) -> tuple[NodeSpec, list[Name]] | None:
    """Return a list that rows of a relation lead to, and its output names; None where none fits."""
    leading = maker.random.choice(maker.relations)
    led, on = _on(maker, leading, parent), _on(maker, child, leading)
    if not led or not on:
        return None
    node, outputs = _node(maker, maker.name("e"), child, depth=depth - 1, cardinality="many")
    hot = maker.random.randint(1, 3) if maker.chance(0.4) else None
    through = ThroughSpec(leading.name, led, hot)
    return replace(node, on=on, through=through), outputs


def _on(maker: _Maker, child: RelationSpec, parent: RelationSpec) -> tuple[tuple[str, str], ...]:
    """Return a join, often on all key columns of one side, or empty where none fits."""
    random = maker.random
    style = random.random()
    wanted: list[tuple[str | None, str | None]]
    if style < 0.3:
        wanted = [(column, None) for column in child.key]
    elif style < 0.6:
        wanted = [(None, column) for column in parent.key]
    else:
        wanted = [(None, None)] * random.choice((1, 1, 1, 2))
    pairs: list[tuple[str, str]] = []
    for left, right in wanted:
        fits = [
            (a.text, b.text)
            for a in of_type(_columns(child), *JOINABLE)
            for b in of_type(_columns(parent), *JOINABLE)
            if (left in (None, a.text))
            and (right in (None, b.text))
            and _joins(a.type, b.type)
            and a.text not in dict(pairs)
        ]
        if not fits:
            return ()
        pairs.append(random.choice(fits))
    return tuple(pairs)


def _joins(left: str, right: str) -> bool:
    return left == right or (left in NUMERIC and right in NUMERIC)


def _values(
    maker: _Maker, embeds: list[tuple[NodeSpec, list[Name]]], outputs: list[Name]
) -> list[tuple[Name, str]]:
    values: list[tuple[Name, str]] = []
    for embed, names in embeds:
        if embed.cardinality == "one":
            scalars = of_type([Name(f"{embed.name}.{o.text}", o.type) for o in names], *JOINABLE)
            if scalars and maker.chance(0.3):
                made = expression(maker.random, scalars, plain=maker.plain)
                values.append((Name(maker.name("v"), made.type), made.text))
        elif maker.chance(0.5):
            name, text = _over_many(maker, embed, names)
            values.append((Name(maker.name("v"), name), text))
    if values and maker.chance(0.3):
        pool = of_type([each for each, _ in values] + outputs, *JOINABLE)
        if pool:
            made = expression(maker.random, pool, plain=maker.plain)
            values.append((Name(maker.name("v"), made.type), made.text))
    return values


def _over_many(maker: _Maker, embed: NodeSpec, names: list[Name]) -> tuple[str, str]:
    """Return the type and the text of a value over a `many` embed."""
    name = embed.name
    choices = [("int", f"size({name})")]
    if embed.limit is not None and embed.overflow == "count":
        choices.append(("long", f"{name}_total"))
    if embed.through is not None:
        if embed.through.hot_above is not None:
            choices.append(("int", f"size({name}_hot)"))
        return maker.random.choice(choices)
    choices.insert(1, ("long", f"count({name})"))
    for number in of_type(names, *NUMERIC):
        column = f"{name}.{number.text}"
        choices += [("long", f"sum({column})"), (number.type, f"max({column})")]
        if not maker.plain:
            choices.append(("double", f"avg({column})"))
            choices.append(("long", f"count({name}) filter (where {column} > 0)"))
            choices.append(("long", f"sum({column} * 2) filter (where {column} <> 1)"))
    for text in of_type(names, "string"):
        choices.append(("string", f"min({name}.{text.text})"))
    if not maker.plain:
        choices += [("double", f"sum({name}.{o.text})") for o in of_type(names, "double")]
        choices += [("other", f"sum({name}.{o.text})") for o in of_type(names, "decimal(6,2)")]
        choices += [("other", f"max({name}.{o.text})") for o in of_type(names, "timestamp", "date")]
    return maker.random.choice(choices)
