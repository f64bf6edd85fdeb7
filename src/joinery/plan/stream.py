"""The plan of a stream: events that are looked up, filtered and sent on, each once.

A stream reads one append-only relation and applies its steps in order. Each step sees the
columns that the step before it gives. Solutions lower it; nothing changes it.

Invariant: lookups in state come before lookups in a store.

A stream as a product, for whatever asks for name, query, key, value and sinks alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from typing import ClassVar

from joinery.model.type import BOOLEAN, STRING, Field, Struct
from joinery.plan.product import Plan, Product, Sink
from joinery.plan.relation import Relation
from joinery.plan.step import Lookup, Step, Union, stage_of, standing_after
from joinery.plan.timed_step import Join, Rolling, SeenFilter

PLACE = Field("place", STRING)


@dataclass(frozen=True, slots=True)
class Stream:
    """Events of one relation, what happens to them, and where they go.

    Attributes:
        name: The stream's, its query's and its checkpoint folder's.
        relation: Append-only; its key identifies an event (its place in the log where the
            key is empty).
        steps: In order. Branches of one stream are several streams that begin alike.
        columns: What an event has after the last step.
        correction: The name of a boolean column after `columns`: whether the event was sent
            before with other columns.
        continued: Whether other streams of the project go on from it, or add its events.
        notes: What the plan decided, and why, for `explain`.
    """

    word: ClassVar[str] = "from"
    does: ClassVar[str] = "is a stream"
    name: str
    relation: Relation
    steps: tuple[Step, ...] = ()
    columns: tuple[Field, ...] = ()
    sinks: tuple[Sink, ...] = ()
    group: str | None = None
    correction: str | None = None
    continued: bool = False
    notes: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The name of the query that runs this stream, and of its checkpoint folder."""
        return self.group or self.name

    @property
    def key(self) -> Struct:
        """What identifies what it sends: of a pair the event's key, then the other's, an object."""
        others = (Field(each.name, key_of(each)) for each in self.joined)
        return Struct((*self.event_key.fields, *others))

    @property
    def nullable_key(self) -> frozenset[str]:
        """None: an event without its key is refused."""
        return frozenset()

    @property
    def event_key(self) -> Struct:
        """What identifies an event of its log: its key, else the text of its place."""
        return key_of(self.relation)

    def blind_indexes_at(self, step: Step) -> frozenset[str]:
        """Return what events have beside their columns where one of its steps is given them."""
        personal = self.relation.personal
        if personal is None:
            return frozenset()
        columns = frozenset(each.name for each in self.relation.row.fields)
        before = takewhile(lambda each: each is not step, self.steps)
        standing = reduce(lambda had, each: standing_after(each, had), before, columns)
        return frozenset(index for name, index in personal.indexes if name in standing)

    @property
    def joined(self) -> tuple[Relation, ...]:
        """The logs with whose events it makes pairs."""
        return tuple(each.other for each in self.steps if isinstance(each, Join))

    @property
    def output(self) -> Struct:
        """What a sink receives as value."""
        mark = (Field(self.correction, BOOLEAN),) if self.correction else ()
        return Struct(self.columns + mark)

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """All lookups, in order, without those of united streams."""
        return tuple(each for each in self.steps if isinstance(each, Lookup))

    def sends_again_for(self, relation: Relation) -> bool:
        """Return whether events that show a row of a relation are sent again once it is erased."""
        return any(
            each.table == relation and each.on_change != "keep" and each.shows_personal
            for each in self.lookups
        )

    @property
    def united(self) -> tuple[Stream, ...]:
        """The streams whose events it adds, in order."""
        return tuple(each.other for each in self.steps if isinstance(each, Union))

    @property
    def watched(self) -> tuple[Relation, ...]:
        """The logs by whose watermark its steps forget events."""
        watching = (each for each in self.steps if isinstance(each, Rolling | SeenFilter | Join))
        mine = (log for each in watching for log in each.logs)
        others = (log for other in self.united for log in other.watched)
        return tuple(dict.fromkeys((*mine, *others)))

    @property
    def tables(self) -> tuple[Relation, ...]:
        """The relations whose changes this stream reads, each once."""
        kept = (each.table for each in self.lookups if each.read == "state")
        others = (table for other in self.united for table in other.tables)
        return tuple(dict.fromkeys((*kept, *others)))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All relations this stream reads, events first, each once."""
        others = (each for other in self.united for each in other.relations)
        return tuple(dict.fromkeys((self.relation, *self.tables, *self.joined, *others)))

    @property
    def stored_tables(self) -> tuple[Relation, ...]:
        """The tables that are queried in stores, in order, those of united streams included."""
        mine = (each.table for each in self.lookups if stage_of(each) == "store")
        return (*mine, *(table for other in self.united for table in other.stored_tables))

    @property
    def named_relations(self) -> tuple[Relation, ...]:
        """All relations whose columns it names, read or not, events first, each once."""
        tables = (each.table for each in self.lookups)
        others = (each for other in self.united for each in other.named_relations)
        return tuple(dict.fromkeys((self.relation, *tables, *self.joined, *others)))


def key_of(log: Relation) -> Struct:
    """Return what identifies an event of a log: its key, else the text of its place."""
    fields = tuple(Field(name, log.type_of(name)) for name in log.key)
    return Struct(fields or (PLACE,))


def product_of(stream: Stream) -> Product:
    """Return a stream as a product: its events are the documents."""
    return Product(stream.name, stream, sinks=stream.sinks, group=stream.group)


def outputs_of(plan: Plan) -> tuple[Product, ...]:
    """Return all that a project sends: its products, then its streams.

    A stream without a sink that others continue is a part of these, and sends nothing itself.
    """
    sending = (each for each in plan.streams if each.sinks or not each.continued)
    return plan.products + tuple(map(product_of, sending))
