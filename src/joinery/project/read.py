"""Reads a whole project, or one of its parts, from a tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from joinery.errors import JoineryError, Location, ProjectErrors
from joinery.project import grammar
from joinery.project.audit import AuditSpec
from joinery.project.kinds import FORMATS, SINKS
from joinery.project.option import check_path
from joinery.project.part import read_part
from joinery.project.product import (
    DefaultsSpec,
    PersonalSpec,
    ProjectSpec,
    RelationSpec,
    RunSpec,
    SinkSpec,
)
from joinery.project.read_kind import read_sink, read_solutions, read_source
from joinery.project.read_product import read_product
from joinery.project.read_window import read_window
from joinery.project.reader import Reader
from joinery.project.stream import ClocksSpec, WatermarkSpec, read_stream
from joinery.project.tree import Entry, ListTree, Locations, MapTree, Scalar, Tree, marks_of
from joinery.project.tree import Path as SpecPath
from joinery.project.value import Pairs, read_type
from joinery.project.vault import read_vault
from joinery.project.window import Window

_RESERVED_COLUMNS = ("__op", "__position", "__deleted")


_SHORTEST_INTERVAL_MS = 5000


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
        run=_run(reader, parts["run"]) if "run" in parts else RunSpec(),
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


def _run(reader: Reader, tree: Tree) -> RunSpec:
    what, default = '"run"', RunSpec()
    parts = reader.named(tree, what, grammar.RUN)
    sink = default.dead_letters
    if "dead_letters" in parts:
        sink = read_sink(reader, parts["dead_letters"], '"dead_letters"', ("run", "dead_letters"))
        for name in SINKS.beside.keys() & dict(sink.options).keys():
            message = f'"dead_letters" cannot have "{name}"'
            hint = "Dead letters are kept with their batch."
            reader.refuse("SPEC_VALUE", message, parts["dead_letters"].mark.value, hint=hint)
    return RunSpec(
        checkpoint=_path(reader, parts, "checkpoint", what) or default.checkpoint,
        dead_letters=sink,
        dead_letters_wait=_flag(reader, parts, "dead_letters_wait"),
        trigger_ms=_duration(reader, parts, "trigger", default.trigger_ms),
        checkpoint_interval_ms=_interval(reader, parts, default.checkpoint_interval_ms),
        real_time=_flag(reader, parts, "real_time"),
        max_rows_per_batch=_rows(reader, parts.get("max_rows_per_batch")),
        max_bytes_per_batch=reader.size_bytes(parts["max_bytes_per_batch"], '"max_bytes_per_batch"')
        if "max_bytes_per_batch" in parts
        else None,
        spark=reader.pairs(parts["spark"], '"spark" of "run"') if "spark" in parts else (),
        tombstone_retention_ms=_duration(
            reader, parts, "tombstone_retention", default.tombstone_retention_ms
        ),
        max_record_bytes=_size(reader, parts, "max_record_bytes", default.max_record_bytes),
        max_document_bytes=_size(reader, parts, "max_document_bytes", default.max_document_bytes),
        http=_address(reader, parts.get("http")),
        lineage=_lineage(reader, parts.get("lineage")),
        solutions=read_solutions(reader, parts["solutions"]) if "solutions" in parts else (),
        audit=_audit(reader, parts["audit"]) if "audit" in parts else None,
    )


def _path(reader: Reader, parts: Mapping[str, Tree], name: str, what: str) -> str | None:
    found = _text(reader, parts, name, what)
    if found:
        check_path(reader, parts[name], f'"{name}" of {what}')
    return found


def _audit(reader: Reader, tree: Tree) -> AuditSpec:
    return read_part(reader, tree, '"audit" of "run"', AuditSpec)


def _rows(reader: Reader, tree: Tree | None) -> int | None:
    if tree is None or (isinstance(tree, Scalar) and tree.value == "auto"):
        return None
    what = '"max_rows_per_batch"'
    if isinstance(tree, Scalar) and isinstance(tree.value, int):
        return reader.count(tree, what)
    reader.shape(tree, what, "auto or a whole number from 1")
    return None


def _address(reader: Reader, tree: Tree | None) -> str | None:
    if tree is None:
        return None
    if isinstance(tree, Scalar) and tree.text.isdigit():
        hint = f"Write 127.0.0.1:{tree.text}."
        reader.shape(tree, '"http" of "run"', "host:port", hint)
        return None
    text = reader.text(tree, '"http" of "run"')
    host, _, port = text.rpartition(":")
    if text and not (host and port.isdecimal()):
        reader.shape(tree, '"http" of "run"', "host:port", "Write 127.0.0.1:9464.")
    return text


def _lineage(reader: Reader, tree: Tree | None) -> Pairs:
    if tree is None:
        return ()
    what = '"lineage" of "run"'
    parts = reader.named(tree, what, grammar.LINEAGE)
    if isinstance(tree, MapTree) and "url" not in parts:
        hint = "Write {url: http://host:5000}."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "url"', tree.mark.value, hint=hint)
    return tuple((name, reader.text(each, f'"{name}" of {what}')) for name, each in parts.items())


def _flag(reader: Reader, parts: Mapping[str, Tree], name: str) -> bool:
    return name in parts and reader.flag(parts[name], f'"{name}"')


def _duration(reader: Reader, parts: Mapping[str, Tree], name: str, default: int) -> int:
    return reader.duration_ms(parts[name], f'"{name}"') if name in parts else default


def _interval(reader: Reader, parts: Mapping[str, Tree], default: int) -> int:
    interval = _duration(reader, parts, "checkpoint_interval", default)
    tree = parts.get("checkpoint_interval")
    if isinstance(tree, Scalar) and interval < _SHORTEST_INTERVAL_MS:
        message = f'"checkpoint_interval" cannot be "{tree.text}"'
        hint = "Spark takes 5s and more; 5m is the default."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
    return interval


def _size(reader: Reader, parts: Mapping[str, Tree], name: str, default: int) -> int:
    return reader.size_bytes(parts[name], f'"{name}"') if name in parts else default
