"""Reads a stream and its steps, all but the lookups.

Reads a lookup of a stream, with what can only stand beside something else.

Reads the type of a declared column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from joinery.model.type import TypeTextError, parse_type
from joinery.project import grammar
from joinery.project.form import Pairs
from joinery.project.kinds import LOOKUP_STORES
from joinery.project.option import check_options
from joinery.project.part import read_part
from joinery.project.quantity import duration_ms
from joinery.project.read_kind import read_sinks
from joinery.project.read_node import read_fields, read_on, read_within
from joinery.project.reader import Reader
from joinery.project.stream import (
    AsOf,
    Cache,
    FilterSpec,
    JoinSpec,
    Late,
    Limits,
    LookupSpec,
    MapSpec,
    Miss,
    OnChange,
    Read,
    RollingSpec,
    SelectSpec,
    StepSpec,
    StoreRead,
    StreamSpec,
    UnionSpec,
    WithColumnsSpec,
)
from joinery.project.tree import Entry, ListTree, Locations, MapTree, Path, Scalar, Tree
from joinery.project.window import WEEK_US, Within

Parts = Mapping[str, Tree]


def read_lookup(reader: Reader, tree: MapTree, what: str, path: Path) -> LookupSpec:
    """Return the lookup that a step declares."""
    parts = reader.named(tree, what, grammar.LOOKUP)
    if "on" not in parts:
        hint = "Write on: {table column: event column}."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "on"', tree.mark.value, hint=hint)
    miss, wait_ms = _miss(reader, parts.get("on_miss"), what)
    _check_together(reader, parts, what)
    return LookupSpec(
        table=reader.text(parts["lookup"], f'"lookup" of {what}'),
        on=read_on(reader, parts["on"], what, (*path, "on")) if "on" in parts else (),
        fields=read_fields(reader, parts["fields"], what, (*path, "fields"))
        if "fields" in parts
        else None,
        read=cast(Read, _word(reader, parts, "read", what, grammar.READS)),
        as_of=cast(AsOf, _word(reader, parts, "as_of", what, grammar.TIMES)),
        time=reader.text(parts["time"], f'"time" of {what}') if "time" in parts else None,
        late=cast(Late, _word(reader, parts, "late", what, grammar.LATES)),
        on_miss=miss,
        wait_ms=wait_ms,
        on_change=cast(OnChange, _word(reader, parts, "on_change", what, grammar.CHANGES)),
        for_ms=_duration(reader, parts, "for", what),
        every_ms=_duration(reader, parts, "every", what),
        where=reader.expression(parts["where"], f'"where" of {what}') if "where" in parts else None,
        cache=read_part(reader, parts.get("cache"), f'"cache" of {what}', Cache),
        limits=read_part(reader, parts.get("limits"), f'"limits" of {what}', Limits),
        store=read_store(reader, parts["store"], f'"store" of {what}')
        if "store" in parts
        else None,
    )


def read_join(reader: Reader, tree: MapTree, what: str, path: Path) -> JoinSpec:
    """Return the join with another log that a step declares."""
    parts = reader.named(tree, what, grammar.JOIN)
    hints = {"on": "Write on: {its column: event column}.", "within": "Write within: [0s, 30m]."}
    for name, hint in hints.items():
        if name not in parts:
            message = f'{what} needs "{name}"'
            reader.refuse("SPEC_MISSING_KEY", message, tree.mark.value, hint=hint)
    within = read_within(reader, parts["within"], what) if "within" in parts else None
    retention = parts.get("retention")
    return JoinSpec(
        relation=reader.text(parts["join"], f'"join" of {what}'),
        on=read_on(reader, parts["on"], what, (*path, "on")) if "on" in parts else (),
        within=within or Within(0, 0),
        fields=read_fields(reader, parts["fields"], what, (*path, "fields"))
        if "fields" in parts
        else None,
        retention_us=WEEK_US
        if retention is None
        else reader.elapsed_us(retention, f'"retention" of {what}', least=1),
    )


def _word(reader: Reader, parts: Parts, name: str, what: str, known: tuple[str, ...]) -> str:
    if name not in parts:
        return known[0]
    word = reader.word(parts[name], f'"{name}" of {what}', known)
    return word if word in known else known[0]


def _duration(reader: Reader, parts: Parts, name: str, what: str) -> int | None:
    return reader.duration_ms(parts[name], f'"{name}" of {what}') if name in parts else None


def _miss(reader: Reader, tree: Tree | None, what: str) -> tuple[Miss, int | None]:
    """Return what becomes of an event without a row: a word, null itself, or `wait:5m`."""
    if tree is None or (isinstance(tree, Scalar) and tree.value is None):
        return "null", None
    part = f'"on_miss" of {what}'
    if isinstance(tree, Scalar) and tree.text.startswith("wait"):
        wait_ms = duration_ms(tree.text.removeprefix("wait").removeprefix(":"))
        if wait_ms is None:
            message = f'{part} cannot be "{tree.text}"'
            reader.refuse("SPEC_VALUE", message, tree.mark.value, hint='Write "wait:5m".')
        return "wait", wait_ms or 0
    if isinstance(tree, MapTree) and [each.name for each in tree.entries] == ["wait"]:
        return "wait", reader.duration_ms(tree.entries[0].value, f'"wait" of {part}')
    known = (*grammar.MISSES, "wait:5m")
    word = reader.word(tree, part, known)
    return (cast(Miss, word), None) if word in grammar.MISSES else ("null", None)


def _check_together(reader: Reader, parts: Parts, what: str) -> None:
    """Refuse words that mean nothing without another."""
    values = {name: each.text for name, each in parts.items()}
    remembers = values.get("on_change") in ("re_emit", "correct")
    versioned = values.get("as_of") == "event"
    wanted = (
        ("for", remembers or versioned, "on_change: re_emit"),
        ("where", remembers, "on_change: re_emit"),
        ("every", values.get("on_change") == "correct", "on_change: correct"),
        ("late", versioned, "as_of: event"),
        ("time", versioned, "as_of: event"),
        *((name, values.get("read") == "database", "read: database") for name in _STORE_WORDS),
    )
    for name, fits, beside in wanted:
        if name in parts and not fits and values.get("read") != "event":
            message = f'{what} has "{name}" without {beside}'
            place, hint = parts[name].mark.value, f'Add {beside}, or remove "{name}".'
            reader.refuse("SPEC_VALUE", message, place, hint=hint)
    if remembers and "for" not in parts and values.get("read") != "event":
        message = f'{what} needs "for" with on_change: {values["on_change"]}'
        place, hint = parts["on_change"].mark.value, "Write for: 7d."
        reader.refuse("SPEC_MISSING_KEY", message, place, hint=hint)


_STORE_WORDS = ("cache", "limits", "store")


def read_store(reader: Reader, tree: Tree, part: str) -> StoreRead:
    """Return the store that rows are queried from: `{kind: options}`."""
    entries = reader.entries(tree, part) if isinstance(tree, MapTree) else ()
    if len(entries) != 1:
        reader.shape(tree, part, "a map with one kind", "Write one such as {sqlite: {path: db}}.")
        return StoreRead("")
    entry = entries[0]
    if entry.name not in LOOKUP_STORES:
        message = f'{part} has no kind "{entry.name}"'
        reader.unknown(message, entry.name, LOOKUP_STORES.names(), entry.place)
    elif (known := LOOKUP_STORES.known(entry.name)) is not None:
        check_options(reader, entry, f'"{entry.name}" of {part}', known)
    return StoreRead(entry.name, reader.options(entry.value, f'"{entry.name}" of {part}'))


def read_type(reader: Reader, entry: Entry, what: str) -> str:
    """Return the DDL text of a column's type; `what` is whose column it is."""
    part = f'field "{entry.name}" of {what}'
    if not (isinstance(entry.value, Scalar) and isinstance(entry.value.value, str)):
        hint = "Put a type with commas in quotes." if _cut_by_comma(entry) else ""
        reader.shape(entry.value, part, "a type", hint)
        return "string"
    text = entry.value.value
    try:
        parse_type(text)
    except TypeTextError as error:
        place = Locations({(): entry.value.mark}).within((), error.offset)
        hint = "Put a type with commas in quotes." if _unclosed(text) else error.hint
        message = f"{part}: {error.message}"
        reader.refuse(error.code, message, place, detail=error.detail, hint=hint)
        return "string"
    return text


def _cut_by_comma(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.name.rstrip().endswith((")", ">"))


def _unclosed(text: str) -> bool:
    """Say whether a flow map has cut `decimal(10,2)` or `struct<a: int, …>` at its comma."""
    return text.count("(") > text.count(")") or text.count("<") > text.count(">")


_FUNCTION = re.compile(grammar.MAP["function"]["pattern"])


def read_stream(reader: Reader, entry: Entry, path: Path) -> StreamSpec:
    """Return the stream that an entry of `streams` declares."""
    what = f'stream "{entry.name}"'
    reader.folder_name(entry.name, "a stream", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return StreamSpec(entry.name, "")
    parts = reader.named(entry.value, what, grammar.STREAM)
    if "from" not in parts:
        hint = "Write from: RELATION, one with append: true."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "from"', entry.place, hint=hint)
    group = reader.text(parts["group"], f'"group" of {what}') if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    return StreamSpec(
        name=entry.name,
        origin=reader.text(parts["from"], f'"from" of {what}') if "from" in parts else "",
        steps=_steps(reader, parts["steps"], what, (*path, "steps")) if "steps" in parts else (),
        sinks=read_sinks(reader, parts["sink"], what, (*path, "sink")) if "sink" in parts else (),
        group=group,
        correction=_correction(reader, parts, what),
    )


def _correction(reader: Reader, parts: Parts, what: str) -> str | None:
    if "correction" not in parts:
        return None
    name = reader.text(parts["correction"], f'"correction" of {what}')
    reader.output_name(name or "column", "a column", parts["correction"].mark.value)
    return name


def _steps(reader: Reader, tree: Tree, what: str, path: Path) -> tuple[StepSpec, ...]:
    if not isinstance(tree, ListTree):
        reader.shape(tree, f'"steps" of {what}', "a list", "Begin each step with a dash.")
        return ()
    read = (
        read_step(reader, item, f"step {index + 1} of {what}", (*path, index))
        for index, item in enumerate(tree.items)
    )
    return tuple(step for step in read if step is not None)


def read_step(reader: Reader, tree: Tree, what: str, path: Path) -> StepSpec | None:
    """Return the step that a map declares, or None where it is not known which.

    Args:
        reader: Takes the problems.
        tree: `{filter: …}`, `{lookup: …, on: …}` and so on.
        what: The step, for the problems.
        path: Where it is declared.
    """
    if not isinstance(tree, MapTree):
        reader.shape(tree, what, "a map", "Write one such as filter: amount > 0.")
        return None
    kinds = [each.name for each in tree.entries if each.name in grammar.STEP_KINDS]
    if kinds[:1] == ["lookup"] or "lookup" in kinds:
        return read_lookup(reader, tree, what, path)
    if "join" in kinds:
        return read_join(reader, tree, what, path)
    if len(tree.entries) != 1 or not kinds:
        _not_one(reader, tree, what)
        return None
    return _plain_step(reader, tree.entries[0], what, path)


def _not_one(reader: Reader, tree: MapTree, what: str) -> None:
    """Note a step that is none, or several."""
    for each in tree.entries:
        if each.name not in grammar.STEP_KINDS:
            message = f'{what} has no key "{each.name}"'
            reader.unknown(message, each.name, grammar.STEP_KINDS, each.place)
            return
    names = " and ".join(f'"{each.name}"' for each in tree.entries) or "nothing"
    hint = "Begin each step with a dash of its own."
    reader.refuse("SPEC_SHAPE", f"{what} is {names}", tree.mark.value, hint=hint)


def _plain_step(reader: Reader, entry: Entry, what: str, path: Path) -> StepSpec:
    part, below = f'"{entry.name}" of {what}', (*path, entry.name)
    match entry.name:
        case "filter":
            return FilterSpec(reader.expression(entry.value, part))
        case "select":
            fields = read_fields(reader, entry.value, what, below, word="select")
            if not fields and isinstance(entry.value, ListTree | MapTree):
                reader.refuse("SPEC_SHAPE", f"{part} names no column", entry.value.mark.value)
            return SelectSpec(fields)
        case "with_columns":
            return WithColumnsSpec(_named(reader, entry.value, part))
        case "union":
            return UnionSpec(reader.text(entry.value, part))
        case "map":
            return _map(reader, entry.value, part)
        case "rolling":
            return _rolling(reader, entry.value, part)
        case other:
            raise AssertionError(f"no reader for a step {other}")


def _named(reader: Reader, tree: Tree, part: str) -> Pairs:
    for entry in reader.entries(tree, part):
        reader.output_name(entry.name, "a column", entry.place)
    return reader.pairs(tree, part) if isinstance(tree, MapTree) else ()


def _map(reader: Reader, tree: Tree, part: str) -> MapSpec:
    parts = _step_map(reader, tree, part, "map")
    function = (
        reader.text(parts["function"], f'"function" of {part}') if "function" in parts else ""
    )
    if function and not _FUNCTION.fullmatch(function):
        message = f'"function" of {part} needs module:name, not "{function}"'
        reader.refuse("SPEC_SHAPE", message, parts["function"].mark.value)
    output = parts.get("output")
    return MapSpec(function, read_output(reader, output, part) if output is not None else ())


def _step_map(reader: Reader, tree: Tree, part: str, kind: str) -> Parts:
    """Return the keys of a step that is a map, and note which are lacking."""
    names, needed = grammar.STEP_MAPS[kind]
    parts = reader.named(tree, part, names)
    for name in needed:
        if name not in parts:
            reader.refuse("SPEC_MISSING_KEY", f'{part} needs "{name}"', tree.mark.value)
    return parts


def _rolling(reader: Reader, tree: Tree, part: str) -> RollingSpec:
    parts = _step_map(reader, tree, part, "rolling")

    def micros(name: str, default_us: int) -> int:
        told = f'"{name}" of {part}'
        return reader.elapsed_us(parts[name], told, least=1) if name in parts else default_us

    by: tuple[str, ...] = ()
    if "by" in parts:
        by = reader.texts(parts["by"], f'"by" of {part}', ())
        if not by and isinstance(parts["by"], ListTree):
            reader.refuse("SPEC_SHAPE", f'"by" of {part} names no column', parts["by"].mark.value)
    return RollingSpec(
        by=by,
        over_us=micros("over", 1),
        values=_named(reader, parts["values"], f'"values" of {part}') if "values" in parts else (),
        retention_us=micros("retention", WEEK_US),
    )


def read_output(reader: Reader, tree: Tree, part: str) -> Pairs:
    """Return the columns that a function gives, and their types."""
    entries = reader.entries(tree, f'"output" of {part}')
    for each in entries:
        reader.output_name(each.name, "a column", each.place)
    if not entries:
        reader.refuse("SPEC_SHAPE", f'"output" of {part} names no column', tree.mark.value)
    return tuple((each.name, read_type(reader, each, part)) for each in entries)
