"""The nodes of a kernel program that groups and windows of time have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from joinery.project.emit import LateRows
from joinery.project.window import Span
from joinery.solutions.spark_state.assembler import AggregateColumn


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
        time: The column of a row, as products see it, that tells its time.
        delay_micros: The watermark of a partition is its newest time less this.
        allowed_micros: How far below the watermark a row is not late yet.
        retention_micros: How long after its end the watermark must be for a window to be
            forgotten; -1 for groups without a window.
    """

    rows: LateRows
    time: int
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
        session: None where groups are not sessions.
        sliding: None where groups do not slide.
        aggregates: Over `input`.
        assembler: The object, over the columns of the group's address and the aggregates.
        late: What becomes of rows that come late; None where nothing tells their time.
        stays: Whether windows stay once their retention is over, since rows of a snapshot may
            still come to them; None for no.
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
    stays: Literal[True] | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """Remembers deadlines of a later node's addresses; tells each that the watermark has come.

    Attributes:
        relation: Whose watermark it is.
        target: The node.
        delay_micros: The watermark is the newest time of a partition, the least of them, less this.
        allowed_micros: How long after its end something is closed.
        buckets: How many addresses the target's are shared among.
        idles: Whether partitions of the relation's log may be idle, by the clock.
        other: Whose watermark counts while all of them are; None for none.
        other_behind_micros: How far below it what is asked for stands; None for not at all.
    """

    name: str
    level: int
    relation: int
    target: int
    delay_micros: int
    allowed_micros: int
    buckets: int
    idles: bool
    kind: Literal["closing"] = "closing"
    other: int | None = None
    other_behind_micros: int | None = None


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Deadlines in the level of the node they are of, beside its state; tells it which have come.

    A program has them as a Closing without buckets, as checkpoints know them.

    Attributes:
        relation: Whose watermark it is.
        target: The node.
        delay_micros: The watermark is the newest time of a partition, the least of them, less this.
        allowed_micros: How long after its end something is closed.
    """

    name: str
    level: int
    relation: int
    target: int
    delay_micros: int
    allowed_micros: int
    buckets: Literal[0] = 0
    idles: Literal[False] = False
    kind: Literal["closing"] = "closing"
    beside: Literal[True] = True


@dataclass(frozen=True, slots=True)
class Cuts:
    """Remembers when rows of sessions come; tells the Closing before a Group where these are cut.

    Attributes:
        target: The Group.
        closing: The Closing.
    """

    name: str
    level: int
    target: int
    closing: int
    kind: Literal["cuts"] = "cuts"
