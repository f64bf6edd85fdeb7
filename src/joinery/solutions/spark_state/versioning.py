"""Lowers what keeps the versions of rows: its node, and the assembler of a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from joinery.model.type import BOOLEAN, TIMESTAMP, Field, Struct
from joinery.plan.history import VALID_FROM, VALID_TO, HistoryForm
from joinery.plan.nodes import Relation
from joinery.solutions.spark_state.assembler import Assembler, ScopeName, Slot, Sql


@dataclass(frozen=True, slots=True)
class History:
    """Remembers the versions of a relation's rows; sends a row from each that shows another.

    Attributes:
        relation: Whose rows they are.
        valid_from: Over a row as products see it, the time from which it is valid.
        told: What a delete has to tell beside its key to end a version, over decoded columns;
            empty where no delete can.
        assembler: A version's document, over a row as products see it, the time from which it is
            valid and the time until which it is.
    """

    name: str
    level: int
    relation: int
    valid_from: int
    told: tuple[int, ...]
    assembler: int
    product: int
    kind: Literal["history"] = "history"


def version_assembler(name: str, row: Sequence[Slot], form: HistoryForm) -> Assembler:
    """Return what makes a version's document of a row, with the times between which it is valid.

    Args:
        name: The product.
        row: The relation's columns as products see them.
        form: What the product is.
    """
    places = {slot.name: index for index, slot in enumerate(row)}
    from_, until, current = (len(row) + each for each in range(3))
    ends = ScopeName(VALID_TO.name, until, TIMESTAMP)
    return Assembler(
        name=name,
        own=tuple(row),
        inputs=(Slot(VALID_FROM.name, TIMESTAMP), Slot(VALID_TO.name, TIMESTAMP)),
        steps=(Sql(f"{VALID_TO.name} is null", (ends,), BOOLEAN),),
        where=None,
        order=(),
        output=(
            *(places[each] for each in form.relation.key),
            from_,
            *(places[each] for each in form.track),
            until,
            current,
        ),
        type=form.output,
    )


def lasting_row(relation: Relation, row: Sequence[Slot]) -> Assembler:
    """Return what makes a version's row: the row as products see it, then until when it is valid.

    Args:
        relation: Whose versions they are.
        row: Its columns as products see them.
    """
    names = {slot.name for slot in row}
    name = VALID_TO.name
    while name in names:
        name = f"{name}_"
    until = Slot(name, TIMESTAMP)
    return Assembler(
        name=relation.name,
        own=tuple(row),
        inputs=(until,),
        steps=(),
        where=None,
        order=(),
        output=tuple(range(len(row) + 1)),
        type=Struct(tuple(Field(slot.name, slot.type) for slot in (*row, until))),
    )
