"""The plan of a product that aggregates: one row per group, or a group and a window.

Which names its expressions may use:
    by, where     the relation's columns, derived too
    values        `values_scope`: the outputs of `by`, the window's bounds, values above; inside
                  an aggregate the relation's columns
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from joinery.expression.group_aggregate import WINDOW_SECONDS as SECONDS_NAME
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import BOOLEAN, DOUBLE, TIMESTAMP, DataType, Field, Struct
from joinery.plan.null_key import nullable_groups
from joinery.plan.relation import Computed, Relation
from joinery.project.emit import AS_CHANGED, Emit
from joinery.project.form import AggregateSpec
from joinery.project.kinds import FORMATS
from joinery.project.window import Cumulative, Hopping, Session, Sliding, Tumbling, Window

WINDOW_START = Field("window_start", TIMESTAMP)
WINDOW_END = Field("window_end", TIMESTAMP)
WINDOW_SECONDS = Field(SECONDS_NAME, DOUBLE)
"""How long a group's window is: what `rate` divides by, never in the output."""
FINAL = Field("final", BOOLEAN)


@dataclass(frozen=True, slots=True)
class AggregateForm:
    """Groups of the rows of one relation, by `by` and by window.

    Attributes:
        by: Over the relation's columns; a null is a group of its own.
        where: Rows for which it is not true are in no group.
        aggregates: Those that `values` read, over the relation's columns.
        values: What a group shows, after `by` and the window's bounds.
    """

    word: ClassVar[str] = AggregateSpec.word
    does: ClassVar[str] = "keeps groups"
    relation: Relation
    by: tuple[Computed, ...] = ()
    where: Expression | None = None
    window: Window | None = None
    aggregates: tuple[Aggregate, ...] = ()
    values: tuple[Computed, ...] = ()
    emit: Emit = AS_CHANGED

    @property
    def key(self) -> Struct:
        """The outputs of `by`, and what of the window's bounds identifies it."""
        return Struct((*self._by, *_identity(self.window)))

    @property
    def nullable_key(self) -> frozenset[str]:
        """The outputs of `by` that may be null; bounds never are."""
        return nullable_groups(self.by, self.relation)

    @property
    def output(self) -> Struct:
        """The outputs of `by`, the window's bounds, `values`, and `final` where it is closed."""
        values = tuple(Field(each.name, each.type) for each in self.values)
        final = (FINAL,) if self.emit.when == "closed" else ()
        return Struct((*self._by, *self.bounds, *values, *final))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relation."""
        return (self.relation,)

    @property
    def waits(self) -> bool:
        """Whether a group is sent only once its window is closed."""
        return self.emit.when == "closed"

    @property
    def keeps_windows(self) -> bool:
        """Whether windows stay, whatever their retention: any row may still come to them.

        That is so of rows of a product, and of a snapshot, which change events may tell.
        """
        if self.window is None or isinstance(self.window, Sliding):
            return False
        return self.relation.product is not None or FORMATS[self.relation.format].events

    @property
    def bounds(self) -> tuple[Field, ...]:
        """The bounds that a group shows."""
        return window_bounds(self.window)

    @property
    def _by(self) -> tuple[Field, ...]:
        return tuple(Field(each.name, each.type) for each in self.by)

    def values_scope(self, before: int | None = None) -> dict[str, DataType]:
        """Return the types of what `values` may name, their aggregates included.

        Args:
            before: The place of the value that asks: it sees those above it. None for all.
        """
        scope = group_scope(self.by, self.window)
        scope |= {each.name: each.type for each in self.aggregates}
        return scope | {each.name: each.type for each in self.values[:before]}

    def invariants(self) -> Iterator[tuple[bool, str]]:
        """Yield each invariant in words, with whether it holds."""
        columns = {each.name for each in self.relation.row.fields}
        outer = [each.expression for each in self.by] + ([self.where] if self.where else [])
        inner = [each for one in self.aggregates for each in (one.argument, one.filter) if each]
        yield all(each.references <= columns for each in outer + inner), "rows have what is read"
        for place, value in enumerate(self.values):
            known = self.values_scope(before=place).keys()
            yield value.expression.references <= known, "a group has what its values read"
        yield self.window is None or self.relation.time is not None, "a window needs a time"


def window_bounds(window: Window | None) -> tuple[Field, ...]:
    """Return the bounds that a group of `window` shows."""
    return () if window is None or isinstance(window, Sliding) else (WINDOW_START, WINDOW_END)


def group_scope(by: tuple[Computed, ...], window: Window | None) -> dict[str, DataType]:
    """Return the types of what tells a group: the outputs of `by`, and its window."""
    scope = {each.name: each.type for each in by}
    scope |= {each.name: each.type for each in window_bounds(window)}
    return scope if window is None else scope | {WINDOW_SECONDS.name: WINDOW_SECONDS.type}


def _identity(window: Window | None) -> tuple[Field, ...]:
    """Return what of a window's bounds is in the key."""
    match window:
        case None | Sliding():
            return ()
        case Tumbling() | Hopping() | Session():
            return (WINDOW_START,)
        case Cumulative():
            return (WINDOW_START, WINDOW_END)
