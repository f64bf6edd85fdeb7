"""Reads a product and its tree of embeds.

Reads the outbox of a product: the relation whose inserted rows are sent as events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, cast

from joinery.project import grammar
from joinery.project.product import (
    AggregateSpec,
    NodeSpec,
    OrderSpec,
    OutboxSpec,
    Pairs,
    ProductSpec,
)
from joinery.project.read_aggregate import read_emit, read_product_window
from joinery.project.read_kind import read_sinks, read_solution
from joinery.project.reader import Reader
from joinery.project.tree import Entry, ListTree, MapTree, Path, Scalar, Tree


def read_outbox(reader: Reader, tree: Tree, what: str) -> tuple[str, OutboxSpec]:
    """Return the relation and the columns of `outbox`: a name, or a map with a relation.

    Args:
        reader: Takes the problems.
        tree: The value of `outbox`.
        what: The product, for the problems.
    """
    part = f'"outbox" of {what}'
    if not isinstance(tree, MapTree):
        return reader.text(tree, part), OutboxSpec()
    found = reader.named(tree, part, grammar.OUTBOX)
    if "relation" not in found:
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "relation"', tree.mark.value)
    texts = {
        name: reader.text(found[name], f'"{name}" of {part}')
        for name in ("relation", "key", "value")
        if name in found
    }
    default = OutboxSpec()
    headers = default.headers
    if "headers" in found:
        entries = reader.entries(found["headers"], f'"headers" of {part}')
        headers = tuple((each.name, _column(reader, each, part)) for each in entries)
    outbox = OutboxSpec(
        key=texts.get("key", default.key), value=texts.get("value", default.value), headers=headers
    )
    return texts.get("relation", ""), outbox


def _column(reader: Reader, entry: Entry, part: str) -> str:
    return reader.text(entry.value, f'header "{entry.name}" of {part}')


Parts = Mapping[str, Tree]
_EQUATION = re.compile(r"\s*(?:\w+\.)?(\w+)\s*==?\s*(?:\w+\.)?(\w+)\s*")
_SQL_ORDER = re.compile(r"(.*\S)\s+(asc|desc)", re.IGNORECASE | re.DOTALL)


def read_product(reader: Reader, entry: Entry, path: Path) -> ProductSpec:
    """Return the product that an entry of `products` declares."""
    what = f'product "{entry.name}"'
    reader.folder_name(entry.name, "a product", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return ProductSpec(entry.name, NodeSpec(entry.name, "root", ""))
    parts = reader.named(entry.value, what, grammar.PRODUCT)
    if "outbox" in parts:
        return _outbox_product(reader, parts, entry, path)
    if "aggregate" in parts:
        return _aggregate_product(reader, parts, entry, path)
    for name in ("by", "window"):
        if name in parts:
            message = f'{what} has "{name}" without "aggregate"'
            hint = "Write aggregate: RELATION instead of root."
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    if "root" not in parts:
        _no_root(reader, entry, what)
    root = reader.text(parts["root"], f'"root" of {what}') if "root" in parts else ""
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    emit = _emit(reader, parts, what)
    for name in emit.keys() - {"settle"}:
        message = f'"{name}" of "emit" is of products with "aggregate"'
        reader.refuse("SPEC_VALUE", message, emit[name].mark.value, hint=f'Remove "{name}".')
    return ProductSpec(
        name=entry.name,
        root=_shown(reader, parts, what, path, NodeSpec(entry.name, "root", root)),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=_settle(reader, emit),
        ready=_texts(reader, parts, "ready", what, path),
    )


def _outbox_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in parts:
        if name not in ("outbox", "sink"):
            message = f'{what} has both "outbox" and "{name}"'
            hint = f'Remove "{name}".' if name != "root" else "Keep one of them."
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    if "sink" not in parts:
        hint = "Write sink: {kafka: {topic: outbox.event.{aggregatetype}}}, the topic in quotes."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "sink"', entry.place, hint=hint)
    relation, outbox = read_outbox(reader, parts["outbox"], what)
    reader.alias((*path, "root"), parts["outbox"])
    return ProductSpec(
        name=entry.name,
        root=NodeSpec(entry.name, "root", relation),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        outbox=outbox,
    )


def _no_root(reader: Reader, entry: Entry, what: str) -> None:
    hint = "Write root: RELATION, outbox: RELATION or aggregate: RELATION."
    reader.refuse("SPEC_MISSING_KEY", f'{what} needs "root"', entry.place, hint=hint)


def _aggregate_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in ("root", "outbox", "fields", "embed"):
        if name in parts:
            message = f'{what} has both "aggregate" and "{name}"'
            hint = "Write them under by and values." if name == "fields" else f'Remove "{name}".'
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    relation = reader.text(parts["aggregate"], f'"aggregate" of {what}')
    reader.alias((*path, "root"), parts["aggregate"])
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    emit = _emit(reader, parts, what)
    where = parts.get("where")
    window = parts.get("window")
    return ProductSpec(
        name=entry.name,
        root=NodeSpec(entry.name, "root", relation),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=_settle(reader, emit),
        ready=_texts(reader, parts, "ready", what, path),
        aggregate=AggregateSpec(
            by=read_fields(reader, parts["by"], what, (*path, "by"), word="by")
            if "by" in parts
            else (),
            where=None if where is None else reader.expression(where, f'"where" of {what}'),
            window=None if window is None else read_product_window(reader, window, what),
            values=_values(reader, parts["values"], what) if "values" in parts else (),
            emit=read_emit(reader, emit),
        ),
    )


def _emit(reader: Reader, parts: Parts, what: str) -> Parts:
    if "emit" not in parts:
        return {}
    return reader.named(parts["emit"], f'"emit" of {what}', grammar.EMIT)


def _settle(reader: Reader, parts: Parts) -> int | None:
    return reader.duration_ms(parts["settle"], '"settle"') if "settle" in parts else None


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
    overflow = _word(reader, parts, "overflow", what, grammar.OVERFLOWS)
    node = NodeSpec(
        name=entry.name,
        cardinality=cardinality,
        relation=relation,
        on=read_on(reader, parts["on"], what, (*path, "on")) if "on" in parts else (),
        order=_order(reader, parts, what, path),
        limit=reader.count(parts["limit"], f'"limit" of {what}') if "limit" in parts else None,
        overflow="fail" if overflow == "fail" else "count",
        hidden="hidden" in parts and reader.flag(parts["hidden"], f'"hidden" of {what}'),
        keyed=_word(reader, parts, "as", what, grammar.SHAPES) == "map",
    )
    return _shown(reader, parts, what, path, node)


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
    for name in ("limit", "overflow", "as"):
        if name in parts and "one" in parts and "many" not in parts:
            message = f'{what} is a "one" and cannot have "{name}"'
            hint = f'Remove "{name}", or make it a "many".'
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    if "overflow" in parts and "limit" not in parts and "many" in parts:
        message = f'{what} has "overflow" without "limit"'
        reader.refuse("SPEC_VALUE", message, parts["overflow"].mark.value, hint="Add limit: N.")


def _word(reader: Reader, parts: Parts, name: str, what: str, known: tuple[str, ...]) -> str | None:
    return reader.word(parts[name], f'"{name}" of {what}', known) if name in parts else None


def _texts(reader: Reader, parts: Parts, name: str, what: str, path: Path) -> tuple[str, ...]:
    if name not in parts:
        return ()
    return reader.texts(parts[name], f'"{name}" of {what}', (*path, name))


def _shown(reader: Reader, parts: Parts, what: str, path: Path, node: NodeSpec) -> NodeSpec:
    """Return `node` with the parts that a root and an embed have in common."""
    embeds: tuple[NodeSpec, ...] = ()
    if "embed" in parts:
        entries = reader.entries(parts["embed"], f'"embed" of {what}')
        embeds = tuple(read_embed(reader, each, (*path, "embed", each.name)) for each in entries)
    return replace(
        node,
        fields=read_fields(reader, parts["fields"], what, (*path, "fields"))
        if "fields" in parts
        else None,
        values=_values(reader, parts["values"], what) if "values" in parts else (),
        where=reader.expression(parts["where"], f'"where" of {what}') if "where" in parts else None,
        embed=embeds,
    )


def _values(reader: Reader, tree: Tree, what: str) -> Pairs:
    for entry in reader.entries(tree, f'"values" of {what}'):
        reader.output_name(entry.name, "a value", entry.place)
    return reader.pairs(tree, f'"values" of {what}') if isinstance(tree, MapTree) else ()


def read_fields(
    reader: Reader, tree: Tree, what: str, path: Path, *, word: str = "fields"
) -> Pairs:
    """Return names and expressions: from one map, or from a list of names and maps."""
    part = f'"{word}" of {what}'
    if isinstance(tree, MapTree):
        return _field_map(reader, tree, part, path)
    if not isinstance(tree, ListTree):
        reader.shape(tree, part, "a list or a map", f"Write [{getattr(tree, 'text', '')}].")
        return ()
    pairs: list[tuple[str, str]] = []
    for item in tree.items:
        if isinstance(item, MapTree):
            pairs += _field_map(reader, item, part, path)
        else:
            name = reader.text(item, f"an entry of {part}")
            reader.output_name(name or "field", "a field", item.mark.value)
            reader.alias((*path, name), item)
            pairs.append((name, name))
    return tuple(pairs)


def _field_map(reader: Reader, tree: MapTree, part: str, path: Path) -> Pairs:
    for entry in tree.entries:
        reader.output_name(entry.name, "a field", entry.place)
        reader.alias((*path, entry.name), entry.value, entry.place)
    return reader.pairs(tree, part)


def read_on(reader: Reader, tree: Tree, what: str, path: Path) -> Pairs:
    """Return child and parent columns: from a map, or from a list where the names agree."""
    part = f'"on" of {what}'
    if isinstance(tree, ListTree):
        names = reader.texts(tree, part, path)
        for name, item in zip(names, tree.items, strict=False):
            reader.alias((*path, name), item)
        pairs: Pairs = tuple((name, name) for name in names)
    elif isinstance(tree, MapTree):
        entries = reader.entries(tree, part)
        pairs = tuple((each.name, reader.text(each.value, part)) for each in entries)
    else:
        reader.shape(tree, part, "a map or a list", _on_hint(getattr(tree, "text", "")))
        return ()
    if not pairs:
        reader.refuse("SPEC_SHAPE", f"{part} names no column", tree.mark.value)
    return pairs


def _on_hint(written: str) -> str:
    """Return how to write an `on` that was written as one text, such as SQL's equation."""
    if equation := _EQUATION.fullmatch(written):
        return f"Write {{{equation[1]}: {equation[2]}}}."
    return f"Write [{written}]." if written else ""


def _order(reader: Reader, parts: Parts, what: str, path: Path) -> tuple[OrderSpec, ...]:
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
