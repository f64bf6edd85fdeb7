"""The syntax tree of an expression, by Spark's own grammar.

Written by hand over Spark's grammar file, because SQLGlot reads `'a' || 1 + 2`,
`a = b < c` and `cast(x as int)` otherwise than Spark does, accepts `a b`, and forgets
where a call ends. `tests/spark` compares this reading with Spark's.

Limits: bit operators, intervals and functions with words between their arguments are
reported as outside the portable subset.

Invariant: `start` and `end` of a name, a member of one and a function's call delimit exactly
their text, so that it can be replaced in what the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from joinery.model.type import DataType


@dataclass(frozen=True, slots=True)
class Name:
    """A column, an embed or a lambda's parameter."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Any
    type: DataType
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Member:
    """`base.name`; `name_start` is where the name stands."""

    base: Syntax
    name: str
    name_start: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lambda:
    """`x -> body` or `(x, i) -> body`."""

    parameters: tuple[str, ...]
    body: Syntax
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Alias:
    """`argument as name`, an argument of `struct`."""

    argument: Syntax
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CastTo:
    """`cast(argument as type)`; `safe` gives null for a failure."""

    argument: Syntax
    type: DataType
    safe: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator, in lower case, under its arguments.

    Operators are named by their symbol or word; `[]` takes an item, `case` has pairs of
    condition and value, then the default where there is one.

    Attributes:
        spans: Where the arguments of a function, and the sides of `+`, `-` and `||`, begin and
            end, parentheses included; then its filter's condition.
        filter: The condition of `filter (where …)`.
        distinct: True for `f(distinct …)`.
    """

    function: str
    arguments: tuple[Syntax, ...]
    start: int
    end: int
    spans: tuple[tuple[int, int], ...] = ()
    filter: Syntax | None = field(default=None)
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Star:
    """`*` as an argument."""

    start: int
    end: int


Syntax = Name | Literal | Member | Lambda | Alias | CastTo | Call | Star


def children(node: Syntax) -> tuple[Syntax, ...]:
    """Return the parts of `node`, in text order."""
    match node:
        case Call():
            return (*node.arguments, node.filter) if node.filter is not None else node.arguments
        case Member():
            return (node.base,)
        case Lambda():
            return (node.body,)
        case Alias() | CastTo():
            return (node.argument,)
        case Name() | Literal() | Star():
            return ()


def walk(node: Syntax) -> Iterator[Syntax]:
    """Yield `node` and all below it, parents first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(children(each)))


def free_names(node: Syntax, bound: frozenset[str] = frozenset()) -> Iterator[Name]:
    """Yield the names in `node` that no lambda inside it binds."""
    if isinstance(node, Name) and node.name not in bound:
        yield node
    if isinstance(node, Lambda):
        bound = bound | frozenset(node.parameters)
    for child in children(node):
        yield from free_names(child, bound)
