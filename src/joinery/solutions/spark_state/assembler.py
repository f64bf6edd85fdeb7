"""What a kernel program says of rows: their columns, and what is computed of them.

Expressions read slots, the columns of a row by place; slots and ordinals count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from joinery.model.type import DataType, Field, Struct


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


def struct_of(slots: Sequence[Slot]) -> Struct:
    """Return the type of a row."""
    return Struct(tuple(Field(slot.name, slot.type) for slot in slots))


def slots_of(type_: Struct) -> tuple[Slot, ...]:
    """Return the columns of a row."""
    return tuple(Slot(each.name, each.type) for each in type_.fields)
