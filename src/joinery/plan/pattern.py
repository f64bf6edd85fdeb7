"""The plan of a product that finds patterns: one row a match, in the rows of a key in their order.

Which names its expressions may use:
    by, order     the relation's columns, derived too
    conditions    the same, and what they read of the match so far, and of the row before
    fields        the outputs of `by`, and what they read of the match
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from joinery.expression.match_read import MatchRead
from joinery.expression.typed import Expression
from joinery.model.type import Field, Struct
from joinery.plan.match_program import MatchProgram
from joinery.plan.nodes import Computed, OrderKey, Relation
from joinery.project.product import After
from joinery.project.window import AS_CHANGED, Emit

START = "start"
"""The output with the key of a match's first row, as an object."""


@dataclass(frozen=True, slots=True)
class Variable:
    """What a row must be to be taken.

    Attributes:
        condition: Over the relation's columns and `reads`; None is any row.
    """

    name: str
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class PatternForm:
    """Matches of a pattern in the rows of one relation that share their `by`.

    Attributes:
        by: Over the relation's columns; a null is a value of its own.
        order: How the rows of a key follow one another, before the relation's key; empty is
            by time.
        variables: In the order of the program's places.
        absent: The place of the variable that no later row may be, until `within` is over.
        written: The pattern as the user wrote it.
        within_us: How long after the first row the last may be.
        most_rows: How many rows a match spans at most; None without a bound.
        reads: What conditions and fields read of a match.
        fields: What a match shows, after `by` and `start`.
    """

    relation: Relation
    by: tuple[Computed, ...]
    order: tuple[OrderKey, ...]
    variables: tuple[Variable, ...]
    program: MatchProgram
    written: str
    absent: int | None = None
    within_us: int | None = None
    after: After = "past_last"
    most_rows: int | None = None
    reads: tuple[MatchRead, ...] = ()
    fields: tuple[Computed, ...] = ()
    emit: Emit = AS_CHANGED

    @property
    def start(self) -> Field:
        """The output with the first row's key."""
        relation = self.relation
        key = tuple(Field(name, relation.type_of(name)) for name in relation.key)
        return Field(START, Struct(key))

    @property
    def key(self) -> Struct:
        """The outputs of `by`, then `start`."""
        return Struct((*self._by, self.start))

    @property
    def output(self) -> Struct:
        """The outputs of `by`, `start`, then `fields`."""
        return Struct((*self._by, self.start, *(Field(e.name, e.type) for e in self.fields)))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relation."""
        return (self.relation,)

    @property
    def waits(self) -> bool:
        """Whether a match is sent only once the watermark is past all that it depends on."""
        return self.emit.when == "closed" or self.absent is not None

    @property
    def by_time(self) -> bool:
        """Whether rows follow one another by time alone, then by key."""
        return not self.order

    @property
    def follows_match(self) -> bool:
        """Whether a condition depends on what the match has taken before."""
        conditions = [each.condition for each in self.variables if each.condition is not None]
        names = frozenset(each.name for each in self.reads if each.follows_match)
        return any(not names.isdisjoint(each.references) for each in conditions)

    @property
    def looks_back(self) -> bool:
        """Whether a condition reads the row before."""
        return any(not each.follows_match for each in self.reads)

    @property
    def _by(self) -> tuple[Field, ...]:
        return tuple(Field(each.name, each.type) for each in self.by)

    def expressions(self) -> Iterator[Expression]:
        """Yield what is evaluated over rows of the relation, `fields` not included."""
        yield from (each.expression for each in self.by)
        yield from (each.expression for each in self.order)
        yield from (each.condition for each in self.variables if each.condition is not None)
        yield from (each.argument for each in self.reads if each.argument is not None)
