"""Which of the columns that are decoded are personal, and what derives some of them before that.

Invariant: what is derived from personal columns is computed while they are clear, in the task that
decodes them, so that nothing behind it ever needs a key.
"""

from __future__ import annotations

from collections.abc import Sequence

from joinery.model.type import STRING, opened
from joinery.plan.relation import Personal, Relation
from joinery.solutions.spark_state.assembler import Assembler, Slot, struct_of
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.program import Sealed


def sealed_of(relation: Relation, names: Sequence[str]) -> Sealed | None:
    """Return which of the columns that are decoded are personal; None for a relation without."""
    personal = relation.personal
    if personal is None:
        return None
    fields = [each for each in personal.fields if each in names]
    indexes = [personal.index_of(each) for each in fields]
    keys = dict(personal.keys)
    known_by = tuple(_place(names, keys.get(each)) for each in fields)
    types = tuple(opened(relation.type_of(each)) for each in fields)
    derived = _derivation(relation, personal, names)
    return Sealed(
        names.index(personal.subject) if fields else -1,
        tuple(names.index(each) for each in fields),
        tuple(_place(names, each) for each in indexes),
        None if all(each == STRING for each in types) else types,
        known_by if any(each >= 0 for each in known_by) else None,
        derived,
        None if derived is None else tuple(_derived_from(personal, names, each) for each in fields),
    )


def _derivation(relation: Relation, personal: Personal, names: Sequence[str]) -> Assembler | None:
    """Return what gives the decoded columns with the derived ones, all in clear; None for none."""
    made = {each.name for each in personal.sealed_of(names)}
    if not made:
        return None
    own = tuple(Slot(each, opened(relation.type_of(each))) for each in names)
    needed = personal.inputs_of(made)
    steps = [each for each in personal.derived if each.name in needed]
    slots = {slot.name: (place, slot.type) for place, slot in enumerate(own)}
    slots |= {each.name: (len(own) + at, each.type) for at, each in enumerate(steps)}
    output = tuple(slots[each][0] if each in made else place for place, each in enumerate(names))
    return Assembler(
        name=relation.name,
        own=own,
        inputs=(),
        steps=tuple(sql_over(each.expression, slots) for each in steps),
        where=None,
        order=(),
        output=output,
        type=struct_of(own),
    )


def _derived_from(personal: Personal, names: Sequence[str], column: str) -> tuple[int, ...]:
    """Return the places of the decoded columns that a personal one is derived from, if any."""
    read = personal.inputs_of((column,)) - {each.name for each in personal.derived}
    return tuple(names.index(each) for each in sorted(read - {column}))


def _place(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else -1
