"""The logical plan: what must hold, with every name resolved and every expression typed.

A plan is a value; solutions lower it, nothing changes it. It has products, each of one form,
and streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from joinery.errors import JoineryError, PlanError
from joinery.model.type import DataType, Struct
from joinery.plan.node import Node
from joinery.plan.relation import Relation
from joinery.project.emit import AS_CHANGED, Emit
from joinery.project.form import DocumentSpec, OutboxSpec

if TYPE_CHECKING:
    from joinery.plan.aggregate import AggregateForm
    from joinery.plan.fold import FoldForm
    from joinery.plan.history import HistoryForm
    from joinery.plan.pattern import PatternForm
    from joinery.plan.search import SearchForm
    from joinery.plan.stream import Stream

    FlatForm: TypeAlias = AggregateForm | SearchForm | HistoryForm | PatternForm | FoldForm
    """What has no tree of embeds, and is not a stream."""
    Form: TypeAlias = "DocumentForm | OutboxForm | Stream | FlatForm"
    """What a product is. Each form has a key, an output and the relations that it reads."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A named place for documents: `kind` such as `files`, with its checked options."""

    kind: str
    options: tuple[tuple[str, object], ...] = ()

    @property
    def spools(self) -> bool:
        """Whether documents wait on a disk until its target has them."""
        return dict(self.options).get("spool") is True


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
    """One document per row of the root's relation.

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
class KeyColumn:
    """A column of a product's key as those that read the product have it.

    Attributes:
        name: Its own, or in an object the object's name, a dot and its own.
        place: Where it, or its object, stands in the key.
        inner: Where it stands in its object; None where it is in none.
    """

    name: str
    type: DataType
    place: int
    inner: int | None = None


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
    def key_columns(self) -> tuple[KeyColumn, ...]:
        """The columns of the key, those of its objects one by one."""
        found: list[KeyColumn] = []
        for place, each in enumerate(self.key.fields):
            if isinstance(each.type, Struct):
                found += (
                    KeyColumn(f"{each.name}.{one.name}", one.type, place, inner)
                    for inner, one in enumerate(each.type.fields)
                )
            else:
                found.append(KeyColumn(each.name, each.type, place))
        return tuple(found)

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
