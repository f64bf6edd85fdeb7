"""Reads a whole project, or one of its parts, from a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from joinery.errors import JoineryError, Location, ProjectErrors
from joinery.project import grammar
from joinery.project.kind import SinkSpec, read_sink, read_source
from joinery.project.mark import Locations
from joinery.project.part import read_part
from joinery.project.product import NO_DEFAULTS, DefaultsSpec, ProjectSpec
from joinery.project.read_product import read_product
from joinery.project.read_window import read_window
from joinery.project.reader import Reader
from joinery.project.relation import read_relation
from joinery.project.run import RunSpec, read_run
from joinery.project.stream import read_stream
from joinery.project.tree import Entry, MapTree, Scalar, Tree, marks_of
from joinery.project.vault import read_vault
from joinery.project.window import Span, Tumbling, Window

_NOTHING = MapTree(())
_SOME_WINDOW = Tumbling(Span(1, "days"))  # stands for one that cannot be read


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
    if reader.problems and not isinstance(tree, MapTree):
        parts = {"relations": _NOTHING, "products": _NOTHING}  # what it lacks is not told as well
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
        defaults=_defaults(reader, parts),
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
        found.append((entry.name, window or _SOME_WINDOW))
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


def _defaults(reader: Reader, parts: Mapping[str, Tree]) -> DefaultsSpec:
    if "defaults" not in parts:
        return NO_DEFAULTS
    return read_part(reader, parts["defaults"], '"defaults"', DefaultsSpec)
