"""Reads the tree of a document: its embeds, and what a root and an embed have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, cast

from joinery.project import grammar
from joinery.project.form import OrderSpec
from joinery.project.product import NodeSpec, ThroughSpec
from joinery.project.reader import Reader
from joinery.project.tree import Entry, ListTree, MapTree, Path, Scalar, Tree
from joinery.project.value import At, Pairs, read_fields, read_on, read_within

Parts = Mapping[str, Tree]
_SQL_ORDER = re.compile(r"(.*\S)\s+(asc|desc)", re.IGNORECASE | re.DOTALL)


def read_embed(reader: Reader, entry: Entry, path: Path) -> NodeSpec:
    """Return the node that an entry of `embed` declares."""
    what = f'embed "{entry.name}"'
    reader.output_name(entry.name, "an embed", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return NodeSpec(entry.name, "one", "")
    parts = reader.named(entry.value, what, grammar.EMBED)
    cardinality, relation = _cardinality(reader, parts, entry, what)
    if "on" not in parts:
        hint = "Write on: {child column: parent column}."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "on"', entry.place, hint=hint)
    _only_many(reader, parts, what)
    overflow = read_word(reader, parts, "overflow", what, grammar.OVERFLOWS)
    through = _through(reader, parts, what, path)
    on = read_on(At(reader, "on", what, (*path, "on")), parts["on"]) if "on" in parts else ()
    if through is not None and "on" in parts:
        on = _unqualified(reader, parts["on"], on, through.relation, what)
    node = NodeSpec(
        name=entry.name,
        cardinality=cardinality,
        relation=relation,
        on=on,
        order=read_order(reader, parts, what),
        limit=reader.count(parts["limit"], f'"limit" of {what}') if "limit" in parts else None,
        overflow="fail" if overflow == "fail" else "count",
        hidden="hidden" in parts and reader.flag(parts["hidden"], f'"hidden" of {what}'),
        keyed=read_word(reader, parts, "as", what, grammar.SHAPES) == "map",
        within=read_within(At(reader, "within", what), parts["within"])
        if "within" in parts
        else None,
        through=through,
        as_of=_as_of(reader, parts, what),
    )
    return read_shown(reader, parts, what, path, node)


def _as_of(reader: Reader, parts: Parts, what: str) -> str | None:
    if "as_of" not in parts:
        return None
    for name in ("within", "through"):
        if name in parts:
            message = f'{what} has both "as_of" and "{name}"'
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint="Keep one of them.")
    return reader.text(parts["as_of"], f'"as_of" of {what}')


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
    found = reader.named(tree, part, grammar.HOT)
    if "above" not in found:
        hint = "Write hot: {above: N}."
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "above"', tree.mark.value, hint=hint)
        return None
    return reader.count(found["above"], f'"above" of {part}')


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


def _only_many(reader: Reader, parts: Parts, what: str) -> None:
    """Refuse what has no meaning: a window over one object, an overflow without a limit."""
    for name in ("limit", "overflow", "as", "through"):
        if name in parts and "one" in parts and "many" not in parts:
            message = f'{what} is a "one" and cannot have "{name}"'
            hint = f'Remove "{name}", or make it a "many".'
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    if "overflow" in parts and "limit" not in parts and "many" in parts:
        message = f'{what} has "overflow" without "limit"'
        reader.refuse("SPEC_VALUE", message, parts["overflow"].mark.value, hint="Add limit: N.")


def read_word(
    reader: Reader, parts: Parts, name: str, what: str, known: tuple[str, ...]
) -> str | None:
    """Return one of the known words; None where the key is not there."""
    return reader.word(parts[name], f'"{name}" of {what}', known) if name in parts else None


def read_texts(reader: Reader, parts: Parts, name: str, what: str) -> tuple[str, ...]:
    """Return the texts of a list; none where the key is not there."""
    if name not in parts:
        return ()
    return reader.texts(parts[name], f'"{name}" of {what}')


def read_shown(reader: Reader, parts: Parts, what: str, path: Path, node: NodeSpec) -> NodeSpec:
    """Return `node` with the parts that a root and an embed have in common."""
    embeds: tuple[NodeSpec, ...] = ()
    if "embed" in parts:
        entries = reader.entries(parts["embed"], f'"embed" of {what}')
        embeds = tuple(read_embed(reader, each, (*path, "embed", each.name)) for each in entries)
    return replace(
        node,
        fields=read_fields(At(reader, "fields", what, (*path, "fields")), parts["fields"])
        if "fields" in parts
        else None,
        values=read_values(reader, parts["values"], what) if "values" in parts else (),
        where=reader.expression(parts["where"], f'"where" of {what}') if "where" in parts else None,
        embed=embeds,
    )


def read_values(reader: Reader, tree: Tree, what: str) -> Pairs:
    """Return names and the expressions that are computed under them."""
    for entry in reader.entries(tree, f'"values" of {what}'):
        reader.output_name(entry.name, "a value", entry.place)
    return reader.pairs(tree, f'"values" of {what}') if isinstance(tree, MapTree) else ()


def read_order(reader: Reader, parts: Parts, what: str) -> tuple[OrderSpec, ...]:
    """Return what rows are sorted by; `-` in front is descending."""
    if "order" not in parts:
        return ()
    tree, part = parts["order"], f'"order" of {what}'
    if not isinstance(tree, ListTree):
        hint = f"Write [{tree.text}]." if isinstance(tree, Scalar) and tree.text else ""
        reader.shape(tree, part, "a list", hint)
        return ()
    return tuple(_order_key(reader, item, part) for item in tree.items)


def _order_key(reader: Reader, tree: Tree, part: str) -> OrderSpec:
    if isinstance(tree, Scalar) and not isinstance(tree.value, str) and tree.text:
        reader.shape(tree, f"an entry of {part}", "a column or an expression")
        return OrderSpec("")
    text = reader.expression(tree, f"an entry of {part}").strip()
    if spelled := _SQL_ORDER.fullmatch(text):
        sign = "-" if spelled[2].lower() == "desc" else ""
        message, hint = f'an entry of {part} cannot be "{text}"', f"Write {sign}{spelled[1]}."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
        return OrderSpec("")
    return OrderSpec(text[1:].strip(), True) if text.startswith("-") else OrderSpec(text)
