"""A contract as values: what the documents of a product, or the events of a stream, look like.

Every value says whether it may be null. Names of an object are in the order of the document.

Invariant: two contracts that promise the same are equal, wherever they were declared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joinery.model.type import Atomic, DataType, Decimal
from joinery.project.mark import Path

Personal = Literal["", "withheld", "revealed"]
"""Whether a value is a person's own, and then whether all sinks write it in clear."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts."""

    type: Atomic | Decimal


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    of: Value


@dataclass(frozen=True, slots=True)
class Entries:
    """A map, whose keys are the names of an object in JSON; `key` is what they are texts of."""

    key: DataType
    of: Value


@dataclass(frozen=True, slots=True)
class Object:
    """An object with these names, all of which are always there."""

    members: tuple[Member, ...]


Shape: TypeAlias = Scalar | Items | Entries | Object


@dataclass(frozen=True, slots=True)
class Value:
    """What a field, an element of a list or an entry of a map holds.

    Attributes:
        nullable: Whether it may be null.
    """

    shape: Shape
    nullable: bool = True
    personal: Personal = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A named value of an object.

    Attributes:
        description: Where it comes from, in a sentence; empty where that takes more than one.
        path: Where the project declares it.
    """

    name: str
    value: Value
    description: str = field(default="", compare=False)
    path: Path = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Contract:
    """What a product or a stream sends.

    Attributes:
        key: What identifies a document.
        value: The document.
        fresh_ms: How far documents may lag behind the changes; None where nothing is promised.
        shows_key: Whether the document also has the columns of the key, under their names.
        description: What a document is.
        path: Where the project declares it.
        key_path: Where it declares the key.
    """

    name: str
    key: Object
    value: Object
    fresh_ms: int | None = None
    shows_key: bool = field(default=False, compare=False)
    description: str = field(default="", compare=False)
    path: Path = field(default=(), compare=False)
    key_path: Path = field(default=(), compare=False)
