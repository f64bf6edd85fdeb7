"""What a user declares, as values: relations, products, and how to run them.

The same objects come from YAML and from Python. Names and expressions are still text;
`joinery.plan.build` resolves them.

Invariant: two projects that declare the same are equal, wherever their parts stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from joinery.errors import Location
from joinery.project.tree import Locations
from joinery.project.tree import Path as SpecPath
from joinery.project.window import AS_CHANGED, Emit, Window, Within

if TYPE_CHECKING:
    from joinery.project.expect import Expectations
    from joinery.project.stream import ClocksSpec, StreamSpec, WatermarkSpec

Options = tuple[tuple[str, object], ...]
Pairs = tuple[tuple[str, str], ...]
After = Literal["past_last", "next_row"]


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
class RelationSpec:
    """Keyed rows maintained by a changelog; `fields` are names and Spark DDL types.

    Attributes:
        key: Empty, as `fields` are, where `product` has them.
        append: True for a log of events, whose rows never change; its key may be empty.
        time: The column that tells when an event was, or from when a version is valid; or the
            columns of three clocks that tell it together.
        product: The product of the same query that is read, in place of a topic.
    """

    name: str
    key: tuple[str, ...]
    fields: Pairs
    topic: str | None = None
    source: str | None = None
    format: str | None = None
    derive: Pairs = ()
    position: str | None = None
    time_unit: Literal["micros", "millis", "nanos"] = "micros"
    images: Literal["full", "key"] = "full"
    unique: tuple[tuple[str, ...], ...] = ()
    where: str | None = None
    append: bool = False
    time: str | ClocksSpec | None = None
    watermark: WatermarkSpec | None = None
    product: str | None = None


@dataclass(frozen=True, slots=True)
class OrderSpec:
    """One entry of an `order`."""

    expression: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ThroughSpec:
    """A relation whose rows lead from a parent to its children.

    Attributes:
        on: Its column and the parent's, pair by pair.
        hot_above: Children whom more of its rows name are left out; None sets no bound.
    """

    relation: str
    on: Pairs
    hot_above: int | None = None


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A product's root, or an entry of `embed`.

    Attributes:
        on: Child column and parent column, pair by pair; empty at the root. With `through` a
            column of that relation stands in place of the parent's.
        fields: Names and expressions; None means all columns of the relation.
        keyed: True for `as: map`.
        within: How far a row's time may be from that of the row above; None for any.
        as_of: The column of the row above with the time whose version is embedded; None for the
            row as it is.
    """

    name: str
    cardinality: Literal["root", "one", "many"]
    relation: str
    on: Pairs = ()
    fields: Pairs | None = None
    values: Pairs = ()
    where: str | None = None
    order: tuple[OrderSpec, ...] = ()
    limit: int | None = None
    overflow: Literal["count", "fail"] = "count"
    embed: tuple[NodeSpec, ...] = ()
    hidden: bool = False
    keyed: bool = False
    within: Within | None = None
    through: ThroughSpec | None = None
    as_of: str | None = None

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that it names itself."""
        return (self.relation,) if self.through is None else (self.relation, self.through.relation)

    def walk(self) -> Iterator[NodeSpec]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.embed:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class OutboxSpec:
    """Which columns of an outbox make an event; by default Debezium's names.

    Attributes:
        key: The event's key, so that events of one aggregate keep their order.
        value: The event itself.
        headers: Names of headers and their columns; None for those there are of
            `id` and `eventType`, from the columns `id` and `type`.
    """

    key: str = "aggregateid"
    value: str = "payload"
    headers: Pairs | None = None


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """What is kept of the groups of a relation's rows.

    Attributes:
        by: Names and expressions over a row.
        window: A window, or the name of one of the project.
        values: Names and expressions over the aggregates of a group.
    """

    by: Pairs = ()
    where: str | None = None
    window: Window | str | None = None
    values: Pairs = ()
    emit: Emit = AS_CHANGED


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """Which stored queries match which documents.

    Attributes:
        queries: The relation with a query in each row.
        query: Its column with the query.
        on: Columns of a query and of a document that must be equal, pair by pair.
        retroactive: Whether a new query finds documents that are there already.
        fields: Names and expressions over both rows.
    """

    queries: str
    query: str
    on: Pairs = ()
    language: Literal["sql", "lucene"] = "sql"
    retroactive: bool = True
    fields: Pairs = ()


@dataclass(frozen=True, slots=True)
class HistorySpec:
    """What is kept of the versions of a relation's rows.

    Attributes:
        valid: The column with the time from which a version is valid.
        track: The columns in which versions differ; None for all but the key and `valid`.
    """

    valid: str = ""
    track: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """What is looked for in the rows of a relation, key by key.

    Attributes:
        by: Names and expressions over a row.
        order: How the rows of a key follow one another; empty is by time.
        define: Variables, and what a row must be to be theirs.
        match: The pattern, over variables.
        within_us: How long after its first row a match may end.
        after: Where the search goes on after a match: behind its last row, or its first.
        fields: Names and expressions over a match.
    """

    match: str
    by: Pairs = ()
    order: tuple[OrderSpec, ...] = ()
    define: Pairs = ()
    within_us: int | None = None
    after: After = "past_last"
    fields: Pairs = ()
    emit: Emit = AS_CHANGED


@dataclass(frozen=True, slots=True)
class StateSpec:
    """One column of the state that events are folded into.

    Attributes:
        type: Its Spark DDL type.
        initial: The expression of its value before the first event; None for null.
    """

    name: str
    type: str
    initial: str | None = None


MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class FoldSpec:
    """How the events of a log become a state, key by key.

    Attributes:
        by: Names and expressions over an event.
        sequence: The column with an event's number, which counts from 1 in each key.
        kind: The column that says what has happened.
        state: The columns of the state.
        when: What an event of a kind makes of the state: names and expressions.
        wait_us: How long events behind a gap wait for the numbers that are missing.
    """

    by: Pairs = ()
    sequence: str = ""
    kind: str = "type"
    state: tuple[StateSpec, ...] = ()
    when: tuple[tuple[str, Pairs], ...] = ()
    wait_us: int = MINUTE_US


@dataclass(frozen=True, slots=True)
class ProductSpec:
    """One document a root row, and where it goes; or what another form says.

    Attributes:
        root: Of another form than documents, the relation alone.
        outbox: Set where the root's inserted rows are sent as events, instead of documents.
        aggregate: Set where groups of the root's rows are kept, instead of documents.
        history: Set where the versions of the root's rows are kept, instead of documents.
        emit: Of documents with `within`: when they are sent, and what rows do that come late.
        search: Set where stored queries are matched with the root's rows, instead of documents.
        pattern: Set where patterns are looked for in the root's rows, instead of documents.
        fold: Set where the root's rows are events that are folded into a state.
    """

    name: str
    root: NodeSpec
    sinks: tuple[SinkSpec, ...] = ()
    group: str | None = None
    solution: str = "spark-state"
    solution_options: Options = ()
    settle_ms: int | None = None
    ready: tuple[str, ...] = ()
    outbox: OutboxSpec | None = None
    aggregate: AggregateSpec | None = None
    history: HistorySpec | None = None
    emit: Emit = AS_CHANGED
    search: SearchSpec | None = None
    pattern: PatternSpec | None = None
    fold: FoldSpec | None = None
    expect: Expectations | None = None

    @property
    def relations_read(self) -> tuple[str, ...]:
        """The names of the relations and products that it reads."""
        names = [each for node in self.root.walk() for each in node.relations]
        return (*names, *((self.search.queries,) if self.search else ()))


@dataclass(frozen=True, slots=True)
class RunSpec:
    """How the project runs.

    Attributes:
        trigger_ms: The time between batches; 0 is as fast as possible.
        checkpoint_interval_ms: How often real-time mode commits what it did.
        max_rows_per_batch: Of one source; 0 sets no bound, None (`auto`) fits it to the backlog.
        solutions: Options by solution, for products that give none themselves.
    """

    checkpoint: str = ".joinery/checkpoint"
    dead_letters: SinkSpec = SinkSpec("files", (("path", ".joinery/dead_letters"),))
    dead_letters_wait: bool = False
    trigger_ms: int = 0
    real_time: bool = False
    checkpoint_interval_ms: int = 5 * 60 * 1000
    max_rows_per_batch: int | None = None
    max_bytes_per_batch: int | None = None
    spark: Pairs = ()
    tombstone_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    max_record_bytes: int = 8 * 1024 * 1024
    max_document_bytes: int = 16 * 1024 * 1024
    http: str | None = None
    lineage: Pairs = field(default=(), repr=False)
    solutions: tuple[tuple[str, Options], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class ProjectSpec:
    """Everything one project declares.

    Attributes:
        sinks: The project's named sinks.
        windows: The project's named windows.
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
    run: RunSpec = RunSpec()
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
