"""The plan of a product that finds patterns: one row per match, among a key's rows in order.

Which names its expressions may use:
    by, order     the relation's columns, derived too
    conditions    the same, the rules, and what they read of the match so far, and of the row before
    fields        the outputs of `by`, and what they read of the match
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from joinery.expression.match_read import MatchRead
from joinery.expression.typed import Expression
from joinery.model.type import DataType, Field, Struct
from joinery.plan.match_program import MatchProgram
from joinery.plan.null_key import nullable_groups
from joinery.plan.relation import Computed, JoinPair, OrderKey, Relation
from joinery.project.emit import AS_CHANGED, Emit
from joinery.project.form import After, PatternSpec

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
class Rule:
    """A relation of which each row of a pattern sees one row, or null.

    Attributes:
        name: Under which conditions see it, as an object.
        relation: Whose rows; its whole key is in `on`.
        on: Its columns, and those of the pattern's relation.
    """

    name: str
    relation: Relation
    on: tuple[JoinPair, ...]

    @property
    def type(self) -> Struct:
        """All columns of the relation, derived too."""
        return self.relation.row


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
        rules: What conditions see beside the row, as it stands now.
    """

    word: ClassVar[str] = PatternSpec.word
    does: ClassVar[str] = "finds patterns"
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
    rules: tuple[Rule, ...] = ()

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
    def nullable_key(self) -> frozenset[str]:
        """The outputs of `by` that may be null."""
        return nullable_groups(self.by, self.relation)

    @property
    def output(self) -> Struct:
        """The outputs of `by`, `start`, then `fields`."""
        return Struct((*self._by, self.start, *(Field(e.name, e.type) for e in self.fields)))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relation, and those of the rules."""
        return tuple(dict.fromkeys((self.relation, *(each.relation for each in self.rules))))

    @property
    def waits(self) -> bool:
        """Whether a match is sent only once the watermark is past all that it depends on."""
        return self.emit.when == "closed" or self.absent is not None

    @property
    def by_time(self) -> bool:
        """Whether rows follow one another by time alone, then by key."""
        return not self.order

    @property
    def searched_rows(self) -> int | None:
        """How many rows a search looks at, at most; None where others may alter a match."""
        passes = self.within_us is not None and not self.by_time
        return None if self.absent is not None or passes else self.most_rows

    @property
    def follow(self) -> frozenset[int]:
        """The places of the variables whose conditions depend on what the match has taken."""
        names = frozenset(each.name for each in self.reads if each.follows_match)
        return frozenset(
            place
            for place, each in enumerate(self.variables)
            if each.condition is not None and not names.isdisjoint(each.condition.references)
        )

    def is_of_row(self, variable: Variable) -> bool:
        """Return whether a row and its rules alone tell that it is a variable's."""
        names = {each.name for each in self.reads}
        return variable.condition is not None and names.isdisjoint(variable.condition.references)

    @property
    def computed(self) -> tuple[Expression, ...]:
        """What is computed of each row and its rules once, before matches are looked for."""
        conditions = (each.condition for each in self.variables if self.is_of_row(each))
        arguments = (each.argument for each in self.reads)
        found = (each for each in (*conditions, *arguments) if each is not None)
        return tuple(dict.fromkeys(found))

    @property
    def _by(self) -> tuple[Field, ...]:
        return tuple(Field(each.name, each.type) for each in self.by)

    @property
    def seen(self) -> dict[str, DataType]:
        """What conditions see of a row: its columns, and its rules."""
        columns = {each.name: each.type for each in self.relation.row.fields}
        return columns | {each.name: each.type for each in self.rules}

    def expressions(self) -> Iterator[Expression]:
        """Yield what is evaluated over rows and their rules, `fields` not included."""
        yield from (each.expression for each in self.by)
        yield from (each.expression for each in self.order)
        yield from (each.condition for each in self.variables if each.condition is not None)
        yield from (each.argument for each in self.reads if each.argument is not None)

    def invariants(self) -> Iterator[tuple[bool, str]]:
        """Yield each invariant in words, with whether it holds."""
        reads = {each.name for each in self.reads}
        columns = self.seen.keys() | reads
        yield all(e.references <= columns for e in self.expressions()), "rows have what is read"
        for each in self.rules:
            compared = {pair.child for pair in each.on}
            yield compared.issuperset(each.relation.key), "a row sees one row of a rule at most"
            yield each.relation.product is None, "a rule is read from a source"
        shown = {each.name for each in self.by} | reads
        fields = [each.expression for each in self.fields]
        yield all(each.references <= shown for each in fields), "a match has what is shown of it"
        yield self.within_us is None or self.relation.time is not None, "an end needs a time"
        waited = not self.waits or self.within_us is not None
        yield waited, "what is waited for has an end"
