"""The tree of a document: its root and its embeds, their keys, and how they are read and written.

Keys that stand for themselves are fields with `key`; `one` and `many`, `on`, `through` and `hot`,
which say together what is embedded, are read and written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from joinery.project.mark import Path
from joinery.project.part import Part, key, made_of, names_of, part, part_data, read_part
from joinery.project.reader import Reader
from joinery.project.tree import Entry, MapTree, Tree
from joinery.project.value import (
    EXPRESSION,
    FIELDS,
    FLAG,
    ON,
    ORDER,
    TEXT,
    VALUES,
    WITHIN,
    At,
    Fragment,
    OrderSpec,
    Pairs,
    Value,
    count,
    on_data,
    one_of,
    read_on,
)
from joinery.project.window import Within

Parts = Mapping[str, Tree]


@dataclass(frozen=True, slots=True)
class ThroughSpec:
    """A relation whose rows lead from a parent to its children.

    Attributes:
        on: Its column and the parent's, pair by pair.
        hot_above: Children whom more of its rows name are left out; None sets no bound.
    """

    relation: str
    on: Pairs
    hot_above: int | None = None


def _read_embeds(at: At, tree: Tree) -> tuple[NodeSpec, ...]:
    entries = at.reader.entries(tree, at.part)
    return tuple(read_embed(at.reader, each, (*at.path, each.name)) for each in entries)


_EMBEDS = Value(
    {"type": "object", "additionalProperties": {"$ref": "#/$defs/embed"}},
    _read_embeds,
    lambda embeds: {each.name: embed_data(each) for each in embeds},
)
_SHAPE = one_of(("list", "map"))
_KEYED = Value(
    _SHAPE.fragment,
    lambda at, tree: _SHAPE.read(at, tree) == "map",
    lambda keyed: "map" if keyed else "list",
)


@part
class NodeSpec(Part):
    """A product's root, or an entry of `embed`.

    Attributes:
        on: Child column and parent column, pair by pair; empty at the root. With `through` a
            column of that relation stands in place of the parent's.
        fields: Names and expressions; None means all columns of the relation.
        keyed: True for `as: map`.
        as_of: The column of the row above with the time whose version is embedded; None for the
            row as it is.
        within: How far a row's time may be from that of the row above; None for any.
    """

    name: str
    cardinality: Literal["root", "one", "many"]
    relation: str
    on: Pairs = ()
    fields: Pairs | None = key(FIELDS, "The columns to show; by default all.", default=None)
    values: Pairs = key(VALUES, "Further fields, computed from fields and embeds.", default=())
    where: str | None = key(EXPRESSION, "Only rows for which it is true.", default=None)
    embed: tuple[NodeSpec, ...] = key(
        _EMBEDS, "Related rows, by the name of the field they become.", default=()
    )
    order: tuple[OrderSpec, ...] = key(
        ORDER,
        "What the list is sorted by, `-` in front for descending; then by the key.",
        default=(),
    )
    limit: int | None = key(count(), "How many are kept, in that order.", default=None)
    overflow: Literal["count", "fail"] = key(
        one_of(("count", "fail")),
        "Above `limit`: count all in `<name>_total`, or refuse the document.",
        default="count",
    )
    hidden: bool = key(FLAG, "Usable in expressions, but not part of the document.", default=False)
    keyed: bool = key(
        _KEYED, "A list, or a map from the row's key to the row.", name="as", default=False
    )
    as_of: str | None = key(
        TEXT,
        "The column of the parent with the time whose version of the row is embedded; by default"
        " the row as it is.",
        default=None,
    )
    within: Within | None = key(
        WITHIN,
        "How far the row's time may be from that of the row above: `[from, to]`, ends included.",
        default=None,
    )
    through: ThroughSpec | None = None

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that it names itself."""
        return (self.relation,) if self.through is None else (self.relation, self.through.relation)

    def walk(self) -> Iterator[NodeSpec]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.embed:
            yield from child.walk()

    @classmethod
    def check(cls, reader: Reader, parts: Mapping[str, Tree], what: str) -> None:
        """Refuse what has no meaning, such as an overflow without a limit."""
        for name in ("limit", "overflow", "as", "through"):
            if name in parts and "one" in parts and "many" not in parts:
                message = f'{what} is a "one" and cannot have "{name}"'
                hint = f'Remove "{name}", or make it a "many".'
                reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
        if "overflow" in parts and "limit" not in parts and "many" in parts:
            message = f'{what} has "overflow" without "limit"'
            place = parts["overflow"].mark.value
            reader.refuse("SPEC_VALUE", message, place, hint="Add limit: N.")
        for name in ("within", "through"):
            if name in parts and "as_of" in parts:
                message = f'{what} has both "as_of" and "{name}"'
                place = parts[name].mark.value
                reader.refuse("SPEC_VALUE", message, place, hint="Keep one of them.")


@part
class HotSpec(Part):
    """What an embed through a relation leaves out."""

    above: int = key(
        count(),
        "A value named by more rows than this is left out, and listed in `<name>_hot`.",
        hint="Write hot: {above: N}.",
    )


_OF_ROOT = ("fields", "values", "where", "embed")


def _described(value: Value, description: str) -> Fragment:
    return {**value.fragment, "description": description}


SHOWN = {name: each for name, each in names_of(NodeSpec).items() if name in _OF_ROOT}
"""The keys that a root and an embed have in common, as JSON Schema."""
EMBED = {
    "one": _described(TEXT, "The relation to embed as one object, or null where nothing matches."),
    "many": _described(TEXT, "The relation to embed as a list."),
    "on": _described(
        ON, "Column of the embedded relation: column of the parent; a list where names agree."
    ),
    "through": {
        "$ref": "#/$defs/through",
        "description": "Of `many`: the relation whose rows lead to the embedded ones. `on` then"
        " compares with columns of it, `relation.column`.",
    },
    "hot": {
        "$ref": "#/$defs/hot",
        "description": "Of `through`: leaves out values that very many of its rows name.",
    },
    **names_of(NodeSpec),
}
"""The keys of an embed, as JSON Schema."""


def read_root(
    reader: Reader, parts: Parts, what: str, path: Path, *, name: str, relation: str
) -> NodeSpec:
    """Return the root of a product's documents, from the product's keys."""
    shown = {each: parts[each] for each in SHOWN if each in parts}
    return made_of(
        reader,
        shown,
        what,
        NodeSpec,
        path,
        place=None,
        name=name,
        cardinality="root",
        relation=relation,
    )


def read_embed(reader: Reader, entry: Entry, path: Path) -> NodeSpec:
    """Return the node that an entry of `embed` declares."""
    what = f'embed "{entry.name}"'
    reader.output_name(entry.name, "an embed", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return NodeSpec(entry.name, "one", "")
    parts = reader.named(entry.value, what, EMBED)
    cardinality, relation = _cardinality(reader, parts, entry, what)
    if "on" not in parts:
        hint = "Write on: {child column: parent column}."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "on"', entry.place, hint=hint)
    through = _through(reader, parts, what, path)
    on = read_on(At(reader, "on", what, (*path, "on")), parts["on"]) if "on" in parts else ()
    if through is not None and "on" in parts:
        on = _unqualified(reader, parts["on"], on, through.relation, what)
    return made_of(
        reader,
        parts,
        what,
        NodeSpec,
        path,
        place=entry.place,
        name=entry.name,
        cardinality=cardinality,
        relation=relation,
        on=on,
        through=through,
    )


def _through(reader: Reader, parts: Parts, what: str, path: Path) -> ThroughSpec | None:
    """Return the relation of `through` with its `on`, and what `hot` says."""
    hot = _hot_above(reader, parts, what)
    if "through" not in parts:
        return None
    part, tree = f'"through" of {what}', parts["through"]
    entries = reader.entries(tree, part) if isinstance(tree, MapTree) else []
    if len(entries) != 1:
        hint = "Write through: {RELATION: {its column: parent column}}."
        reader.shape(tree, part, "a map with one relation", hint)
        return None
    (entry,) = entries
    place = (*path, "through", entry.name)
    on = read_on(At(reader, "through", what, place), entry.value)
    return ThroughSpec(entry.name, on, hot)


def _hot_above(reader: Reader, parts: Parts, what: str) -> int | None:
    if "hot" not in parts:
        return None
    part, tree = f'"hot" of {what}', parts["hot"]
    if "through" not in parts:
        message = f'{what} has "hot" without "through"'
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint='Remove "hot".')
    if not isinstance(tree, MapTree):
        reader.shape(tree, part, "a map", "Write hot: {above: N}.")
        return None
    return read_part(reader, tree, part, HotSpec).above


def _unqualified(reader: Reader, tree: Tree, on: Pairs, relation: str, what: str) -> Pairs:
    """Return the pairs of an `on` that compares columns of the through relation, and no other."""
    pairs: list[tuple[str, str]] = []
    for child, written in on:
        named, _, column = written.rpartition(".")
        if named == relation and column:
            pairs.append((child, column))
            continue
        message = f'"{written}" in "on" of {what} is not a column of "{relation}"'
        hint = f"Write {{{child}: {relation}.COLUMN}}."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
    return tuple(pairs)


def _cardinality(
    reader: Reader, parts: Parts, entry: Entry, what: str
) -> tuple[Literal["one", "many"], str]:
    found = [name for name in ("one", "many") if name in parts]
    if len(found) != 1:
        wanted = 'either "one" or "many", not both' if found else '"one" or "many"'
        hint = "Write one: RELATION or many: RELATION."
        reader.refuse("SPEC_MISSING_KEY", f"{what} needs {wanted}", entry.place, hint=hint)
    name = found[0] if found else "one"
    relation = reader.text(parts[name], f'"{name}" of {what}') if found else ""
    return cast(Literal["one", "many"], name), relation


def embed_data(spec: NodeSpec) -> dict[str, Any]:
    """Return an embed as the map under its name."""
    data: dict[str, Any] = {spec.cardinality: spec.relation}
    data |= {"on": on_data(spec.on)} if spec.through is None else _through_data(spec, spec.through)
    return data | part_data(spec)


def _through_data(spec: NodeSpec, through: ThroughSpec) -> dict[str, Any]:
    data: dict[str, Any] = {"through": {through.relation: on_data(through.on)}}
    data["on"] = {child: f"{through.relation}.{column}" for child, column in spec.on}
    return data | ({} if through.hot_above is None else {"hot": {"above": through.hot_above}})
