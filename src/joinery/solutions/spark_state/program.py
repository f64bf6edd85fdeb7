"""A kernel program: levels of keyed nodes, as the JVM kernel reads them.

A program is a value. `to_json` is the kernel's input, `render_program` what a user reads; both show
the same nodes. Nodes name each other by their place in `nodes`; slots and ordinals count
from 0. What each kind of node remembers and sends stands in docs/design/kernel.md.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from joinery.model.type import DataType, Struct
from joinery.solutions.spark_state.assembler import Address, Assembler, Slot
from joinery.solutions.spark_state.document_program import (
    FanOut,
    Fold,
    Gather,
    Interval,
    Match,
    ToOne,
    Upward,
    Valid,
)
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import Closing, Cuts, Deadlines, Group
from joinery.solutions.spark_state.interval_program import Judged, Kept
from joinery.solutions.spark_state.pattern_program import Pattern, Rule
from joinery.solutions.spark_state.search_program import QueryUse, Search, SearchedUse
from joinery.solutions.spark_state.stream_program import Entry, StreamNode
from joinery.solutions.spark_state.versioning import History

ROLE_PARENT = 1
ROLE_PRIMARY = 2


@dataclass(frozen=True, slots=True)
class Sealed:
    """The personal columns of a relation, by their places among those that are decoded.

    Attributes:
        subject: The column that says whose they are.
        columns: Those that are sealed.
        indexes: For each of them the column with its blind index, -1 for none.
        types: For each of them what it is decoded as; None where all are texts.
        known_by: For each of them the column with the blind index that stands in place of it in
            the key or as the subject, -1 for none; None where none has one.
        derived: Gives the decoded columns with those that are derived from personal ones, all of
            them in clear; None where none is.
        derived_from: For each of `columns` those that it is derived from, none for what a record
            tells itself; None where none is derived.
    """

    subject: int
    columns: tuple[int, ...]
    indexes: tuple[int, ...]
    types: tuple[DataType, ...] | None = None
    known_by: tuple[int, ...] | None = None
    derived: Assembler | None = None
    derived_from: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class RelationProgram:
    """The columns that are decoded, and the assembler that gives the row products see.

    Attributes:
        sealed: Which of them are personal; None where the relation has no such columns.
        append: True for a log, whose updates and deletes are ignored; else None.
        notes: The place under which levels note what is over by its time; None for its own.
        part: The part of the program whose nodes alone read it; None for the first. One that
            several parts read is there once for each.
    """

    name: str
    columns: tuple[Slot, ...]
    key: tuple[int, ...]
    assembler: int
    sealed: Sealed | None = None
    append: Literal[True] | None = None
    notes: int | None = None
    part: int | None = None

    @property
    def own_name(self) -> str:
        """Its name, with the part that reads it unless that is the first."""
        return self.name if self.part is None else part_name(self.name, self.part)


def part_name(relation: str, part: int) -> str:
    """Return what a relation is called where a later part of a program reads it."""
    return f"{relation}@{part}"


@dataclass(frozen=True, slots=True)
class Route:
    """Where a relation's raw changes go; `role` is a sum of the ROLE constants."""

    relation: int
    node: int
    role: int
    address: Address


@dataclass(frozen=True, slots=True)
class OwnUse:
    """The row is the own row of a Fold; `time` is its place where deadlines are told of it."""

    target: int
    use: Literal["own"] = "own"
    time: int | None = None


@dataclass(frozen=True, slots=True)
class ParentUse:
    """The row is announced to a Match, a ToOne, an Interval or a Valid.

    It is with itself where a ToOne merges it, with a time where an Interval or a Valid asks for it,
    whose place `time` is. `branches` are those of the Fold that the target answers for.
    """

    target: int
    address: Address
    fold: int
    branches: tuple[int, ...]
    merged: bool
    use: Literal["parent"] = "parent"
    time: int | None = None


@dataclass(frozen=True, slots=True)
class ChildUse:
    """The row, assembled, is a child."""

    assembler: int
    upward: Upward
    use: Literal["child"] = "child"


@dataclass(frozen=True, slots=True)
class GroupUse:
    """The row is counted in the groups of a Group, or stands in the order of a Pattern."""

    target: int
    use: Literal["group"] = "group"


@dataclass(frozen=True, slots=True)
class ThroughUse:
    """The row leads the Gather, or the Fold, at `parent` to the FanOut at `address`."""

    target: int
    address: Address
    parent: Address
    use: Literal["through"] = "through"


Use = OwnUse | ParentUse | ChildUse | GroupUse | ThroughUse | SearchedUse | QueryUse


@dataclass(frozen=True, slots=True)
class Retract:
    """Remembers a relation's row; sends removes and puts to its uses.

    Attributes:
        judged: Which rows come late for the product whose it is; None where none does.
        kept: How long a row is kept; None for until it is deleted.
    """

    name: str
    level: int
    relation: int
    uses: tuple[Use, ...]
    judged: Judged | None = None
    kept: Kept | None = None
    kind: Literal["retract"] = "retract"


@dataclass(frozen=True, slots=True)
class Root:
    """Remembers the document of a row that a ToOne assembles; sends it.

    Attributes:
        read: What its documents are as rows of a relation, in the program's relations, where it
            sends them to `uses` itself; None where nobody reads them, or a node of its own keeps
            these rows.
        was_read: True where nobody does any more, and state holds what they knew; else None.
    """

    name: str
    level: int
    relation: int
    product: int
    read: int | None = None
    uses: tuple[Use, ...] = ()
    was_read: bool | None = None
    kind: Literal["root"] = "root"


@dataclass(frozen=True, slots=True)
class Inserts:
    """Sends the rows of an append relation to their uses from where they are decoded.

    It belongs to no level and keeps no state: such a row never changes, so its previous content
    does not matter. A row that comes again is sent again, which alters nothing.

    Attributes:
        judged: Which rows come late for the product whose it is; None where none does.
        kept: How long its uses keep a row; None forever.
    """

    name: str
    level: int
    relation: int
    uses: tuple[Use, ...]
    judged: Judged | None = None
    kept: Kept | None = None
    kind: Literal["inserts"] = "inserts"


@dataclass(frozen=True, slots=True)
class Subjects:
    """Remembers the rows of each subject of a relation; sends its erasure to each of them."""

    name: str
    level: int
    relation: int
    kind: Literal["subjects"] = "subjects"


@dataclass(frozen=True, slots=True)
class Versions:
    """Remembers the versions of a relation's rows; sends each to its uses as a row of its own.

    Attributes:
        versions: What they are in the program's relations: the row as products see it, then until
            when it is valid.
        valid_from: Over the row as products see it, the time from which it is valid.
        told: What a delete has to tell beside its key to end a version, over decoded columns;
            empty where no delete can.
    """

    name: str
    level: int
    relation: int
    versions: int
    valid_from: int
    told: tuple[int, ...]
    uses: tuple[Use, ...]
    kind: Literal["versions"] = "versions"


@dataclass(frozen=True, slots=True)
class Removed:
    """Holds the number of a node that the program had, and whose product it has no more.

    Nothing is sent to it; what it remembered is forgotten where its time comes.

    Attributes:
        timed: Whether it asked to be called at a time: a level keeps timers that it once had.
    """

    name: str
    level: int
    timed: bool
    kind: Literal["removed"] = "removed"


DocumentNode = (
    Retract
    | Inserts
    | Subjects
    | Versions
    | ToOne
    | Match
    | Interval
    | Valid
    | FanOut
    | Gather
    | Fold
    | Root
    | Group
    | Closing
    | Deadlines
    | Cuts
    | History
    | Search
    | EventFold
    | Pattern
    | Rule
    | Removed
)
KernelNode = DocumentNode | StreamNode
ProductNode = Fold | Root | Group | History | EventFold | Pattern | Search
"""What sends the rows of a product."""


@dataclass(frozen=True, slots=True)
class ProductProgram:
    """A product of the program: the types of its documents."""

    name: str
    key: Struct
    value: Struct


@dataclass(frozen=True, slots=True)
class ProductRead:
    """A product that others of the program read: what it sends goes to them as changes, too.

    Attributes:
        product: Its place in the program's products.
        relation: What its documents are there, in the program's relations.
        columns: Where the relation's columns are, in its key and then its value.
        inner: Of each where it stands in an object of the key, -1 in none; None where there is no
            such column.
    """

    product: int
    relation: int
    columns: tuple[int, ...]
    inner: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """All products of one query, lowered.

    Attributes:
        reasons: For each node that was left out or fused, why; in the order of lowering.
        entries: Where the events of streams enter; empty for products.
        reads: The products that others read; their relations come after those of sources.
    """

    levels: int
    relations: tuple[RelationProgram, ...]
    nodes: tuple[KernelNode, ...]
    assemblers: tuple[Assembler, ...]
    products: tuple[ProductProgram, ...]
    routes: tuple[Route, ...]
    tombstone_retention_micros: int
    max_document_bytes: int
    reasons: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    reads: tuple[ProductRead, ...] = ()

    @property
    def decoded(self) -> tuple[RelationProgram, ...]:
        """The relations that are read from sources, which come first."""
        versioned = sum(isinstance(each, Versions) for each in self.nodes)
        return self.relations[: len(self.relations) - len(self.reads) - versioned]

    def to_json(self) -> str:
        """Return the text that the kernel reads."""
        plain: dict[str, Any] = _plain(self)
        for part in ("entries", "reads"):
            if not plain[part]:
                # What programs wrote before there was such a part reads the same.
                del plain[part]
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


_DATA_TYPES = DataType.__args__
_ADDED = frozenset(
    """hot known other other_behind_micros rules within time valid judged kept sealed types
    known_by stays wait_events hidden append inner was_read notes part gathers beside raw derived
    derived_from""".split()
)
"""What parts had not at first: where it says nothing, programs read as they did before."""


_TOLD = frozenset((str, int, bool, float, type(None)))


def _plain(value: Any) -> Any:
    """Return a part as JSON has it; what JSON has as it is, is not passed here, to save calls."""
    if isinstance(value, tuple):
        return [each if type(each) in _TOLD else _plain(each) for each in value]
    names = _names(value.__class__)
    if names is None:
        return value.ddl if isinstance(value, _DATA_TYPES) else value
    found = ((name, getattr(value, name)) for name in names)
    return {
        name: each if type(each) in _TOLD else _plain(each)
        for name, each in found
        if each is not None or name not in _ADDED
    }


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """Return the names of a part's fields; None for what is none."""
    if issubclass(kind, _DATA_TYPES) or not dataclasses.is_dataclass(kind):
        return None
    return tuple(each.name for each in dataclasses.fields(kind))
