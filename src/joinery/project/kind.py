"""One kind with its options, as a project names it: a source, a sink, a solution, a format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from joinery.errors import Location
from joinery.project.kinds import DEFAULT_SOLUTION, FORMATS, SINKS, SOLUTIONS, SOURCES, Registry
from joinery.project.mark import Path
from joinery.project.option import check_options
from joinery.project.reader import Reader
from joinery.project.tree import Entry, ListTree, MapTree, Scalar, Tree
from joinery.project.value import TEXT, At, Value, options_data

Options = tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A place that changes come from: `kind` such as `files`, with its options."""

    name: str
    kind: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """A place for documents.

    Attributes:
        kind: Such as `files`; empty when `use` names a sink of the project.
        options: Those of the kind; beside `use`, they replace the named sink's.
        use: The name of a sink under the project's `sinks`.
    """

    kind: str = ""
    options: Options = ()
    use: str | None = None


@dataclass(frozen=True, slots=True)
class SolutionSpec:
    """How join state is kept.

    Attributes:
        name: Of the solution, or `auto`.
        options: Its own; those of the project's `run` are below them.
    """

    name: str = DEFAULT_SOLUTION
    options: Options = ()


def read_source(reader: Reader, entry: Entry) -> SourceSpec:
    """Return the source that an entry of `sources` declares."""
    kind, options = _kind(reader, entry.value, f'source "{entry.name}"', SOURCES)
    return SourceSpec(entry.name, kind, options)


def read_sinks(reader: Reader, tree: Tree, what: str, path: Path) -> tuple[SinkSpec, ...]:
    """Return the sinks of a product: one, or a list."""
    if not isinstance(tree, ListTree):
        return (read_sink(reader, tree, f'"sink" of {what}', path),)
    return tuple(
        read_sink(reader, item, f'"sink" of {what}', (*path, index))
        for index, item in enumerate(tree.items)
    )


def sinks_data(specs: tuple[SinkSpec, ...]) -> object:
    """Return the sinks of a product: one, or a list."""
    sinks = [sink_data(each) for each in specs]
    return sinks[0] if len(sinks) == 1 else sinks


def sink_data(spec: SinkSpec) -> str | dict[str, Any]:
    """Return one sink: a kind with its options, or the name of a declared one."""
    if spec.use is None:
        return {spec.kind: options_data(spec.options)}
    return {"use": spec.use, **options_data(spec.options)} if spec.options else spec.use


SINK_LIST = Value(
    {"$ref": "#/$defs/sinks"},
    lambda at, tree: read_sinks(at.reader, tree, at.what, at.path),
    sinks_data,
)
"""What the sinks of a product or a stream are written as."""


def read_sink(
    reader: Reader, tree: Tree, what: str, path: Path, *, named: bool = False
) -> SinkSpec:
    """Return one sink: `{kind: options}`, a name, or `{use: name, option: …}`.

    A `named` one may lack what it needs, since each use can add to it.
    """
    if isinstance(tree, Scalar) and isinstance(tree.value, str) and tree.value:
        reader.alias((*path, "use"), tree)
        return SinkSpec(use=tree.value)
    if isinstance(tree, MapTree) and tree.get("use") is not None:
        entries = reader.entries(tree, what)
        name = reader.text(next(each.value for each in entries if each.name == "use"), '"use"')
        options = reader.options(tree, what)
        return SinkSpec(use=name, options=tuple(each for each in options if each[0] != "use"))
    also = () if named else ("use",)
    kind, options = _kind(reader, tree, what, SINKS, whole=not named, also=also)
    return SinkSpec(kind, options)


def _kind(
    reader: Reader,
    tree: Tree,
    what: str,
    kinds: Registry,
    *,
    whole: bool = True,
    also: tuple[str, ...] = (),
) -> tuple[str, Options]:
    """Return a kind and its options from `{kind: {option: value}}`; `also` may stand there, too."""
    entries = reader.entries(tree, what) if isinstance(tree, MapTree) else ()
    if len(entries) > 1:
        named = ", ".join(each.name for each in entries)
        message, hint = f"{what} is of one kind, not of {named}", "Keep one of them."
        reader.refuse("SPEC_SHAPE", message, entries[1].place, hint=hint)
        return "", ()
    if not entries:
        reader.shape(tree, what, "a map with one kind", "Write one such as {files: {path: out}}.")
        return "", ()
    entry = entries[0]
    part = f'"{entry.name}" of {what}'
    if entry.name not in kinds:
        known_names = (*kinds.names(), *also)
        reader.unknown(f'{what} has no kind "{entry.name}"', entry.name, known_names, entry.place)
        return entry.name, ()
    check_package(reader, kinds, entry.name, entry.place)
    if (known := kinds.known(entry.name)) is not None:
        check_options(reader, entry, part, known, whole=whole)
    return entry.name, reader.options(entry.value, part)


def check_package(reader: Reader, kinds: Registry, name: str, place: Location | None) -> None:
    """Note that a kind cannot be used though the package that adds it is installed."""
    if (error := kinds.broken(name)) is not None:
        reader.refuse(error.code, error.message, place, detail=error.detail, hint=error.hint)


def _read_solution(at: At, tree: Tree) -> SolutionSpec:
    """Return a solution with its options: a name, or a map from one name to options."""
    if isinstance(tree, MapTree) and len(tree.entries) == 1:
        return SolutionSpec(*_with_options(at.reader, tree.entries[0], at.part))
    if isinstance(tree, MapTree):
        at.reader.shape(tree, at.part, "one name, or a map with one name")
        return SolutionSpec()
    named = at.reader.word(tree, at.part, SOLUTIONS.names())
    check_package(at.reader, SOLUTIONS, named, tree.mark.value)
    return SolutionSpec(named or DEFAULT_SOLUTION)


def _solution_data(spec: SolutionSpec) -> str | dict[str, Any]:
    """Return a solution: its name, with its options where it has some."""
    return {spec.name: options_data(spec.options)} if spec.options else spec.name


SOLUTION = Value({"$ref": "#/$defs/solution"}, _read_solution, _solution_data)
"""What the solution of a product is written as."""
FORMAT = replace(TEXT, read=lambda at, tree: at.reader.word(tree, at.part, FORMATS)).told(
    examples=list(FORMATS)
)
"""What the format of messages is written as."""


def read_solutions(reader: Reader, tree: Tree, part: str) -> tuple[tuple[str, Options], ...]:
    """Return what solutions take where a product does not say it itself."""
    return tuple(_with_options(reader, each, part) for each in reader.entries(tree, part))


def _with_options(reader: Reader, entry: Entry, part: str) -> tuple[str, Options]:
    known = reader.word(Scalar(entry.name, entry.name, entry.value.mark), part, SOLUTIONS.names())
    told = f'"{entry.name}" of {part}'
    check_package(reader, SOLUTIONS, entry.name, entry.place)
    if (options := SOLUTIONS.known(entry.name)) is not None:
        check_options(reader, entry, told, options)
    return known, reader.options(entry.value, told)
