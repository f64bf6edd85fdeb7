"""The typed tree of a portable expression: names resolved, every conversion written out.

Invariant: evaluating it needs no further type rules; the arguments of an `Apply` have
exactly the types that its function works on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from joinery.model.type import DataType, quoted


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


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression.

    Attributes:
        sql: The user's own text in Spark SQL (never re-rendered), in which each call of
            an aggregate over an embed is replaced by the name of its `Aggregate`.
        type: The type of its result.
        references: The names of its scope that it reads (top-level names only).
        typed: What all back ends walk; None outside the portable subset. It follows from the
            text and the scope, so it takes no part in comparisons.
    """

    sql: str
    type: DataType
    references: frozenset[str]
    typed: Typed | None = field(default=None, compare=False, repr=False)

    def __deepcopy__(self, memo: object) -> Expression:
        """Return this very value: nothing changes it."""
        return self

    @property
    def portable(self) -> bool:
        """Whether every solution and the test driver can evaluate it."""
        return self.typed is not None


def column_expression(name: str, kind: DataType) -> Expression:
    """Return the expression that reads the column `name`.

    Example:
        >>> from joinery.model.type import INT
        >>> column_expression("a b", INT).sql
        '`a b`'
    """
    return Expression(quoted(name), kind, frozenset({name}), Read(name, kind))


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value kept over the rows of a group, or of a `many` embed.

    Of an embed they count after its `where` and before its `limit`.

    Attributes:
        name: The placeholder under which `values` read it (`__agg_0` …).
        embed: The embed's name; empty over the rows of a group.
        function: A name of `EMBED_AGGREGATES`, over a group of `GROUP_AGGREGATES` too.
        argument: Over the embed's output names, or the relation's columns; None counts rows.
        filter: Over the same; None keeps all.
        type: The type of the result.
        distinct: True where equal values count once.
        numbers: What follows the argument, defaults included.
        goes: Whether rows of its group may go.
    """

    name: str
    embed: str
    function: str
    argument: Expression | None
    filter: Expression | None
    type: DataType
    distinct: bool = False
    numbers: tuple[float, ...] = ()
    goes: bool = False
