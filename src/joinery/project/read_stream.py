"""Reads a stream and its steps, all but the lookups."""

from __future__ import annotations

import re
from collections.abc import Mapping

from joinery.project import grammar_stream
from joinery.project.location import Path
from joinery.project.product import Pairs
from joinery.project.read_lookup import read_lookup
from joinery.project.read_node import read_fields
from joinery.project.read_sink import read_sinks
from joinery.project.read_type import read_type
from joinery.project.reader import Reader
from joinery.project.stream import (
    FilterSpec,
    MapSpec,
    SelectSpec,
    StepSpec,
    StreamSpec,
    UnionSpec,
    WatermarkSpec,
    WithColumnsSpec,
)
from joinery.project.tree import Entry, ListTree, MapTree, Tree

Parts = Mapping[str, Tree]
_FUNCTION = re.compile(grammar_stream.MAP["function"]["pattern"])


def read_stream(reader: Reader, entry: Entry, path: Path) -> StreamSpec:
    """Return the stream that an entry of `streams` declares."""
    what = f'stream "{entry.name}"'
    reader.folder_name(entry.name, "a stream", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return StreamSpec(entry.name, "")
    parts = reader.named(entry.value, what, grammar_stream.STREAM)
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
    kinds = [each.name for each in tree.entries if each.name in grammar_stream.STEP_KINDS]
    if kinds[:1] == ["lookup"] or "lookup" in kinds:
        return read_lookup(reader, tree, what, path)
    if len(tree.entries) != 1 or not kinds:
        _not_one(reader, tree, what)
        return None
    return _plain_step(reader, tree.entries[0], what, path)


def _not_one(reader: Reader, tree: MapTree, what: str) -> None:
    """Note a step that is none, or several."""
    for each in tree.entries:
        if each.name not in grammar_stream.STEP_KINDS:
            message = f'{what} has no key "{each.name}"'
            reader.unknown(message, each.name, grammar_stream.STEP_KINDS, each.place)
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
        case other:
            raise AssertionError(f"no reader for a step {other}")


def _named(reader: Reader, tree: Tree, part: str) -> Pairs:
    for entry in reader.entries(tree, part):
        reader.output_name(entry.name, "a column", entry.place)
    return reader.pairs(tree, part) if isinstance(tree, MapTree) else ()


def _map(reader: Reader, tree: Tree, part: str) -> MapSpec:
    parts = reader.named(tree, part, grammar_stream.MAP)
    for name in grammar_stream.MAP:
        if name not in parts:
            reader.refuse("SPEC_MISSING_KEY", f'{part} needs "{name}"', tree.mark.value)
    function = (
        reader.text(parts["function"], f'"function" of {part}') if "function" in parts else ""
    )
    if function and not _FUNCTION.fullmatch(function):
        message = f'"function" of {part} needs module:name, not "{function}"'
        reader.refuse("SPEC_SHAPE", message, parts["function"].mark.value)
    output = parts.get("output")
    return MapSpec(function, read_output(reader, output, part) if output is not None else ())


def read_output(reader: Reader, tree: Tree, part: str) -> Pairs:
    """Return the columns that a function gives, and their types."""
    entries = reader.entries(tree, f'"output" of {part}')
    for each in entries:
        reader.output_name(each.name, "a column", each.place)
    if not entries:
        reader.refuse("SPEC_SHAPE", f'"output" of {part} names no column', tree.mark.value)
    return tuple((each.name, read_type(reader, each, part)) for each in entries)


def read_watermark(reader: Reader, tree: Tree, what: str) -> WatermarkSpec:
    """Return the watermark of a relation."""
    parts = reader.named(tree, what, grammar_stream.WATERMARK)
    times = {name: reader.duration_ms(each, f'"{name}" of {what}') for name, each in parts.items()}
    return WatermarkSpec(times.get("delay", 0), times.get("idle"))
