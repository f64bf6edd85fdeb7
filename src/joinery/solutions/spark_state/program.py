"""A kernel program: levels of keyed nodes, as the JVM kernel reads them.

A program is a value. `to_json` is the kernel's input, `str` what a user reads; both show
the same nodes. Nodes name each other by their place in `nodes`; slots and ordinals count
from 0. What each kind of node remembers and sends stands in docs/design/kernel.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from joinery.model.type import DataType, Struct
from joinery.project.window import LateRows, Span

ROLE_PARENT = 1
ROLE_PRIMARY = 2


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of a row, under the name that expressions use."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class ScopeName:
    """A name an expression reads, and the slot it stands for."""

    name: str
    slot: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Sql:
    """Spark SQL text over slots."""

    sql: str
    scope: tuple[ScopeName, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """One key of an order."""

    expression: Sql
    descending: bool


@dataclass(frozen=True, slots=True)
class Assembler:
    """How a row becomes an object: own columns, inputs, then steps, are its slots."""

    name: str
    own: tuple[Slot, ...]
    inputs: tuple[Slot, ...]
    steps: tuple[Sql, ...]
    where: Sql | None
    order: tuple[OrderColumn, ...]
    output: tuple[int, ...]
    type: Struct


@dataclass(frozen=True, slots=True)
class Address:
    """Columns of a row and the types they are compared as."""

    ordinals: tuple[int, ...]
    types: tuple[DataType, ...]


@dataclass(frozen=True, slots=True)
class Upward:
    """Where an assembled row goes; `branch` is a Fold's branch or a Match's arm."""

    target: int
    branch: int
    address: Address


@dataclass(frozen=True, slots=True)
class RelationProgram:
    """The columns that are decoded, and the assembler that gives the row products see."""

    name: str
    columns: tuple[Slot, ...]
    key: tuple[int, ...]
    assembler: int


@dataclass(frozen=True, slots=True)
class Route:
    """Where a relation's raw changes go; `role` is a sum of the ROLE constants."""

    relation: int
    node: int
    role: int
    address: Address


@dataclass(frozen=True, slots=True)
class OwnUse:
    """The row is the own row of a Fold."""

    target: int
    use: Literal["own"] = "own"


@dataclass(frozen=True, slots=True)
class ParentUse:
    """The row is announced to a Match or a ToOne; with itself where that merges it.

    `branches` are those of the Fold that the target answers for.
    """

    target: int
    address: Address
    fold: int
    branches: tuple[int, ...]
    merged: bool
    use: Literal["parent"] = "parent"


@dataclass(frozen=True, slots=True)
class ChildUse:
    """The row, assembled, is a child."""

    assembler: int
    upward: Upward
    use: Literal["child"] = "child"


@dataclass(frozen=True, slots=True)
class GroupUse:
    """The row is counted in the groups of a Group."""

    target: int
    use: Literal["group"] = "group"


Use = OwnUse | ParentUse | ChildUse | GroupUse


@dataclass(frozen=True, slots=True)
class Retract:
    """Remembers a relation's row; sends removes and puts to its uses."""

    name: str
    level: int
    relation: int
    uses: tuple[Use, ...]
    kind: Literal["retract"] = "retract"


@dataclass(frozen=True, slots=True)
class Merge:
    """A ToOne assembles its parents in place."""

    assembler: int
    relation: int
    upward: Upward


@dataclass(frozen=True, slots=True)
class ToOne:
    """Remembers a child by its key, and the parents that point at it."""

    name: str
    level: int
    child_relation: int
    child_assembler: int
    child_type: Struct
    parent_relation: int
    fold: int
    branch: int
    merge: Merge | None
    kind: Literal["to_one"] = "to_one"


@dataclass(frozen=True, slots=True)
class AggregateColumn:
    """An aggregate over the rows of an embed or of a group.

    Attributes:
        by_value: Whether rows may be taken back that cannot be told from the result: then what is
            needed of them is kept value by value.
        order: The columns of the row by which rows are ordered; empty where that tells nothing.
        numbers: What follows the argument.
    """

    function: str
    argument: Sql | None
    filter: Sql | None
    type: DataType
    by_value: bool = False
    order: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Arm:
    """What a Match keeps of one embed."""

    name: str
    child_type: Struct
    limit: int
    one: bool
    entries: bool
    total: bool
    aggregates: tuple[AggregateColumn, ...]
    branch: int


@dataclass(frozen=True, slots=True)
class Match:
    """Remembers the parents of one join value, and the children of each arm."""

    name: str
    level: int
    arms: tuple[Arm, ...]
    fold: int
    kind: Literal["match"] = "match"


@dataclass(frozen=True, slots=True)
class Branch:
    """What a Fold keeps of one embed."""

    name: str
    shape: Literal["one", "list", "map", "none"]
    type: Struct
    fused: bool
    key_types: tuple[DataType, ...]
    total: bool
    fail_above: int
    aggregates: tuple[AggregateColumn, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Remembers an own row and its embeds; sends the assembled object."""

    name: str
    level: int
    relation: int
    raw: bool
    branches: tuple[Branch, ...]
    assembler: int
    product: int
    upward: Upward | None
    kind: Literal["fold"] = "fold"


@dataclass(frozen=True, slots=True)
class WindowProgram:
    """Which windows hold a time.

    Attributes:
        every: From one start to the next of hopping windows, from one end to the next of
            cumulative ones; of tumbling windows their size.
        offset_micros: By how much all starts are moved.
        zone: Whose midnights they are aligned to; None for elapsed time since 1970 in UTC.
    """

    shape: Literal["tumbling", "hopping", "cumulative"]
    size: Span
    every: Span
    offset_micros: int
    zone: str | None


@dataclass(frozen=True, slots=True)
class SessionProgram:
    """Rows whose neighbours are less than a gap apart are one session.

    Attributes:
        max_micros: A session is cut at each multiple of it after its first row; 0 for never.
        divides: Whether a session may fall apart: rows go, or cuts move.
    """

    gap_micros: int
    max_micros: int
    divides: bool


@dataclass(frozen=True, slots=True)
class SlidingProgram:
    """Groups hold the last while of a size up to the watermark."""

    size_micros: int


@dataclass(frozen=True, slots=True)
class LateProgram:
    """When a row is late, and what becomes of it.

    Attributes:
        rows: Late rows are counted, and but under `correct` left out.
        delay_micros: The watermark of a partition is its newest time less this.
        allowed_micros: How far below the watermark a row is not late yet.
        retention_micros: How long after its end the watermark must be for a window to be
            forgotten; -1 for groups without a window.
    """

    rows: LateRows
    delay_micros: int
    allowed_micros: int
    retention_micros: int


@dataclass(frozen=True, slots=True)
class Group:
    """Remembers groups of rows by their aggregates; sends the assembled object of each.

    Attributes:
        relation: Whose rows are grouped.
        input: The assembler, over a row as products see it: the columns that it is grouped by,
            its time where there is a window, then what the aggregates read.
        by: How many columns it is grouped by.
        window: None where groups have none, and where they are sessions or slide.
        session: None where groups are no sessions.
        sliding: None where groups do not slide.
        aggregates: Over `input`.
        assembler: The object, over the columns of the group's address and the aggregates.
        late: What becomes of rows that come late; None where nothing tells their time, or where
            rows change.
    """

    name: str
    level: int
    relation: int
    input: int
    by: int
    window: WindowProgram | None
    session: SessionProgram | None
    sliding: SlidingProgram | None
    aggregates: tuple[AggregateColumn, ...]
    assembler: int
    product: int
    late: LateProgram | None = None
    kind: Literal["group"] = "group"


@dataclass(frozen=True, slots=True)
class Closing:
    """Remembers deadlines of a later node's addresses; tells each that the watermark has come.

    Attributes:
        relation: Whose watermark it is.
        target: The node.
        delay_micros: The watermark is the newest time of a partition, the least of them, less this.
        allowed_micros: How long after its end something is closed.
        buckets: How many addresses the target's are shared among.
    """

    name: str
    level: int
    relation: int
    target: int
    delay_micros: int
    allowed_micros: int
    buckets: int
    kind: Literal["closing"] = "closing"


@dataclass(frozen=True, slots=True)
class Onward:
    """The steps up to the next lookup of a stream, then that lookup, or a product.

    Attributes:
        assembler: Of an event's columns, then of what the lookup before it added.
        target: The next node; -1 at the end of the stream.
        product: Whose event it is then; -1 before the end.
        address: Over the assembled columns; None at the end, before a function or a claim.
        marked: Whether the assembler's last input tells a correction.
    """

    assembler: int
    target: int
    product: int
    address: Address | None
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the events of a relation enter; without a key they are told by their places."""

    relation: int
    onward: tuple[Onward, ...]


@dataclass(frozen=True, slots=True)
class CurrentLookup:
    """Remembers a table's row by its key; sends events on with what they met.

    Attributes:
        owner: The stream that counts and letters name.
        event: The columns that events come with; `key` identifies them.
        fields: The assembler, over the table's row, of what is added.
        for_micros: How long an event is sent again when the row changes; -1 for never.
        every_micros: How often it is; 0 for at once.
        where: The assembler, over `event` and the fields, that says which; -1 for all.
        asked: Whether a store has the rows, which is asked after all levels.
    """

    name: str
    level: int
    owner: str
    relation: int
    key: Struct
    event: Struct
    fields: int
    miss: Literal["null", "drop", "dead_letter", "wait"]
    wait_micros: int
    for_micros: int
    every_micros: int
    where: int
    asked: bool
    onward: tuple[Onward, ...]
    kind: Literal["current_lookup"] = "current_lookup"


@dataclass(frozen=True, slots=True)
class AsOf:
    """Remembers the versions of a share of a table's rows, and the events without an answer.

    Attributes:
        on: The event's join value, over `event`; `table` is the table's, as it is decoded.
        event_time: The place of the event's time in `event`.
        valid_from: The place in the table's row of the time from which a version is valid.
        idle_micros: After so long without a change the table holds nobody up; -1 for never.
        history_micros: How far an event may be behind the table's watermark, so which versions
            are kept; -1 for all.
        corrects: Whether an event goes at once and is corrected, else it waits.
        buckets: How many addresses the table's keys are shared among.
    """

    name: str
    level: int
    owner: str
    relation: int
    key: Struct
    event: Struct
    fields: int
    miss: Literal["null", "drop", "dead_letter", "wait"]
    on: Address
    table: Address
    event_time: int
    valid_from: int
    max_delay_micros: int
    idle_micros: int
    history_micros: int
    corrects: bool
    buckets: int
    onward: tuple[Onward, ...]
    kind: Literal["as_of"] = "as_of"


@dataclass(frozen=True, slots=True)
class MapEvents:
    """A user's function, called outside the kernel; remembers nothing."""

    name: str
    level: int
    owner: str
    key: Struct
    event: Struct
    output: Struct
    onward: tuple[Onward, ...]
    kind: Literal["map"] = "map"


@dataclass(frozen=True, slots=True)
class Claim:
    """Remembers under which join value a lookup remembers each event that may be told again.

    Attributes:
        on: The event's join value, over `event`.
        target: The lookup's node.
        buckets: How many addresses the events' identities are shared among.
        keep_micros: How long the lookup may remember an event; -1 before a versioned lookup.
        event_time: Before a versioned lookup, the place of the event's time; else -1.
    """

    name: str
    level: int
    owner: str
    event: Struct
    on: Address
    target: int
    buckets: int
    keep_micros: int
    event_time: int
    max_delay_micros: int
    idle_micros: int
    kind: Literal["claim"] = "claim"


@dataclass(frozen=True, slots=True)
class ProductRead:
    """A product that others of the program read: what it sends goes to them as changes, too.

    Attributes:
        product: Its place in the program's products.
        relation: What its documents are there, in the program's relations.
        columns: Where the relation's columns are, in its key and then its value.
    """

    product: int
    relation: int
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rolling:
    """Remembers the events of one key; sends each with values over those in the time up to it.

    Attributes:
        by: The event's key, over `event`; a null is a value of its own.
        event_time: The place of the event's time in `event`.
        over_micros: How far back from an event's time others count.
        retention_micros: How far an event may be below the watermark of `logs`.
        aggregates: Over `event`.
        values: The assembler, over `event` with the aggregates and the seconds as inputs.
    """

    name: str
    level: int
    owner: str
    key: Struct
    event: Struct
    by: Address
    event_time: int
    over_micros: int
    retention_micros: int
    logs: tuple[int, ...]
    aggregates: tuple[AggregateColumn, ...]
    values: int
    onward: tuple[Onward, ...]
    kind: Literal["rolling"] = "rolling"


DocumentNode = Retract | ToOne | Match | Fold | Group | Closing


@dataclass(frozen=True, slots=True)
class Seen:
    """Remembers the times of one value's events; sends each with whether one was near before it.

    Attributes:
        by: The value, over `event`; a null was never seen.
        event_time: The place of the event's time in `event`.
        for_micros: What is less than this apart is near.
        logs: By whose watermark times are forgotten.
    """

    name: str
    level: int
    owner: str
    key: Struct
    event: Struct
    by: Address
    event_time: int
    for_micros: int
    logs: tuple[int, ...]
    onward: tuple[Onward, ...]
    kind: Literal["seen"] = "seen"


StreamNode = CurrentLookup | AsOf | Claim | MapEvents | Rolling | Seen
KernelNode = DocumentNode | StreamNode


@dataclass(frozen=True, slots=True)
class ProductProgram:
    """A product of the program: the types of its documents."""

    name: str
    key: Struct
    value: Struct


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
        return self.relations[: len(self.relations) - len(self.reads)]

    def to_json(self) -> str:
        """Return the text that the kernel reads."""
        plain: dict[str, Any] = _plain(self)
        for part in ("entries", "reads"):
            if not plain[part]:
                # What programs wrote before there was such a part reads the same.
                del plain[part]
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


_DATA_TYPES = DataType.__args__


def _plain(value: Any) -> Any:
    if isinstance(value, _DATA_TYPES):
        return value.ddl
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value
