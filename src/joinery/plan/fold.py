"""The plan of a product that folds: the state that the events of a log make, key by key.

Which names its expressions may use:
    by              the relation's columns, derived too
    initial values  none
    when            the columns of the state, as they are before the event; and the event, an
                    object `event` with the relation's columns, derived too
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from joinery.expression.coercion import numeric
from joinery.expression.literal import VOID
from joinery.expression.typed import Convert, Expression
from joinery.model.type import DATE, DOUBLE, TIMESTAMP, Array, DataType, Decimal, Field, Struct
from joinery.plan.null_key import nullable_groups
from joinery.plan.relation import LOG_TIME, Computed, Relation
from joinery.project.form import FoldSpec, FoldWait, WaitTime

EVENT = "event"
"""The name under which expressions read the event."""


@dataclass(frozen=True, slots=True)
class StateColumn:
    """One column of a state.

    Attributes:
        initial: Its value before the first event, over no names; None for null.
    """

    name: str
    type: DataType
    initial: Expression | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """What an event of one kind makes of the state; a column that it does not name stays.

    Attributes:
        kind: What the column of kinds says.
        assigned: Columns of the state, each with its value, all over the state before.
    """

    kind: str
    assigned: tuple[Computed, ...]


@dataclass(frozen=True, slots=True)
class FoldForm:
    """The states that the events of one log make, in the order of their numbers.

    Attributes:
        by: Over the relation's columns; a null is a value of its own.
        sequence: The column with an event's number, which counts from 1 in each key.
        kind: The column that says what has happened.
        wait: How long events behind a gap wait for the numbers that are missing; a time by the
            relation's watermark where it has one, else by the clock.
    """

    word: ClassVar[str] = FoldSpec.word
    does: ClassVar[str] = "folds events"
    relation: Relation
    by: tuple[Computed, ...]
    sequence: str
    kind: str
    state: tuple[StateColumn, ...]
    when: tuple[Transition, ...]
    wait: FoldWait

    @property
    def key(self) -> Struct:
        """The outputs of `by`."""
        return Struct(tuple(Field(each.name, each.type) for each in self.by))

    @property
    def nullable_key(self) -> frozenset[str]:
        """The outputs of `by` that may be null."""
        return nullable_groups(self.by, self.relation)

    @property
    def output(self) -> Struct:
        """The outputs of `by`, then the state."""
        return Struct((*self.key.fields, *self.states.fields))

    @property
    def states(self) -> Struct:
        """The columns of the state."""
        return Struct(tuple(Field(each.name, each.type) for each in self.state))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relation."""
        return (self.relation,)

    @property
    def scope(self) -> dict[str, DataType]:
        """What `when` may name."""
        return {each.name: each.type for each in self.state} | {EVENT: self.relation.row}

    @property
    def compared(self) -> Struct:
        """The columns in which two events of one number differ, if they do.

        When its log took an event is none of them: one that is told twice has two such times.
        """
        relation = self.relation
        apart = {*relation.key, *([LOG_TIME] if relation.logged else [])}
        return Struct(tuple(each for each in relation.columns if each.name not in apart))

    @property
    def waits_by_watermark(self) -> bool:
        """Whether the relation's watermark tells how long events have waited."""
        return self._waits_for_time and self.relation.time is not None

    @property
    def waits_by_clock(self) -> bool:
        """Whether the clock tells it."""
        return self._waits_for_time and self.relation.time is None

    @property
    def _waits_for_time(self) -> bool:
        return isinstance(self.wait, WaitTime) and self.wait.us > 0

    def expressions(self) -> Iterator[Expression]:
        """Yield what is evaluated over rows of the relation, `when` not included."""
        yield from (each.expression for each in self.by)

    def invariants(self) -> Iterator[tuple[bool, str]]:
        """Yield each invariant in words, with whether it holds."""
        columns = {each.name for each in self.relation.row.fields}
        yield self.relation.append, "events never change"
        yield {self.sequence, self.kind} <= columns, "events have a number and a kind"
        yield all(e.references <= columns for e in self.expressions()), "rows have what is read"
        types = {each.name: each.type for each in self.state}
        assigned = [each for one in self.when for each in one.assigned]
        kept = all(types.get(each.name) == each.type for each in assigned)
        yield kept, "a state keeps its types"
        scope = self.scope.keys()
        read = all(each.expression.references <= scope for each in assigned)
        yield read, "events are folded by the state and the event"


def assignable(source: DataType, target: DataType) -> bool:
    """Return whether a value may become one of a state's column without being cast by the user.

    A number may where only its size can be too large, and a decimal is rounded; so may `array()`,
    whose type says nothing of its items.

    Example:
        >>> from joinery.model.type import INT, LONG
        >>> assignable(INT, Decimal(18, 2)), assignable(LONG, INT)
        (True, False)
    """
    if source in (target, VOID) or (source, target) == (DATE, TIMESTAMP):
        return True
    if source == Array(VOID) and isinstance(target, Array):
        return True
    if not (numeric(source) and numeric(target)):
        return False
    whole = ("byte", "short", "int", "long")
    if str(source) in whole:
        widens = str(target) in whole and whole.index(str(source)) <= whole.index(str(target))
        return widens or target == DOUBLE or isinstance(target, Decimal)
    if isinstance(source, Decimal):
        return target == DOUBLE or isinstance(target, Decimal)
    return target == DOUBLE


def assigned(expression: Expression, target: DataType) -> Expression:
    """Return an expression as the value of a column of a state."""
    if expression.type == target:
        return expression
    typed = None if expression.typed is None else Convert(expression.typed, target)
    sql = f"cast({expression.sql} as {target})"
    return Expression(sql, target, expression.references, typed)
