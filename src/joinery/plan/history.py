"""The plan of a product that keeps versions: one row a version of each of a relation's rows."""

from __future__ import annotations

from dataclasses import dataclass

from joinery.model.type import BOOLEAN, TIMESTAMP, Field, Struct
from joinery.plan.nodes import Relation

VALID_FROM = Field("valid_from", TIMESTAMP)
VALID_TO = Field("valid_to", TIMESTAMP)
IS_CURRENT = Field("is_current", BOOLEAN)
ADDED = (VALID_FROM, VALID_TO, IS_CURRENT)
"""What a version shows beside columns of the relation."""


@dataclass(frozen=True, slots=True)
class HistoryForm:
    """The versions of the rows of one relation: a slowly changing dimension of type 2.

    Attributes:
        valid: The column with the time from which a version is valid.
        track: The columns in which neighbouring versions differ; those that they show.
    """

    relation: Relation
    valid: str
    track: tuple[str, ...]

    @property
    def key(self) -> Struct:
        """The relation's key, then the time from which a version is valid."""
        return Struct((*self._fields(self.relation.key), VALID_FROM))

    @property
    def output(self) -> Struct:
        """The key, what is tracked, until when a version is valid, and whether it still is."""
        return Struct((*self.key.fields, *self.tracked.fields, VALID_TO, IS_CURRENT))

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
        return frozenset((*self.relation.key, self.valid, *self.track))

    @property
    def told_by_deletes(self) -> frozenset[str]:
        """What a delete has to tell beside its key to end a version; empty where none can."""
        return told_by_deletes(self.relation, self.valid)

    def _fields(self, names: tuple[str, ...]) -> tuple[Field, ...]:
        return tuple(Field(name, self.relation.type_of(name)) for name in names)


def told_by_deletes(relation: Relation, valid: str) -> frozenset[str]:
    """Return what a delete has to tell beside its key to end a version; nothing where none can.

    Args:
        relation: Whose rows have versions.
        valid: The column with the time from which a version is valid.
    """
    if relation.append or relation.product is not None:
        return frozenset()
    read = {valid}
    for derived in reversed(relation.derived):
        if derived.name in read:
            read |= derived.expression.references
    declared = {each.name for each in relation.columns}
    return frozenset(read & declared - set(relation.key))
