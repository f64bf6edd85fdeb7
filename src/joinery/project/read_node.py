"""Reads a product and its tree of embeds.

Reads the outbox of a product: the relation whose inserted rows are sent as events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, cast

from joinery.project import grammar
from joinery.project.expect import Expectations
from joinery.project.part import read_part
from joinery.project.product import (
    AggregateSpec,
    HistorySpec,
    NodeSpec,
    OrderSpec,
    OutboxSpec,
    Pairs,
    PatternSpec,
    ProductSpec,
    SearchSpec,
    ThroughSpec,
)
from joinery.project.read_aggregate import read_emit, read_product_window
from joinery.project.read_fold import read_fold
from joinery.project.read_kind import read_sinks, read_solution
from joinery.project.reader import Reader
from joinery.project.tree import Entry, ListTree, MapTree, Path, Scalar, Tree
from joinery.project.window import Within


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
_OF_FORM = {
    **dict.fromkeys(("by", "window"), "aggregate"),
    **dict.fromkeys(("queries", "query", "on", "language", "retroactive"), "search"),
    **dict.fromkeys(("valid", "track"), "history"),
    **dict.fromkeys(grammar.PATTERN_KEYS, "pattern"),
    **dict.fromkeys(grammar.FOLD_KEYS, "fold"),
}
"""The keys that one form of a product has and documents have not."""
_SQL_ORDER = re.compile(r"(.*\S)\s+(asc|desc)", re.IGNORECASE | re.DOTALL)


def read_product(reader: Reader, entry: Entry, path: Path) -> ProductSpec:
    """Return the product that an entry of `products` declares."""
    what = f'product "{entry.name}"'
    reader.folder_name(entry.name, "a product", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return ProductSpec(entry.name, NodeSpec(entry.name, "root", ""))
    parts = reader.named(entry.value, what, grammar.PRODUCT)
    product = _product(reader, parts, entry, path)
    if "expect" not in parts:
        return product
    expect = read_part(reader, parts["expect"], f'"expect" of {what}', Expectations)
    return replace(product, expect=expect)


def _product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    """Return the product of one form or another."""
    what = f'product "{entry.name}"'
    if "outbox" in parts:
        return _outbox_product(reader, parts, entry, path)
    if "aggregate" in parts:
        return _aggregate_product(reader, parts, entry, path)
    if "pattern" in parts:
        return _pattern_product(reader, parts, entry, path)
    if "search" in parts:
        return _search_product(reader, parts, entry, path)
    if "fold" in parts:
        return _fold_product(reader, parts, entry, path)
    if "history" in parts:
        return _history_product(reader, parts, entry, path)
    for name, form in _OF_FORM.items():
        if name in parts:
            message = f'{what} has "{name}" without "{form}"'
            hint = f"Write {form}: RELATION instead of root."
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    if "root" not in parts:
        _no_root(reader, entry, what)
    root = reader.text(parts["root"], f'"root" of {what}') if "root" in parts else ""
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    emit = _emit(reader, parts, what)
    return ProductSpec(
        name=entry.name,
        root=_shown(reader, parts, what, path, NodeSpec(entry.name, "root", root)),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=_settle(reader, emit),
        ready=_texts(reader, parts, "ready", what, path),
        emit=read_emit(reader, emit),
    )


def _refuse_times(reader: Reader, emit: Parts) -> Parts:
    """Refuse what goes by time of a product that does not, and return it."""
    for name in sorted(emit.keys() - {"settle"}):
        message = (
            f'"{name}" of "emit" is of products with "aggregate", or with "within" in an embed'
        )
        reader.refuse("SPEC_VALUE", message, emit[name].mark.value, hint=f'Remove "{name}".')
    return emit


def _outbox_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in parts:
        if name not in ("outbox", "sink", "expect"):
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
    hint = "Write root: RELATION, or one of outbox, aggregate, search, history, pattern and fold."
    reader.refuse("SPEC_MISSING_KEY", f'{what} needs "root"', entry.place, hint=hint)


def _aggregate_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in ("root", "outbox", "fields", "embed", *grammar.SEARCH, *grammar.HISTORY):
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


def _search_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in ("root", "outbox", "by", "window", "where", "values", "embed"):
        if name in parts:
            message = f'{what} has both "search" and "{name}"'
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=f'Remove "{name}".')
    relation = reader.text(parts["search"], f'"search" of {what}')
    reader.alias((*path, "root"), parts["search"])
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    return ProductSpec(
        name=entry.name,
        root=NodeSpec(entry.name, "root", relation),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=_settle(reader, _refuse_times(reader, _emit(reader, parts, what))),
        ready=_texts(reader, parts, "ready", what, path),
        search=_search(reader, parts, entry, path),
    )


def _search(reader: Reader, parts: Parts, entry: Entry, path: Path) -> SearchSpec:
    what = f'product "{entry.name}"'
    for name in ("queries", "query"):
        if name not in parts:
            hint = "Write queries: RELATION, query: its column with the query."
            reader.refuse("SPEC_MISSING_KEY", f'{what} needs "{name}"', entry.place, hint=hint)
    named = {
        name: reader.text(parts[name], f'"{name}" of {what}')
        for name in ("queries", "query")
        if name in parts
    }
    language = _word(reader, parts, "language", what, grammar.LANGUAGES)
    kept = "retroactive" not in parts or reader.flag(
        parts["retroactive"], f'"retroactive" of {what}'
    )
    return SearchSpec(
        queries=named.get("queries", ""),
        query=named.get("query", ""),
        on=read_on(reader, parts["on"], what, (*path, "on")) if "on" in parts else (),
        language="lucene" if language == "lucene" else "sql",
        retroactive=kept,
        fields=read_fields(reader, parts["fields"], what, (*path, "fields"))
        if "fields" in parts
        else (),
    )


_NOT_OF_HISTORY = ("root", "fields", "values", "where", "embed", "by", "window", *grammar.SEARCH)


def _history_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in _NOT_OF_HISTORY:
        if name in parts:
            message = f'{what} has both "history" and "{name}"'
            hint = "Write track: [column]." if name == "fields" else f'Remove "{name}".'
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    if "valid" not in parts:
        hint = "Write valid: COLUMN, the time from which a version is valid."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "valid"', entry.place, hint=hint)
    relation = reader.text(parts["history"], f'"history" of {what}')
    reader.alias((*path, "root"), parts["history"])
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    return ProductSpec(
        name=entry.name,
        root=NodeSpec(entry.name, "root", relation),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=_settle(reader, _refuse_times(reader, _emit(reader, parts, what))),
        ready=_texts(reader, parts, "ready", what, path),
        history=HistorySpec(
            valid=reader.text(parts["valid"], f'"valid" of {what}') if "valid" in parts else "",
            track=_texts(reader, parts, "track", what, path) if "track" in parts else None,
        ),
    )


_NOT_OF_FOLD = (
    *("root", "fields", "values", "where", "embed", "window"),
    *grammar.SEARCH,
    *grammar.HISTORY,
    *grammar.PATTERN_KEYS,
)


def _fold_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in _NOT_OF_FOLD:
        if name in parts:
            message = f'{what} has both "fold" and "{name}"'
            hint = f'Remove "{name}".'
            if name in ("fields", "values"):
                hint = "Write columns of the state under state."
            if name == "where":
                hint = "Write it under where of the relation; what it leaves out is a gap."
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    relation = reader.text(parts["fold"], f'"fold" of {what}')
    reader.alias((*path, "root"), parts["fold"])
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    by: Pairs = ()
    if "by" in parts:
        by = read_fields(reader, parts["by"], what, (*path, "by"), word="by")
    return ProductSpec(
        name=entry.name,
        root=NodeSpec(entry.name, "root", relation),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=_settle(reader, _refuse_times(reader, _emit(reader, parts, what))),
        ready=_texts(reader, parts, "ready", what, path),
        fold=read_fold(reader, parts, entry, by),
    )


def _pattern_product(reader: Reader, parts: Parts, entry: Entry, path: Path) -> ProductSpec:
    what = f'product "{entry.name}"'
    for name in ("root", "embed", "values", "where", "window", *grammar.SEARCH, *grammar.HISTORY):
        if name in parts:
            message = f'{what} has both "pattern" and "{name}"'
            hint = "Write it under fields." if name == "values" else f'Remove "{name}".'
            if name == "where":
                hint = "Write it under where of the relation, or under define."
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint=hint)
    relation = reader.text(parts["pattern"], f'"pattern" of {what}')
    reader.alias((*path, "root"), parts["pattern"])
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    emit = _emit(reader, parts, what)
    return ProductSpec(
        name=entry.name,
        root=NodeSpec(entry.name, "root", relation),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=_settle(reader, emit),
        ready=_texts(reader, parts, "ready", what, path),
        pattern=replace(_pattern(reader, parts, entry, path), emit=read_emit(reader, emit)),
    )


def _pattern(reader: Reader, parts: Parts, entry: Entry, path: Path) -> PatternSpec:
    what = f'product "{entry.name}"'
    if "match" not in parts:
        hint = "Write match: A -> B, with the variables under define."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "match"', entry.place, hint=hint)
    default = PatternSpec("")
    within = None
    if "within" in parts:
        within = reader.elapsed_us(parts["within"], f'"within" of {what}', least=1)
    after = _word(reader, parts, "after", what, grammar.AFTERS) or default.after
    by, fields = (
        read_fields(reader, parts[word], what, (*path, word), word=word) if word in parts else ()
        for word in ("by", "fields")
    )
    return PatternSpec(
        match=reader.text(parts["match"], f'"match" of {what}') if "match" in parts else "",
        by=by,
        order=_order(reader, parts, what, path),
        define=reader.pairs(parts["define"], f'"define" of {what}') if "define" in parts else (),
        within_us=within,
        after="next_row" if after == "next_row" else "past_last",
        fields=fields,
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
    through = _through(reader, parts, what, path)
    on = read_on(reader, parts["on"], what, (*path, "on")) if "on" in parts else ()
    if through is not None and "on" in parts:
        on = _unqualified(reader, parts["on"], on, through.relation, what)
    node = NodeSpec(
        name=entry.name,
        cardinality=cardinality,
        relation=relation,
        on=on,
        order=_order(reader, parts, what, path),
        limit=reader.count(parts["limit"], f'"limit" of {what}') if "limit" in parts else None,
        overflow="fail" if overflow == "fail" else "count",
        hidden="hidden" in parts and reader.flag(parts["hidden"], f'"hidden" of {what}'),
        keyed=_word(reader, parts, "as", what, grammar.SHAPES) == "map",
        within=read_within(reader, parts["within"], what) if "within" in parts else None,
        through=through,
        as_of=_as_of(reader, parts, what),
    )
    return _shown(reader, parts, what, path, node)


def _as_of(reader: Reader, parts: Parts, what: str) -> str | None:
    if "as_of" not in parts:
        return None
    for name in ("within", "through"):
        if name in parts:
            message = f'{what} has both "as_of" and "{name}"'
            reader.refuse("SPEC_VALUE", message, parts[name].mark.value, hint="Keep one of them.")
    return reader.text(parts["as_of"], f'"as_of" of {what}')


def read_within(reader: Reader, tree: Tree, what: str) -> Within | None:
    """Return how far times may be apart, from a list of two; None where it tells nothing."""
    part = f'"within" of {what}'
    if not isinstance(tree, ListTree) or len(tree.items) != 2:
        reader.shape(tree, part, "a list of two durations", "Write one such as [0s, 30m].")
        return None
    first, last = (reader.offset_us(each, f"an end of {part}") for each in tree.items)
    if first > last:
        hint = "Write the earlier end first."
        reader.refuse("SPEC_VALUE", f"{part} holds no time", tree.mark.value, hint=hint)
    return Within(first, last)


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
    on = read_on(reader, entry.value, what, place, word="through")
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


def read_on(reader: Reader, tree: Tree, what: str, path: Path, *, word: str = "on") -> Pairs:
    """Return child and parent columns: from a map, or from a list where the names agree."""
    part = f'"{word}" of {what}'
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
