"""Reads a whole project, or one of its parts, from a tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from joinery.errors import JoineryError, Location, ProjectErrors
from joinery.project import grammar
from joinery.project.kinds import FORMATS
from joinery.project.part import read_part
from joinery.project.product import (
    DefaultsSpec,
    PersonalSpec,
    ProjectSpec,
    RelationSpec,
    SinkSpec,
)
from joinery.project.read_kind import read_sink, read_source
from joinery.project.read_product import read_product
from joinery.project.read_window import read_window
from joinery.project.reader import Reader
from joinery.project.run import RunSpec, read_run
from joinery.project.stream import ClocksSpec, WatermarkSpec, read_stream
from joinery.project.tree import Entry, ListTree, Locations, MapTree, Scalar, Tree, marks_of
from joinery.project.tree import Path as SpecPath
from joinery.project.value import Pairs, read_type
from joinery.project.vault import read_vault
from joinery.project.window import Window

_RESERVED_COLUMNS = ("__op", "__position", "__deleted")


def read_project(tree: Tree, *, folder: Path) -> ProjectSpec:
    """Return the project that `tree` declares, its relative paths beginning at `folder`.

    Raises:
        ProjectErrors: With every problem, in file order.
    """
    spec, problems = read_parts(tree, folder=folder)
    raise_all(problems)
    return spec


def read_parts(
    tree: Tree, *, folder: Path, problems: tuple[JoineryError, ...] = ()
) -> tuple[ProjectSpec, tuple[JoineryError, ...]]:
    """Return what `tree` declares, with stand-ins for what cannot be read, and the problems.

    Args:
        tree: The whole declaration.
        folder: Where relative paths begin.
        problems: Those found before; what follows from them at the same place is not told.
    """
    reader = Reader()
    parts = reader.named(tree, "the project", grammar.PROJECT, grammar.RESERVED_PROJECT)
    spec = _project(reader, parts, tree.mark.value)
    marks = marks_of(tree)
    marks.update(reader.marks)
    told = {each.location for each in problems}
    found = (*problems, *(each for each in reader.problems if each.location not in told))
    return replace(spec, folder=folder, locations=Locations(marks)), found


def raise_all(problems: tuple[JoineryError, ...]) -> None:
    """Raise `ProjectErrors` in file order if there is any problem."""
    if problems:
        nowhere = Location("", 0, 0)
        raise ProjectErrors(tuple(sorted(problems, key=lambda each: each.location or nowhere)))


def _project(reader: Reader, parts: Mapping[str, Tree], place: Location | None) -> ProjectSpec:
    _version(reader, parts.get("joinery"))
    for name in ("relations", "products"):
        if name not in parts and not (name == "products" and "streams" in parts):
            hint = "Write products, streams, or both." if name == "products" else ""
            reader.refuse("SPEC_MISSING_KEY", f'the project needs "{name}"', place, hint=hint)
    return ProjectSpec(
        name=reader.text(parts["name"], '"name"') if "name" in parts else "project",
        sources=tuple(read_source(reader, each) for each in _entries(reader, parts, "sources")),
        defaults=_defaults(reader, parts.get("defaults")),
        relations=tuple(
            read_relation(reader, each, ("relations", each.name))
            for each in _entries(reader, parts, "relations")
        ),
        products=tuple(
            read_product(reader, each, ("products", each.name))
            for each in _entries(reader, parts, "products")
        ),
        streams=tuple(
            read_stream(reader, each, ("streams", each.name))
            for each in _entries(reader, parts, "streams")
        ),
        sinks=tuple(
            (each.name, _named_sink(reader, each)) for each in _entries(reader, parts, "sinks")
        ),
        windows=_windows(reader, parts),
        vault=read_vault(reader, parts["vault"]) if "vault" in parts else None,
        run=read_run(reader, parts["run"]) if "run" in parts else RunSpec(),
    )


def _windows(reader: Reader, parts: Mapping[str, Tree]) -> tuple[tuple[str, Window], ...]:
    found: list[tuple[str, Window]] = []
    for entry in _entries(reader, parts, "windows"):
        window = read_window(reader, entry.value, f'window "{entry.name}"')
        found += [] if window is None else [(entry.name, window)]
    return tuple(found)


def _named_sink(reader: Reader, entry: Entry) -> SinkSpec:
    path = ("sinks", entry.name)
    return read_sink(reader, entry.value, f'sink "{entry.name}"', path, named=True)


def _entries(reader: Reader, parts: Mapping[str, Tree], name: str) -> tuple[Entry, ...]:
    return reader.entries(parts[name], f'"{name}"') if name in parts else ()


def _version(reader: Reader, tree: Tree | None) -> None:
    if tree is not None and not (isinstance(tree, Scalar) and tree.value == 1):
        message = f'"joinery" cannot be "{tree.text}"'
        hint = "Write joinery: 1, or install a newer Joinery."
        reader.refuse("SPEC_VERSION", message, tree.mark.value, hint=hint)


def _defaults(reader: Reader, tree: Tree | None) -> DefaultsSpec:
    if tree is None:
        return DefaultsSpec()
    parts = reader.named(tree, '"defaults"', grammar.DEFAULTS)
    source = reader.text(parts["source"], '"source" of "defaults"') if "source" in parts else None
    return DefaultsSpec(source, _word(reader, parts, "format", '"defaults"', FORMATS))


def _word(
    reader: Reader, parts: Mapping[str, Tree], name: str, what: str, known: Collection[str]
) -> str | None:
    return reader.word(parts[name], f'"{name}" of {what}', known) if name in parts else None


def _text(reader: Reader, parts: Mapping[str, Tree], name: str, what: str) -> str | None:
    return reader.text(parts[name], f'"{name}" of {what}') if name in parts else None


def read_relation(reader: Reader, entry: Entry, path: SpecPath) -> RelationSpec:
    """Return the relation that an entry of `relations` declares."""
    what = f'relation "{entry.name}"'
    reader.folder_name(entry.name, "a relation", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return RelationSpec(entry.name, (), ())
    parts = reader.named(entry.value, what, grammar.RELATION)
    if "product" in parts:
        return _product_relation(reader, entry, parts, what)
    append = "append" in parts and reader.flag(parts["append"], f'"append" of {what}')
    for name in ("fields",) if append else ("key", "fields"):
        if name not in parts:
            reader.refuse("SPEC_MISSING_KEY", f'{what} needs "{name}"', entry.place)
    return RelationSpec(
        name=entry.name,
        key=_key(reader, parts["key"], what) if "key" in parts else (),
        fields=_columns(reader, parts["fields"], what) if "fields" in parts else (),
        topic=_text(reader, parts, "topic", what),
        source=_text(reader, parts, "source", what),
        format=_word(reader, parts, "format", what, FORMATS),
        derive=_derive(reader, parts["derive"], what) if "derive" in parts else (),
        position=_text(reader, parts, "position", what),
        time_unit=cast(
            Literal["micros", "millis", "nanos"],
            _word(reader, parts, "time_unit", what, grammar.TIME_UNITS) or "micros",
        ),
        images=cast(
            Literal["full", "key"], _word(reader, parts, "images", what, grammar.IMAGES) or "full"
        ),
        unique=_unique(reader, parts["unique"], what) if "unique" in parts else (),
        where=reader.expression(parts["where"], f'"where" of {what}') if "where" in parts else None,
        append=append,
        time=_time(reader, parts, what),
        watermark=_watermark(reader, parts, what),
        personal=read_part(reader, parts["personal"], f'"personal" of {what}', PersonalSpec)
        if "personal" in parts
        else None,
    )


def _product_relation(
    reader: Reader, entry: Entry, parts: Mapping[str, Tree], what: str
) -> RelationSpec:
    """Return a relation whose rows are what a product is sent as."""
    for name in (each for each in parts if each not in grammar.PRODUCT_RELATION):
        hint = f"Its keys are {', '.join(grammar.PRODUCT_RELATION)}."
        message = f'{what} is a product, and cannot have "{name}"'
        reader.refuse("SPEC_VALUE", message, parts[name].mark.key or entry.place, hint=hint)
    return RelationSpec(
        name=entry.name,
        key=(),
        fields=(),
        derive=_derive(reader, parts["derive"], what) if "derive" in parts else (),
        where=reader.expression(parts["where"], f'"where" of {what}') if "where" in parts else None,
        time=_text(reader, parts, "time", what),
        watermark=_watermark(reader, parts, what),
        product=reader.text(parts["product"], f'"product" of {what}'),
    )


def _time(reader: Reader, parts: Mapping[str, Tree], what: str) -> str | ClocksSpec | None:
    tree = parts.get("time")
    if not isinstance(tree, MapTree):
        return _text(reader, parts, "time", what)
    return read_part(reader, tree, f'"time" of {what}', ClocksSpec)


def _watermark(reader: Reader, parts: Mapping[str, Tree], what: str) -> WatermarkSpec | None:
    if "watermark" not in parts:
        return None
    return read_part(reader, parts["watermark"], f'"watermark" of {what}', WatermarkSpec)


def _key(reader: Reader, tree: Tree, what: str) -> tuple[str, ...]:
    names = reader.texts(tree, f'"key" of {what}')
    if isinstance(tree, ListTree) and not tree.items:
        reader.refuse("SPEC_SHAPE", f'"key" of {what} names no column', tree.mark.value)
    return names


def _columns(reader: Reader, tree: Tree, what: str) -> Pairs:
    return tuple(
        (each.name, _column(reader, each, what))
        for each in reader.entries(tree, f'"fields" of {what}')
    )


def _column(reader: Reader, entry: Entry, what: str) -> str:
    if entry.name in _RESERVED_COLUMNS or entry.name.startswith("__agg_") or not entry.name:
        reader.output_name(entry.name, "a field", entry.place)
    return read_type(reader, entry, what)


def _derive(reader: Reader, tree: Tree, what: str) -> Pairs:
    for entry in reader.entries(tree, f'"derive" of {what}'):
        reader.output_name(entry.name, "a derived column", entry.place)
    return reader.pairs(tree, f'"derive" of {what}') if isinstance(tree, MapTree) else ()


def _unique(reader: Reader, tree: Tree, what: str) -> tuple[tuple[str, ...], ...]:
    part = f'"unique" of {what}'
    if not isinstance(tree, ListTree):
        reader.shape(tree, part, "a list of lists", "Write [[column]].")
        return ()
    return tuple(reader.texts(item, part) for item in tree.items)
