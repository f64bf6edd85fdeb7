"""Every problem and warning of a project at once, as rows for people and programs.

What of a broken project is sound is still checked, so that one look finds every problem.

Invariant: a problem found in the sound parts does not follow from one that was found before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from joinery.errors import JoineryError, Location
from joinery.expression.expression import Analyser
from joinery.plan.build import examine
from joinery.plan.support import refusals
from joinery.project.kinds import FORMATS
from joinery.project.load import load_parts
from joinery.project.mark import Path as SpecPath
from joinery.project.product import DefaultsSpec, ProductSpec, ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.project.stream import StreamSpec

_PARTS = ("relations", "products", "streams")


def sound_parts(spec: ProjectSpec, problems: Iterable[JoineryError]) -> ProjectSpec:
    """Return `spec` without its broken relations, products and streams, and what needs them.

    Args:
        spec: A project as far as it could be read.
        problems: What was wrong with it.
    """
    broken = {_part(spec, each.location) for each in problems}
    if not broken:
        return spec
    whole = any(len(path) < 2 and (not path or path[0] in _PARTS) for path in broken)
    unread = spec.defaults.format not in (None, *FORMATS)
    if whole or unread or not spec.relations:
        return replace(spec, relations=(), products=(), streams=())
    lost = {path[1] for path in broken if path[0] == "relations"}
    sections = {path[0] for path in broken}
    gone = {path[1] for path in broken if path[0] == "products"}
    relations, products = _sound(spec, lost, gone)
    streams = _streams(spec, {path[1] for path in broken if path[0] == "streams"} | lost)
    if not sections.isdisjoint(("sources", "defaults")):
        relations = tuple(replace(each, source=None) for each in relations)
        spec = replace(spec, sources=(), defaults=DefaultsSpec(format=spec.defaults.format))
    if "sinks" in sections:
        products = tuple(replace(each, sinks=()) for each in products)
        streams = tuple(replace(each, sinks=()) for each in streams)
    return replace(spec, relations=relations, products=products, streams=streams)


def _sound(
    spec: ProjectSpec, lost: set[str | int], gone: set[str | int]
) -> tuple[tuple[RelationSpec, ...], tuple[ProductSpec, ...]]:
    """Return the relations and products that read nothing lost, not even through a product."""
    relations = tuple(
        each for each in spec.relations if each.name not in lost and each.product not in gone
    )
    left = {each.name for each in relations}
    lost = {each.name for each in spec.relations if each.name not in left}
    unread = lost | (gone - left)
    products = tuple(
        each for each in spec.products if each.name not in gone and unread.isdisjoint(_read(each))
    )
    found = {each.name for each in spec.products} - {each.name for each in products}
    return (relations, products) if found <= gone else _sound(spec, lost, {*found})


def _streams(spec: ProjectSpec, lost: set[str | int]) -> tuple[StreamSpec, ...]:
    """Return the streams that read nothing lost, not even through another stream."""
    streams = tuple(each for each in spec.streams if lost.isdisjoint({each.name} | each.reads))
    gone = {each.name for each in spec.streams} - {each.name for each in streams}
    return streams if gone <= lost else _streams(spec, lost | gone)


def _part(spec: ProjectSpec, place: Location | None) -> SpecPath:
    """Return the relation, product or other section in which a place lies."""
    if place is None:
        return ()
    starts = [
        (mark.key, path)
        for path, mark in spec.locations.marks.items()
        if mark.key is not None and mark.key.file == place.file and mark.key <= place
        if len(path) == 1 or (len(path) == 2 and path[0] in _PARTS)
    ]
    return max(starts)[1] if starts else ("run",)


def _read(product: ProductSpec) -> set[str]:
    return {*product.reads, *product.ready}


Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem at its place; `file` is as the user named it."""

    file: str
    line: int
    column: int
    code: str
    message: str
    hint: str = ""
    severity: Severity = "error"
    detail: str = ""

    def __str__(self) -> str:
        kind = "warning: " if self.severity == "warning" else ""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {kind}{self.message}"


def check(
    path: str | Path, analyser: Analyser | None = None, *, settings: Iterable[str] = ()
) -> list[Problem]:
    """Return what is wrong with a project file or folder, in file order.

    Args:
        path: The file, or a folder of them.
        analyser: Types expressions outside the portable subset. It is asked only where
            there is one, so that it may start Spark when first asked.
        settings: Replacements such as `run.trigger=1s`.
    """
    spec, unread = load_parts(path, settings=settings)
    found = problems_of(unread, str(path))
    if spec is not None:
        plan, problems, warnings = examine(sound_parts(spec, unread), analyser)
        if plan is not None:
            problems += refusals(spec, plan)
        found += problems_of(problems, str(path)) + problems_of(warnings, str(path), "warning")
    return sorted(found, key=lambda each: (each.file, each.line, each.column))


def problems_of(
    errors: Iterable[JoineryError], file: str, severity: Severity = "error"
) -> list[Problem]:
    """Return errors as rows; one without a place stands at the start of `file`."""
    return [_problem(error, error.location or Location(file), severity) for error in errors]


def _problem(error: JoineryError, place: Location, severity: Severity) -> Problem:
    return Problem(
        file=place.file,
        line=place.line,
        column=place.column,
        code=error.code,
        message=error.message,
        hint=error.hint,
        severity=severity,
        detail=error.detail,
    )
