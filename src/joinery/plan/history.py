"""The plan of a product that keeps versions: one row per version of each of a relation's rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from joinery.model.type import BOOLEAN, TIMESTAMP, Field, Struct
from joinery.plan.relation import Relation
from joinery.project.form import HistorySpec

VALID_FROM = Field("valid_from", TIMESTAMP)
VALID_TO = Field("valid_to", TIMESTAMP)
IS_CURRENT = Field("is_current", BOOLEAN)
KNOWN_FROM = Field("known_from", TIMESTAMP)
KNOWN_TO = Field("known_to", TIMESTAMP)
ADDED = (VALID_FROM, VALID_TO, IS_CURRENT)
"""What a version shows beside columns of the relation."""


@dataclass(frozen=True, slots=True)
class HistoryForm:
    """The versions of the rows of one relation: a slowly changing dimension of type 2.

    Attributes:
        valid: The column with the time from which a version is valid.
        track: The columns in which neighbouring versions differ; those that they show.
        known: The column with the time at which a change became known; None where that is not kept.
    """

    word: ClassVar[str] = HistorySpec.word
    does: ClassVar[str] = "keeps versions"
    relation: Relation
    valid: str
    track: tuple[str, ...]
    known: str | None = None

    @property
    def key(self) -> Struct:
        """The relation's key, then the times from which a version is valid and known."""
        return Struct((*self._fields(self.relation.key), VALID_FROM, *self._if_known(KNOWN_FROM)))

    @property
    def nullable_key(self) -> frozenset[str]:
        """Those of the relation."""
        return self.relation.nullable_key

    @property
    def added(self) -> tuple[Field, ...]:
        """What a version shows beside columns of the relation."""
        return (*ADDED, *self._if_known(KNOWN_FROM, KNOWN_TO))

    def _if_known(self, *fields: Field) -> tuple[Field, ...]:
        return () if self.known is None else fields

    @property
    def output(self) -> Struct:
        """The key, what is tracked, until when a version is valid, and whether it still is."""
        ends = (VALID_TO, *self._if_known(KNOWN_TO), IS_CURRENT)
        return Struct((*self.key.fields, *self.tracked.fields, *ends))

    @property
    def tracked(self) -> Struct:
        """The columns in which neighbouring versions differ."""
        return Struct(self._fields(self.track))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relation."""
        return (self.relation,)

    @property
    def used(self) -> frozenset[str]:
        """The columns of the relation that versions are made of."""
        known = () if self.known is None else (self.known,)
        return frozenset((*self.relation.key, self.valid, *self.track, *known))

    @property
    def columns_of_deletes(self) -> frozenset[str]:
        """What a delete has to tell beside its key to end a version; empty where none can."""
        return columns_of_deletes(self.relation, self.valid, self.known)

    def _fields(self, names: tuple[str, ...]) -> tuple[Field, ...]:
        return tuple(Field(name, self.relation.type_of(name)) for name in names)

    def invariants(self) -> Iterator[tuple[bool, str]]:
        """Yield each invariant in words, with whether it holds."""
        columns = {each.name: each.type for each in self.relation.row.fields}
        yield self.used <= columns.keys(), "a version has what it shows"
        yield columns[self.valid] == TIMESTAMP, "a version is valid from a time"


def columns_of_deletes(relation: Relation, valid: str, known: str | None = None) -> frozenset[str]:
    """Return what a delete has to tell beside its key to end a version; nothing where none can.

    Args:
        relation: Whose rows have versions.
        valid: The column with the time from which a version is valid.
        known: The column with the time at which a change became known, where one tells it.
    """
    if relation.append or relation.product is not None:
        return frozenset()
    read = {valid} if known is None else {valid, known}
    for derived in reversed(relation.derived):
        if derived.name in read:
            read |= derived.expression.references
    declared = {each.name for each in relation.columns}
    return frozenset(read & declared - set(relation.key))
