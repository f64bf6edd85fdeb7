"""The logical plan: what must hold, with every name resolved and every expression typed.

A plan is a value; solutions lower it, nothing changes it. A product is a tree of nodes.
A node shows rows of one relation: `fields` first, then its visible embeds (each followed
by its `<name>_total` and its `<name>_hot` where it has them), then `values`.

Which names its expressions may use, a node tells itself:
    fields        `fields_scope`: the relation's columns, derived too, hidden by `one` embeds
    values        `values_scope`: the node's fields, embeds with totals and hot ones, aggregates,
                  values above it
    where, order  `rank_scope`: the scope of `fields`, hidden by the node's own values
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from joinery.errors import JoineryError, PlanError
from joinery.expression.typed import Aggregate, Expression, Read
from joinery.model.type import LONG, STRING, Array, DataType, Field, Map, Struct
from joinery.project.emit import AS_CHANGED, Emit
from joinery.project.form import DocumentSpec, OutboxSpec
from joinery.project.schema_registry import RegistryOptions
from joinery.project.window import Within

if TYPE_CHECKING:
    from joinery.plan.aggregate import AggregateForm
    from joinery.plan.fold import FoldForm
    from joinery.plan.history import HistoryForm
    from joinery.plan.pattern import PatternForm
    from joinery.plan.search import SearchForm
    from joinery.plan.stream import Stream
    from joinery.project.stream import ClocksSpec, WatermarkSpec

    FlatForm: TypeAlias = AggregateForm | SearchForm | HistoryForm | PatternForm | FoldForm
    """What has no tree of embeds, and is no stream."""
    Form: TypeAlias = "DocumentForm | OutboxForm | Stream | FlatForm"
    """What a product is. Each form has a key, an output and the relations that it reads."""


CLOCK = "clock"
EVENT_TIME = "event_time"
"""The columns that three clocks tell, `clock` being `ok`, `repaired` or `suspect`."""
LOG_TIME = "log_time"
"""The column with the time of the log, where that is one of them."""


@dataclass(frozen=True, slots=True)
class Computed:
    """An expression under a name."""

    name: str
    expression: Expression

    @property
    def kept(self) -> bool:
        """Whether it only reads the name that it has."""
        return self.expression.typed == Read(self.name, self.type)

    @property
    def type(self) -> DataType:
        """The type of its result."""
        return self.expression.type


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One column of an order; nulls come first ascending, last descending."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Personal:
    """The columns of a relation that are sealed when they are decoded.

    Attributes:
        subject: The column that says whose they are.
        fields: The columns.
        indexes: Of those that are joined on, the column with the blind index, which an erasure
            empties.
        keys: Of those that rows or subjects are known by, the column with the blind index that
            stands in place of it, also once it is erased.
    """

    subject: str
    fields: tuple[str, ...]
    indexes: tuple[tuple[str, str], ...] = ()
    keys: tuple[tuple[str, str], ...] = ()

    def index_of(self, column: str) -> str | None:
        """Return the column with the blind index of a column, None where it has none."""
        return dict(self.indexes).get(column)

    def key_of(self, column: str) -> str:
        """Return the column that rows or subjects are known by in place of a column."""
        return dict(self.keys).get(column, column)

    @property
    def hidden(self) -> frozenset[str]:
        """The columns with blind indexes, which no product may name."""
        return frozenset(index for _, index in (*self.indexes, *self.keys))


@dataclass(frozen=True, slots=True)
class Relation:
    """A keyed changelog, decoded.

    Attributes:
        where: Rows for which it is not true do not exist (scope: columns and derived).
        derived: Over the declared columns and the derived ones above.
        unique: Column sets that the plan may treat as a key.
        registry: Where the schemas of its messages are; None where it needs none.
        append: True for a log of events, whose key may be empty.
        time: The column of an event's time, or from which a version is valid.
        watermark: How far its times may be behind one another.
        clocks: The clocks that its time was made of; None where a column tells it alone.
        logged: Whether its column `log_time` is the time at which the log took a record.
        product: What is sent as its rows; None for a changelog that is read from a source.
        personal: Which of its columns are sealed; those with blind indexes come last, and are in
            no row that a product may name. They stand in the key for columns that are personal.
    """

    name: str
    source: str
    topic: str
    format: str
    key: tuple[str, ...]
    columns: tuple[Field, ...]
    derived: tuple[Computed, ...] = ()
    where: Expression | None = None
    unique: tuple[tuple[str, ...], ...] = ()
    position: str | None = None
    time_unit: Literal["micros", "millis", "nanos"] = "micros"
    images: Literal["full", "key"] = "full"
    registry: RegistryOptions | None = None
    append: bool = False
    time: str | None = None
    watermark: WatermarkSpec | None = None
    clocks: ClocksSpec | None = None
    logged: bool = False
    product: Product | None = None
    personal: Personal | None = None

    @property
    def row(self) -> Struct:
        """All columns a product may name: declared, then derived."""
        derived = tuple(Field(each.name, each.expression.type) for each in self.derived)
        if self.personal is None:
            return Struct(self.columns + derived)
        hidden = self.personal.hidden
        return Struct(tuple(each for each in self.columns if each.name not in hidden) + derived)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The key as it is declared, and as documents name it."""
        if self.personal is None:
            return self.key
        declared = {index: name for name, index in self.personal.keys}
        return tuple(declared.get(each, each) for each in self.key)

    @property
    def has_personal_key(self) -> bool:
        """Whether blind indexes stand in place of columns of its key."""
        return self.key_names != self.key

    @property
    def erased_by(self) -> str | None:
        """The column that an erasure finds rows by; None where it is the key, or none is sealed."""
        if self.personal is None:
            return None
        subject = self.personal.key_of(self.personal.subject)
        return None if self.key == (subject,) else subject

    def key_fields(self) -> tuple[Field, ...]:
        """Return the columns of its key as documents have them."""
        pairs = zip(self.key_names, self.key, strict=True)
        return tuple(Field(name, self.type_of(each)) for name, each in pairs)

    @property
    def delay_ms(self) -> int:
        """How far below the newest time a row may come without being late."""
        return self.watermark.delay_ms if self.watermark else 0

    @property
    def clock(self) -> tuple[Relation, int]:
        """The changelog by whose times its watermark goes, and how far below them, in ms.

        Of a product it is that of what the product groups, or of its root.
        """
        if self.product is None:
            return self, self.delay_ms
        changelog, before_ms = self.product.form.relation.clock
        return changelog, before_ms + self.delay_ms

    @property
    def nullable_key(self) -> frozenset[str]:
        """The columns of its key that may be null: of a changelog none, such rows are refused."""
        return frozenset() if self.product is None else self.product.nullable_key

    @property
    def keyed(self) -> bool:
        """Whether its key names columns of its own; where not, that is noted as a problem."""
        return set(self.key) <= {each.name for each in self.columns}

    def type_of(self, column: str) -> DataType:
        """Return the type of a declared or derived column, or of a blind index."""
        known = (*self.columns, *self.row.fields)
        return next(each.type for each in known if each.name == column)


@dataclass(frozen=True, slots=True)
class JoinPair:
    """`child` = `parent`, compared as `type`, to which both widen without loss."""

    child: str
    parent: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Through:
    """A relation whose rows lead from a parent to its children.

    Attributes:
        on: Its columns, as `child`, and the parent's.
        hot_above: Children that more of its rows name are left out; None sets no bound.
    """

    relation: Relation
    on: tuple[JoinPair, ...]
    hot_above: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A root or an embed.

    Attributes:
        name: The embed's name; at the root, the product's.
        path: The stable address of the node: `user_profile/starred_repos/r`.
        on: Empty at the root. With `through`, a column of that relation is the `parent` of a pair.
        aggregates: Those that `values` of this node read.
        keyed: True for an `as: map` embed: a map from the child's key text to its object.
        within: How far a row's time may be from that of the row above; None for any.
        as_of: The column of the row above with the time whose version is embedded; None for the
            row as it is.
    """

    name: str
    path: str
    cardinality: Literal["root", "one", "many"]
    relation: Relation
    on: tuple[JoinPair, ...] = ()
    fields: tuple[Computed, ...] = ()
    embeds: tuple[Node, ...] = ()
    values: tuple[Computed, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    where: Expression | None = None
    order: tuple[OrderKey, ...] = ()
    limit: int | None = None
    overflow: Literal["count", "fail"] = "count"
    hidden: bool = False
    keyed: bool = False
    within: Within | None = None
    through: Through | None = None
    as_of: str | None = None

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations that it reads itself."""
        return (self.relation,) if self.through is None else (self.relation, self.through.relation)

    @property
    def parent_on(self) -> tuple[JoinPair, ...]:
        """The pairs that compare columns of the parent."""
        return self.on if self.through is None else self.through.on

    @property
    def hot_name(self) -> str | None:
        """The name of the list of those whose children are left out, where it has one."""
        bounded = self.through is not None and self.through.hot_above is not None
        return f"{self.name}_hot" if bounded else None

    @property
    def total_name(self) -> str | None:
        """The name of this embed's total in its parent, where it has one."""
        return f"{self.name}_total" if self.limit is not None and self.overflow == "count" else None

    @property
    def output(self) -> Struct:
        """The type of one object."""
        return Struct(tuple(Field(name, each.type) for name, each in self.shown))

    @property
    def shown(self) -> tuple[tuple[str, Named], ...]:
        """What an object has, in order: fields, embeds with their totals, values."""
        shown: list[tuple[str, Named]] = [(each.name, each) for each in self.fields]
        for embed in self.embeds:
            if not embed.hidden:
                shown.append((embed.name, embed))
                if embed.total_name:
                    shown.append((embed.total_name, Total(embed)))
                if embed.hot_name:
                    shown.append((embed.hot_name, Hot(embed)))
        return (*shown, *((each.name, each) for each in self.values))

    @property
    def fields_scope(self) -> dict[str, Named]:
        """What `fields` may name."""
        columns: dict[str, Named] = {each.name: each for each in self.relation.row.fields}
        return columns | {each.name: each for each in self.embeds if each.cardinality == "one"}

    @property
    def rank_scope(self) -> dict[str, Named]:
        """What `where` and `order` may name."""
        return self.fields_scope | {each.name: each for each in self.values}

    def values_scope(self, before: int | None = None) -> dict[str, Named]:
        """Return what `values` may name.

        Args:
            before: The place of the value that asks: it sees those above it. None for all.
        """
        scope: dict[str, Named] = {each.name: each for each in self.fields}
        scope |= {each.name: each for each in self.embeds}
        scope |= {each.total_name: Total(each) for each in self.embeds if each.total_name}
        scope |= {each.hot_name: Hot(each) for each in self.embeds if each.hot_name}
        scope |= {each.name: each for each in self.aggregates}
        return scope | {each.name: each for each in self.values[:before]}

    @property
    def type(self) -> DataType:
        """The type under which the parent sees this embed."""
        match self.cardinality:
            case "many":
                return Map(STRING, self.output) if self.keyed else Array(self.output)
            case "one" | "root":
                return self.output

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first."""
        yield self
        for embed in self.embeds:
            yield from embed.walk()


@dataclass(frozen=True, slots=True)
class Total:
    """How many rows a `many` embed has before its limit."""

    embed: Node

    @property
    def type(self) -> DataType:
        """The type of a count."""
        return LONG


@dataclass(frozen=True, slots=True)
class Hot:
    """The join values whose children an embed through a relation leaves out, in order."""

    embed: Node

    @property
    def type(self) -> DataType:
        """The type of a list of values, or of objects where several columns are compared."""
        pairs = self.embed.on
        if len(pairs) == 1:
            return Array(pairs[0].type)
        return Array(Struct(tuple(Field(pair.child, pair.type) for pair in pairs)))


Named = Field | Computed | Node | Total | Hot | Aggregate
"""What a name of a node's scope stands for."""


def types_of(scope: Mapping[str, Named]) -> dict[str, DataType]:
    """Return the types of the names of a scope."""
    return {name: each.type for name, each in scope.items()}


@dataclass(frozen=True, slots=True)
class Sink:
    """A named place for documents: `kind` such as `files`, with its checked options."""

    kind: str
    options: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class _RootForm:
    """What begins at a root."""

    word: ClassVar[str] = DocumentSpec.word
    root: Node

    @property
    def key(self) -> Struct:
        """The root key's columns and types."""
        return Struct(self.root.relation.key_fields())

    @property
    def nullable_key(self) -> frozenset[str]:
        """Those of the root's relation."""
        return self.root.relation.nullable_key

    @property
    def output(self) -> Struct:
        """The type of a root's object."""
        return self.root.output

    @property
    def relation(self) -> Relation:
        """The root's."""
        return self.root.relation

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All relations of the tree, each once, in its order."""
        return tuple(dict.fromkeys(each for node in self.root.walk() for each in node.relations))


@dataclass(frozen=True, slots=True)
class DocumentForm(_RootForm):
    """One document a row of the root's relation.

    Attributes:
        emit: When a document with `within` is sent, and what rows do that come late.
    """

    emit: Emit = AS_CHANGED

    @property
    def waits(self) -> Mapping[Relation, int]:
        """Whose watermarks decide a root, each with how far after its time, in microseconds.

        It is empty where documents are sent as they stand.
        """
        found: dict[Relation, int] = {}
        for each in self.root.embeds if self.emit.when == "closed" else ():
            if each.within is not None:
                after_us = each.within.to_us + self.emit.allowed_us
                found[each.relation] = max(found.get(each.relation, after_us), after_us)
        return found


@dataclass(frozen=True, slots=True)
class OutboxForm(_RootForm):
    """The inserted rows of the root's relation, sent as events.

    Attributes:
        columns: Which columns make an event, its headers told.
    """

    does: ClassVar[str] = "has an outbox"
    columns: OutboxSpec


@dataclass(frozen=True, slots=True)
class Product:
    """What is kept in sinks under a key: documents, events, groups, matches.

    Attributes:
        solution_options: Its own, and the project's for this solution below them.
        removes_erased: Whether a document with values of an erased subject is not there.
        personal_key: Whether it says that its key is personal.
    """

    name: str
    form: Form
    sinks: tuple[Sink, ...] = ()
    group: str | None = None
    solution: str = "spark-state"
    solution_options: tuple[tuple[str, object], ...] = ()
    settle_ms: int | None = None
    ready: tuple[str, ...] = ()
    removes_erased: bool = False
    personal_key: bool = False

    @property
    def root(self) -> Node:
        """The root of its documents, or of its outbox.

        Raises:
            PlanError: It has another form.
        """
        if isinstance(self.form, DocumentForm | OutboxForm):
            return self.form.root
        raise PlanError(f'product "{self.name}" has no root')

    @property
    def outbox(self) -> OutboxSpec | None:
        """Which columns of its rows are sent as events; None where it has no outbox."""
        return self.form.columns if isinstance(self.form, OutboxForm) else None

    @property
    def key(self) -> Struct:
        """What identifies what a sink receives: columns and types."""
        return self.form.key

    @property
    def nullable_key(self) -> frozenset[str]:
        """The columns of the key that may be null, as of a group of nulls."""
        return self.form.nullable_key

    @property
    def output(self) -> Struct:
        """What a sink receives as value."""
        return self.form.output

    @property
    def query(self) -> str:
        """The name of the query that runs this product, and of its checkpoint folder."""
        return self.group or self.name

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The changelogs it is made of, each once, in the order of its form.

        In place of a product that it reads stand those that this one is made of.
        """
        found: dict[Relation, None] = {}
        for each in self.form.relations:
            found |= dict.fromkeys((each,) if each.product is None else each.product.relations)
        return tuple(found)

    @property
    def reads(self) -> tuple[Product, ...]:
        """The products that it reads, and what those read, each after what it reads itself."""
        found: dict[str, Product] = {}
        for each in self.form.relations:
            if each.product is not None:
                found |= {one.name: one for one in (*each.product.reads, each.product)}
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """All products and streams of a project.

    Attributes:
        warnings: What holds, and may not be meant.
    """

    products: tuple[Product, ...] = field(default=())
    streams: tuple[Stream, ...] = ()
    warnings: tuple[JoineryError, ...] = field(default=(), compare=False, repr=False)
