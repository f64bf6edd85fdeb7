"""The nodes of a kernel program that documents are joined and put together by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from joinery.model.type import DataType, Struct
from joinery.solutions.spark_state.assembler import Address, AggregateColumn
from joinery.solutions.spark_state.interval_program import Kept

NO_RELATION = -1


@dataclass(frozen=True, slots=True)
class Upward:
    """Where an assembled row goes; `branch` is a Fold's branch or a Match's arm."""

    target: int
    branch: int
    address: Address


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
class FanOut:
    """Remembers the children of one join value, and who is led to them.

    Attributes:
        target: The Gather, or the Fold that gathers them itself, in the branch of the arm.
        hot_above: More rows than this that lead here make the value hot; 0 for never.
    """

    name: str
    level: int
    arm: Arm
    target: int
    hot_above: int
    kind: Literal["fan_out"] = "fan_out"


@dataclass(frozen=True, slots=True)
class Gather:
    """Remembers the parents of one join value, and the children that they are led to, in order.

    Attributes:
        limit: How many of them a parent is told; 0 for all.
        value_types: Those of a join value of children.
        hot: The type of a list of such values; None where none is ever hot.
    """

    name: str
    level: int
    limit: int
    entries: bool
    total: bool
    value_types: tuple[DataType, ...]
    hot: DataType | None
    fold: int
    branch: int
    kind: Literal["gather"] = "gather"


@dataclass(frozen=True, slots=True)
class Interval:
    """Remembers, by time, the parents of one join value and the children of one embed."""

    name: str
    level: int
    fold: int
    branch: int
    from_micros: int
    to_micros: int
    kept: Kept | None = None
    kind: Literal["interval"] = "interval"


@dataclass(frozen=True, slots=True)
class Valid:
    """Remembers, under one join value, parents by a time of theirs and versions of children."""

    name: str
    level: int
    fold: int
    branch: int
    kind: Literal["valid"] = "valid"


@dataclass(frozen=True, slots=True)
class ValidRows:
    """The rows of an embed are versions, and a Valid tells those that were valid at a time.

    Attributes:
        limit: How many of them are kept; 0 for all.
    """

    limit: int


@dataclass(frozen=True, slots=True)
class Near:
    """Which children a row has by their times, which stand in front of their order.

    Attributes:
        time: The place of the row's own.
        limit: How many of them are kept; 0 for all.
    """

    from_micros: int
    to_micros: int
    time: int
    limit: int


@dataclass(frozen=True, slots=True)
class Gathers:
    """A Fold gathers the children of an embed itself, from the FanOuts that its row is led to.

    Attributes:
        limit: How many of them are shown.
        value_types: Those of a join value of children.
    """

    limit: int
    value_types: tuple[DataType, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """What a Fold keeps of one embed.

    Attributes:
        hot: The type of the list of those that are left out; None where there is none.
        within: Which rows it has by their times; None where they do not tell.
        valid: How it has versions of rows; None where it has rows.
        gathers: How it gathers what rows lead to; None where no rows do, or a Gather does it.
    """

    name: str
    shape: Literal["one", "list", "map", "none"]
    type: Struct
    fused: bool
    key_types: tuple[DataType, ...]
    total: bool
    fail_above: int
    aggregates: tuple[AggregateColumn, ...]
    hot: DataType | None = None
    within: Near | None = None
    valid: ValidRows | None = None
    gathers: Gathers | None = None


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
    kept: Kept | None = None
    kind: Literal["fold"] = "fold"
