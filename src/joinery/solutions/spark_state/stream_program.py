"""The nodes of a kernel program that streams have, and how events go from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from joinery.model.type import Struct
from joinery.solutions.spark_state.assembler import Address, AggregateColumn


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
        hidden: Places in `event` of the columns that dead letters leave out, if any.
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
    hidden: tuple[int, ...] | None = None
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


@dataclass(frozen=True, slots=True)
class Seen:
    """Remembers the times of one value's events; sends each with whether one was near before it.

    Attributes:
        by: The value, over `event`; a null was never seen.
        event_time: The place of the event's time in `event`.
        for_micros: What is less than this apart is near.
        logs: By whose watermark times are forgotten.
        hidden: Places in `event` of the columns that dead letters leave out, if any.
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
    hidden: tuple[int, ...] | None = None
    kind: Literal["seen"] = "seen"


@dataclass(frozen=True, slots=True)
class PairEvents:
    """Remembers the events of two logs with one join value; sends the pairs whose times are near.

    Attributes:
        key: What identifies an event that the stream brings.
        other_key: What identifies one of the other log.
        event: The columns of both sides: an event of one has nulls in those of the other.
        other: The place in `event` of what tells the other's; before it stand the stream's.
        event_time: The place of the event's time in `event`.
        other_time: That of the other's.
        from_micros: The least that the other's time is above the event's.
        to_micros: The most.
        retention_micros: How far an event may be below the watermark of `logs`.
        first: The place in `event` of the first column that is added.
    """

    name: str
    level: int
    owner: str
    key: Struct
    other_key: Struct
    event: Struct
    other: int
    event_time: int
    other_time: int
    from_micros: int
    to_micros: int
    retention_micros: int
    first: int
    logs: tuple[int, ...]
    onward: tuple[Onward, ...]
    kind: Literal["pair_events"] = "pair_events"


StreamNode = CurrentLookup | AsOf | Claim | MapEvents | Rolling | Seen | PairEvents
