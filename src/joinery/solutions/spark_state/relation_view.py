"""What makes the row that a relation is read as, in documents and in streams alike."""

from __future__ import annotations

from collections.abc import Collection

from joinery.plan.relation import Relation
from joinery.solutions.spark_state.assembler import Assembler, Slot, struct_of
from joinery.solutions.spark_state.embedding import sql_over


def view_of(name: str, relation: Relation, needed: Collection[str]) -> Assembler:
    """Return what makes the row that a relation is read as: the needed columns, derived ones last.

    Args:
        name: What the relation is read as.
        relation: The relation.
        needed: The names of columns.
    """
    own = tuple(Slot(each.name, each.type) for each in relation.columns if each.name in needed)
    derived = tuple(each for each in relation.derived if each.name in needed)
    row = own + tuple(Slot(each.name, each.expression.type) for each in derived)
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
    return Assembler(
        name=name,
        own=own,
        inputs=(),
        steps=tuple(sql_over(each.expression, slots) for each in derived),
        where=sql_over(relation.where, slots) if relation.where else None,
        order=(),
        output=tuple(range(len(row))),
        type=struct_of(row),
    )
