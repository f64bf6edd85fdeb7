"""What a user declares, as values: sources, sinks, products, and the project that all make.

The same objects come from YAML and from Python. Names and expressions are still text;
`joinery.plan.build` resolves them.

Invariant: two projects that declare the same are equal, wherever their parts stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from joinery.errors import Location
from joinery.project.form import DOCUMENTS, FormSpec, relations_beside
from joinery.project.node import NodeSpec
from joinery.project.tree import Locations
from joinery.project.tree import Path as SpecPath
from joinery.project.window import Window

if TYPE_CHECKING:
    from joinery.project.expect import Expectations
    from joinery.project.relation import RelationSpec
    from joinery.project.run import RunSpec
    from joinery.project.stream import StreamSpec

Erased = Literal["redact", "remove"]
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
class DefaultsSpec:
    """What relations take where they do not say it themselves."""

    source: str | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class VaultSpec:
    """Where the keys of subjects are.

    Attributes:
        kind: `sqlite` or `postgres`.
        options: Those of the kind.
        master: What all keys are wrapped under.
    """

    kind: str
    options: Options = field(default=(), repr=False)
    master: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ProductSpec:
    """What is kept in sinks under a key: documents, events, groups, matches.

    Attributes:
        root: Of another form than documents, the relation alone.
        form: What is made of the root's rows.
        erased: What becomes of a document with values of an erased subject.
    """

    name: str
    root: NodeSpec
    sinks: tuple[SinkSpec, ...] = ()
    group: str | None = None
    solution: str = "spark-state"
    solution_options: Options = ()
    settle_ms: int | None = None
    ready: tuple[str, ...] = ()
    form: FormSpec = DOCUMENTS
    expect: Expectations | None = None
    erased: Erased = "redact"

    @property
    def relations_read(self) -> tuple[str, ...]:
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
    defaults: DefaultsSpec = DefaultsSpec()
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
        read = {name for each in self.products for name in each.relations_read}
        return frozenset(named.get(each, each) for each in read)

    def alone(self, product: str) -> ProjectSpec:
        """Return the project of one product, with the products that it reads."""
        kept, left = set[str](), [product]
        named = {each.name: each.product or "" for each in self.relations}
        specs = {each.name: each for each in self.products}
        while left:
            name = left.pop()
            if name in specs and name not in kept:
                kept.add(name)
                left += [named.get(each, each) for each in specs[name].relations_read]
        return replace(
            self,
            products=tuple(each for each in self.products if each.name in kept),
            relations=tuple(e for e in self.relations if e.product is None or e.product in kept),
            streams=(),
        )

    def locate(self, path: SpecPath, *, key: bool = False) -> Location | None:
        """Return where the part at `path` stands, or the longest known part of it."""
        return self.locations.locate(path, key=key)

    def source_of(self, relation: RelationSpec) -> str:
        """Return the name of the source that a relation reads; empty where there is none."""
        only = self.sources[0].name if len(self.sources) == 1 else ""
        return relation.source or self.defaults.source or only

    def path_of(self, text: str) -> Path:
        """Return the absolute path that `text` names, relative to the project's folder."""
        return (self.folder / Path(text).expanduser()).absolute()
