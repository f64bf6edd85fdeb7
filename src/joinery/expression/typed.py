"""The typed tree of a portable expression: names resolved, every conversion written out.

Invariant: evaluating it needs no further type rules; the arguments of an `Apply` have
exactly the types that its function works on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from joinery.model.type import DataType


@dataclass(frozen=True, slots=True)
class Constant:
    """A value; `written` is true where the user wrote it as a literal."""

    value: Any
    type: DataType
    written: bool = True


@dataclass(frozen=True, slots=True)
class Read:
    """A name of the scope."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Variable:
    """A lambda's parameter; `name` is unique within its expression."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Convert:
    """A cast, written or implied; `safe` gives null for a failure."""

    argument: Typed
    type: DataType
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Closure:
    """A lambda over an element, and its index where it has two parameters."""

    parameters: tuple[Variable, ...]
    body: Typed

    @property
    def type(self) -> DataType:
        """The type of its result."""
        return self.body.type


@dataclass(frozen=True, slots=True)
class Apply:
    """A function or an operator over typed arguments."""

    function: str
    arguments: tuple[Typed, ...]
    type: DataType


Typed = Constant | Read | Variable | Convert | Closure | Apply


def parts(node: Typed) -> Iterator[Typed]:
    """Yield `node` and all below it, parents first."""
    yield node
    match node:
        case Convert(argument):
            yield from parts(argument)
        case Closure(_, body):
            yield from parts(body)
        case Apply(_, arguments):
            for each in arguments:
                yield from parts(each)
        case Constant() | Read() | Variable():
            pass
