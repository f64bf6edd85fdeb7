"""What steps of a stream have in common: their columns, what they read, how they are told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Literal, Self

from joinery.expression.typed import Expression, column_expression
from joinery.model.type import Field
from joinery.plan.relation import Computed

Columns = tuple[Field, ...]
Names = frozenset[str]
Invariants = Iterator[tuple[bool, str]]
"""Whether each holds, and what it is."""
SENT_AGAIN = "An event that it sends later, or again, would query the store again."
LEAVES_OUT = "A filter between them decides which events may become dead letters."
Stage = Literal["event", "state", "store"]
Miss = Literal["null", "drop", "dead_letter", "wait"]


class BaseStep:
    """What all steps have in common."""

    __slots__ = ()

    def showing(self, columns: Columns) -> Self:
        """Return the step where `columns` come before it: they are there after it, too."""
        return self


class KeepingStep(BaseStep):
    """A step after which an event has the columns that it had."""

    __slots__ = ()

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns as they are."""
        return columns

    @property
    def made(self) -> Names:
        """No column."""
        return frozenset()


class AddingStep(BaseStep, ABC):
    """A step that adds columns, or replaces those of the same name in their place."""

    __slots__ = ()

    @property
    @abstractmethod
    def added(self) -> tuple[Computed, ...]:
        """Its columns."""

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns with its own, in the places of those that they replace."""
        return replaced(columns, fields_of(self.added))

    @property
    def made(self) -> Names:
        """Its columns, which may have another value after the step than before."""
        return names_of(self.added)


class EventStep(BaseStep):
    """A step that takes each event alone, and may come after a store is queried."""

    __slots__ = ()

    @property
    def told(self) -> str:
        """The step, in messages."""
        return "a step"

    @property
    def by_batch(self) -> str:
        """What it does that needs whole batches: nothing."""
        return ""

    @property
    def pinned(self) -> str:
        """Why it cannot go before a step that queries a store: nothing but its columns."""
        return ""


def reads_there(expressions: Iterable[Expression], columns: Columns) -> Invariants:
    """Yield that each expression reads columns that are there."""
    known = {each.name for each in columns}
    for each in expressions:
        missing = sorted(each.references - known)
        yield not missing, f"what it reads is known, and {missing} is not"


def kept(columns: Iterable[Field]) -> tuple[Computed, ...]:
    """Return columns under their own names."""
    return tuple(Computed(e.name, column_expression(e.name, e.type)) for e in columns)


def fields_of(computed: Iterable[Computed]) -> tuple[Field, ...]:
    """Return the columns that expressions become."""
    return tuple(Field(each.name, each.expression.type) for each in computed)


def names_of(computed: Iterable[Computed]) -> Names:
    """Return the names that expressions become."""
    return frozenset(each.name for each in computed)


def read_by(computed: Iterable[Computed], needed: Names) -> Names:
    """Return what those of the expressions read that are needed."""
    read = (each.expression.references for each in computed if each.name in needed)
    return frozenset[str]().union(*read)


def replaced(columns: tuple[Field, ...], more: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return `columns` with those of `more` in the places of their names, new ones last.

    Example:
        >>> from joinery.model.type import INT, LONG
        >>> made = replaced((Field("a", INT), Field("b", INT)), (Field("c", INT), Field("a", LONG)))
        >>> [(each.name, str(each.type)) for each in made]
        [('a', 'long'), ('b', 'int'), ('c', 'int')]
    """
    types = {each.name: each for each in columns} | {each.name: each for each in more}
    return tuple(types.values())
