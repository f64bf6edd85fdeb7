"""Lowers what keeps the versions of rows: its node, and the assembler of a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from joinery.model.type import BOOLEAN, TIMESTAMP, Field, Struct
from joinery.plan.history import (
    IS_CURRENT,
    KNOWN_FROM,
    KNOWN_TO,
    VALID_FROM,
    VALID_TO,
    HistoryForm,
)
from joinery.plan.relation import Relation
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
            valid and the time until which it is; then those between which it was known.
        known: Over a row as products see it, the time at which a change became known; None where
            that is not kept.
    """

    name: str
    level: int
    relation: int
    valid_from: int
    told: tuple[int, ...]
    assembler: int
    product: int
    known: int | None = None
    kind: Literal["history"] = "history"


def history_node(
    name: str,
    form: HistoryForm,
    row: Sequence[Slot],
    columns: Sequence[Slot],
    *,
    relation: int,
    assembler: int,
    product: int,
) -> History:
    """Return the node that keeps the versions of rows; its level is still to be set.

    Args:
        name: The product.
        form: What the product is.
        row: The relation's columns as products see them.
        columns: The same as decoded.
        relation: The relation's place in the program.
        assembler: The place of what makes a version's document.
        product: The product's.
    """
    told = form.columns_of_deletes
    places = {slot.name: index for index, slot in enumerate(row)}
    return History(
        name=name,
        level=0,
        relation=relation,
        valid_from=places[form.valid],
        told=tuple(i for i, each in enumerate(columns) if each.name in told),
        assembler=assembler,
        product=product,
        known=None if form.known is None else places[form.known],
    )


def version_assembler(name: str, row: Sequence[Slot], form: HistoryForm) -> Assembler:
    """Return what makes a version's document of a row, with the times between which it is valid.

    Args:
        name: The product.
        row: The relation's columns as products see them.
        form: What the product is.
    """
    places = {slot.name: index for index, slot in enumerate(row)}
    ends = (
        [VALID_FROM, VALID_TO]
        if form.known is None
        else [VALID_FROM, VALID_TO, KNOWN_FROM, KNOWN_TO]
    )
    places |= {each.name: len(row) + place for place, each in enumerate(ends)}
    asked = [each for each in ends if each in (VALID_TO, KNOWN_TO)]
    current = Sql(
        " and ".join(f"{each.name} is null" for each in asked),
        tuple(ScopeName(each.name, places[each.name], TIMESTAMP) for each in asked),
        BOOLEAN,
    )
    places[IS_CURRENT.name] = len(row) + len(ends)
    return Assembler(
        name=name,
        own=tuple(row),
        inputs=tuple(Slot(each.name, each.type) for each in ends),
        steps=(current,),
        where=None,
        order=(),
        output=tuple(places[each.name] for each in form.output.fields),
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
