"""The nodes of a document's tree: its root, and what is embedded.

A node shows rows of one relation: `fields` first, then its visible embeds (each followed
by its `<name>_total` and its `<name>_hot` where it has them), then `values`.

Which names its expressions may use, a node tells itself:
    fields        `fields_scope`: the relation's columns, derived too, hidden by `one` embeds
    values        `values_scope`: the node's fields, embeds with totals and hot ones, aggregates,
                  values above it
    where, order  `rank_scope`: the scope of `fields`, hidden by the node's own values
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import LONG, STRING, Array, DataType, Field, Map, Struct
from joinery.plan.relation import Computed, JoinPair, OrderKey, Relation
from joinery.project.window import Within


@dataclass(frozen=True, slots=True)
class Through:
    """A relation whose rows lead from a parent to its children.

    Attributes:
        on: Its columns, as `child`, and the parent's.
        hot_above: Children that more of its rows name are left out; None sets no bound.
    """

    relation: Relation
    on: tuple[JoinPair, ...]
    hot_above: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A root or an embed.

    Attributes:
        name: The embed's name; at the root, the product's.
        path: The stable address of the node: `user_profile/starred_repos/r`.
        on: Empty at the root. With `through`, a column of that relation is the `parent` of a pair.
        aggregates: Those that `values` of this node read.
        keyed: True for an `as: map` embed: a map from the child's key text to its object.
        within: How far a row's time may be from that of the row above; None for any.
        as_of: The column of the row above with the time whose version is embedded; None for the
            row as it is.
    """

    name: str
    path: str
    cardinality: Literal["root", "one", "many"]
    relation: Relation
    on: tuple[JoinPair, ...] = ()
    fields: tuple[Computed, ...] = ()
    embeds: tuple[Node, ...] = ()
    values: tuple[Computed, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    where: Expression | None = None
    order: tuple[OrderKey, ...] = ()
    limit: int | None = None
    overflow: Literal["count", "fail"] = "count"
    hidden: bool = False
    keyed: bool = False
    within: Within | None = None
    through: Through | None = None
    as_of: str | None = None

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations that it reads itself."""
        return (self.relation,) if self.through is None else (self.relation, self.through.relation)

    @property
    def parent_on(self) -> tuple[JoinPair, ...]:
        """The pairs that compare columns of the parent."""
        return self.on if self.through is None else self.through.on

    @property
    def hot_name(self) -> str | None:
        """The name of the list of those whose children are left out, where it has one."""
        bounded = self.through is not None and self.through.hot_above is not None
        return f"{self.name}_hot" if bounded else None

    @property
    def total_name(self) -> str | None:
        """The name of this embed's total in its parent, where it has one."""
        return f"{self.name}_total" if self.limit is not None and self.overflow == "count" else None

    @property
    def output(self) -> Struct:
        """The type of one object."""
        return Struct(tuple(Field(name, each.type) for name, each in self.shown))

    @property
    def shown(self) -> tuple[tuple[str, Named], ...]:
        """What an object has, in order: fields, embeds with their totals, values."""
        shown: list[tuple[str, Named]] = [(each.name, each) for each in self.fields]
        for embed in self.embeds:
            if not embed.hidden:
                shown.append((embed.name, embed))
                if embed.total_name:
                    shown.append((embed.total_name, Total(embed)))
                if embed.hot_name:
                    shown.append((embed.hot_name, Hot(embed)))
        return (*shown, *((each.name, each) for each in self.values))

    @property
    def fields_scope(self) -> dict[str, Named]:
        """What `fields` may name."""
        columns: dict[str, Named] = {each.name: each for each in self.relation.row.fields}
        return columns | {each.name: each for each in self.embeds if each.cardinality == "one"}

    @property
    def rank_scope(self) -> dict[str, Named]:
        """What `where` and `order` may name."""
        return self.fields_scope | {each.name: each for each in self.values}

    def values_scope(self, before: int | None = None) -> dict[str, Named]:
        """Return what `values` may name.

        Args:
            before: The place of the value that asks: it sees those above it. None for all.
        """
        scope: dict[str, Named] = {each.name: each for each in self.fields}
        scope |= {each.name: each for each in self.embeds}
        scope |= {each.total_name: Total(each) for each in self.embeds if each.total_name}
        scope |= {each.hot_name: Hot(each) for each in self.embeds if each.hot_name}
        scope |= {each.name: each for each in self.aggregates}
        return scope | {each.name: each for each in self.values[:before]}

    @property
    def type(self) -> DataType:
        """The type under which the parent sees this embed."""
        match self.cardinality:
            case "many":
                return Map(STRING, self.output) if self.keyed else Array(self.output)
            case "one" | "root":
                return self.output

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first."""
        yield self
        for embed in self.embeds:
            yield from embed.walk()


@dataclass(frozen=True, slots=True)
class Total:
    """How many rows a `many` embed has before its limit."""

    embed: Node

    @property
    def type(self) -> DataType:
        """The type of a count."""
        return LONG


@dataclass(frozen=True, slots=True)
class Hot:
    """The join values whose children an embed through a relation leaves out, in order."""

    embed: Node

    @property
    def type(self) -> DataType:
        """The type of a list of values, or of objects where several columns are compared."""
        pairs = self.embed.on
        if len(pairs) == 1:
            return Array(pairs[0].type)
        return Array(Struct(tuple(Field(pair.child, pair.type) for pair in pairs)))


Named = Field | Computed | Node | Total | Hot | Aggregate
"""What a name of a node's scope stands for."""


def types_of(scope: Mapping[str, Named]) -> dict[str, DataType]:
    """Return the types of the names of a scope."""
    return {name: each.type for name, each in scope.items()}
