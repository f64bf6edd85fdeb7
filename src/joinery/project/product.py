"""What a user declares, as values: products, and the project that they make with all else.

The same objects come from YAML and from Python. Names and expressions are still text;
`joinery.plan.build` resolves them.

Invariant: two projects that declare the same are equal, wherever their parts stand.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from joinery.errors import Location, SpecError
from joinery.place.hdfs import HdfsOptions
from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options, hadoop_settings
from joinery.place.scratch import scratch_of
from joinery.project.emit import AS_CHANGED, Emit
from joinery.project.expect import Expectations
from joinery.project.form import DOCUMENTS, FormSpec, OutboxSpec, relations_beside
from joinery.project.kind import (
    FORMAT,
    SINK_LIST,
    SOLUTION,
    SinkSpec,
    SolutionSpec,
    SourceSpec,
)
from joinery.project.kinds import DEFAULT_FORMAT, SOLUTIONS
from joinery.project.mark import Locations, Mark
from joinery.project.mark import Path as SpecPath
from joinery.project.node import NodeSpec
from joinery.project.part import Part, key, nested, part
from joinery.project.value import FLAG, GROUP, NAMES, TEXT, one_of
from joinery.project.window import Window

if TYPE_CHECKING:
    from joinery.project.relation import RelationSpec
    from joinery.project.run import RunSpec
    from joinery.project.stream import StreamSpec
    from joinery.project.vault import VaultSpec

Erased = Literal["redact", "remove"]


@part
class DefaultsSpec(Part):
    """What relations take where they do not say it themselves."""

    source: str | None = key(TEXT, "The source of relations that name none.", default=None)
    format: str | None = key(
        FORMAT.told(default=DEFAULT_FORMAT.name),
        "The format of relations that name none.",
        default=None,
    )


NO_DEFAULTS = DefaultsSpec()
"""What a project says that has no `defaults`."""


@part
class ProductSpec(Part):
    """What is kept in sinks under a key: documents, events, groups, matches.

    Attributes:
        root: Of another form than documents, the relation alone.
        emit: When it is sent; of a form that does not go by time, `settle` alone.
        erased: What becomes of a document with values of an erased subject.
        personal_key: Whether it says that its key is personal.
        form: What is made of the root's rows.
    """

    name: str
    root: NodeSpec
    sinks: tuple[SinkSpec, ...] = key(
        SINK_LIST, "Where documents are written.", name="sink", default=()
    )
    group: str | None = key(
        GROUP,
        "Products of one group share a query: they read their sources once.",
        default=None,
    )
    solution: SolutionSpec = key(SOLUTION, "How join state is kept.", default=SolutionSpec())
    emit: Emit = key(
        nested(Emit, "emit"),
        "When documents are sent; by default at the end of each batch.",
        default=AS_CHANGED,
    )
    expect: Expectations | None = key(
        nested(Expectations, "expect"),
        "What needs attention in `joinery status`; by default failures.",
        default=None,
    )
    erased: Erased = key(
        one_of(get_args(Erased)),
        "Of `root`: what happens to a document with values of an erased person.",
        default="redact",
    )
    personal_key: bool = key(
        FLAG,
        "Of `root`: says that its key is personal, and documents are known by its blind index.",
        default=False,
    )
    ready: tuple[str, ...] = key(
        NAMES,
        "Relations that must be read up to where they ended at the start before anything is sent.",
        default=(),
    )
    form: FormSpec = DOCUMENTS

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the relations and products that it reads."""
        names = (each for node in self.root.walk() for each in node.relations)
        return (*names, *(name for name, _ in relations_beside(self.form)))


@dataclass(frozen=True, slots=True)
class ProjectSpec:
    """Everything one project declares.

    Attributes:
        sinks: The project's named sinks.
        windows: The project's named windows.
        vault: Where the keys of subjects are; None where nothing is personal.
        run: How it runs.
        folder: Where relative paths begin.
        locations: Where the parts stand in their file.
    """

    name: str
    sources: tuple[SourceSpec, ...] = ()
    defaults: DefaultsSpec = NO_DEFAULTS
    relations: tuple[RelationSpec, ...] = ()
    products: tuple[ProductSpec, ...] = ()
    streams: tuple[StreamSpec, ...] = ()
    sinks: tuple[tuple[str, SinkSpec], ...] = ()
    windows: tuple[tuple[str, Window], ...] = ()
    vault: VaultSpec | None = None
    run: RunSpec = field(kw_only=True)
    folder: Path = field(default=Path(), compare=False)
    locations: Locations = field(default_factory=Locations, compare=False, repr=False)

    @property
    def changelogs(self) -> tuple[RelationSpec, ...]:
        """The relations that are read from sources: all but those that are products."""
        return tuple(each for each in self.relations if each.product is None)

    @property
    def read_products(self) -> frozenset[str]:
        """The products that others read as relations."""
        named = {each.name: each.product or "" for each in self.relations}
        read = {name for each in self.products for name in each.reads}
        return frozenset(named.get(each, each) for each in read)

    @property
    def continued_streams(self) -> Mapping[str, str]:
        """The streams that others continue, or add the events of, each with the first that does."""
        relations = {each.name for each in self.relations}
        read = ((name, each.name) for each in reversed(self.streams) for name in each.reads)
        return {name: reader for name, reader in read if name not in relations}

    @property
    def running_streams(self) -> tuple[StreamSpec, ...]:
        """The streams that have a query: all but those that are only parts of others."""
        parts = self.continued_streams
        return tuple(each for each in self.streams if each.sinks or each.name not in parts)

    def why_no_query(self, name: str) -> str:
        """Return why a stream has no query, as a message; empty where it has one, or is not there.

        Args:
            name: The stream's, or any other.
        """
        running = {each.name for each in self.running_streams}
        if name in running or name not in {each.name for each in self.streams}:
            return ""
        return f'stream "{name}" has no sink and is a part of "{self.continued_streams[name]}"'

    def alone(self, product: str) -> ProjectSpec:
        """Return the project of one product, with the products that it reads."""
        kept, left = set[str](), [product]
        named = {each.name: each.product or "" for each in self.relations}
        specs = {each.name: each for each in self.products}
        while left:
            name = left.pop()
            if name in specs and name not in kept:
                kept.add(name)
                left += [named.get(each, each) for each in specs[name].reads]
        return replace(
            self,
            products=tuple(each for each in self.products if each.name in kept),
            relations=tuple(e for e in self.relations if e.product is None or e.product in kept),
            streams=(),
        )

    def streams_alone(self) -> ProjectSpec:
        """Return the project without products, and without the relations that are products."""
        changelogs = tuple(each for each in self.relations if each.product is None)
        return replace(self, products=(), relations=changelogs)

    def locate(self, path: SpecPath, *, key: bool = False) -> Location | None:
        """Return where the part at `path` stands, or the longest known part of it."""
        return self.locations.locate(path, key=key)

    def source_of(self, relation: RelationSpec) -> str:
        """Return the name of the source that a relation reads; empty where there is none."""
        only = self.sources[0].name if len(self.sources) == 1 else ""
        return relation.source or self.defaults.source or only

    def changelogs_of(self, source: SourceSpec) -> tuple[RelationSpec, ...]:
        """Return the relations that are read from a source, in the order of the file."""
        return tuple(each for each in self.changelogs if self.source_of(each) == source.name)

    def path_of(self, text: str) -> Path:
        """Return the absolute path that `text` names, relative to the project's folder."""
        return (self.folder / Path(text).expanduser()).absolute()

    @property
    def checkpoint(self) -> Place:
        """Where the run keeps what lets it go on, and what others ask or see of it."""
        return self.place_of(self.run.checkpoint)

    def place_of(self, text: str) -> Place:
        """Return the path that `text` names, or what it is the address of."""
        scheme, is_address, rest = text.partition("://")
        settings = dict(self.run.spark)
        match scheme if is_address else "":
            case S3Options.scheme:
                # Those of the environment as well, which a task on another machine does not see.
                return RemotePath.of(text, S3Options.of({**hadoop_settings(), **settings}))
            case HdfsOptions.scheme:
                return RemotePath.of(text, HdfsOptions.of(rest.partition("/")[0], settings))
            case _:
                return self.path_of(text)

    @property
    def scratch(self) -> Path:
        """Where the run keeps what is of this machine alone: logs, what is under way."""
        place = self.checkpoint
        return place if isinstance(place, Path) else scratch_of(place, self.path_of("."))


def located(spec: ProjectSpec) -> ProjectSpec:
    """Return a project that Python declares with the places of its parts."""
    parts: dict[SpecPath, Part] = {("relations", each.name): each for each in spec.relations}
    for product in spec.products:
        parts["products", product.name] = product
        parts |= _embeds(product.root, ("products", product.name))
    for stream in spec.streams:
        parts["streams", stream.name] = stream
        for index, step in enumerate(stream.steps):
            parts["streams", stream.name, "steps", index] = step
    places = ((path, each.declared_at) for path, each in parts.items())
    marks = {path: Mark(place, place) for path, place in places if place}
    return replace(spec, locations=Locations(marks))


def _embeds(node: NodeSpec, path: SpecPath) -> Iterator[tuple[SpecPath, NodeSpec]]:
    for each in node.embed:
        below = (*path, "embed", each.name)
        yield below, each
        yield from _embeds(each, below)


def with_solution(spec: ProjectSpec, name: str) -> ProjectSpec:
    """Return the project whose products all have the solution `name`; outboxes keep theirs.

    A product's own options stay where it names that solution already.

    Raises:
        SpecError: There is no such solution.
    """
    known = SOLUTIONS.names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise SpecError(
            f'there is no solution "{name}"',
            detail=f"Known: {', '.join(known)}.",
            hint=f'Use "{near[0]}".' if near else "",
            code="RUN_SELECTION",
        )
    return replace(spec, products=tuple(_changed(each, name) for each in spec.products))


def _changed(product: ProductSpec, name: str) -> ProductSpec:
    if isinstance(product.form, OutboxSpec) or product.solution.name == name:
        return product
    return replace(product, solution=SolutionSpec(name))
