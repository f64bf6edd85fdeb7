"""The relations of a program of streams, and the assemblers that it collects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from joinery.model.type import Field, Struct
from joinery.plan.nodes import Relation
from joinery.plan.stream import Lookup
from joinery.solutions.spark_state.embedding import closed_columns, sql_over
from joinery.solutions.spark_state.flow import Flow, needed_relations
from joinery.solutions.spark_state.program import (
    Address,
    Assembler,
    RelationProgram,
    Slot,
)


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation as the program reads it: decoded columns, the visible row, its view."""

    relation: Relation
    index: int
    columns: tuple[Slot, ...]
    row: tuple[Slot, ...]
    view: int

    def ordinals(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the places of columns in the row."""
        places = {slot.name: index for index, slot in enumerate(self.row)}
        return tuple(places[each] for each in names)

    def address(self, lookup: Lookup) -> Address:
        """Return the table's side of a lookup's join value."""
        return Address(
            self.ordinals([pair.child for pair in lookup.on]),
            tuple(pair.type for pair in lookup.on),
        )


class Relations:
    """Collects assemblers, first the views of all relations.

    Args:
        flows: All ways of events that the program has.
    """

    def __init__(self, flows: Sequence[Flow]) -> None:
        self.assemblers: list[Assembler] = []
        self.rows: dict[str, Rows] = {}
        for name, (relation, needed) in needed_relations(flows).items():
            self._add(name, relation, closed_columns(relation, needed))

    def assembler(self, assembler: Assembler) -> int:
        """Add an assembler and return its place."""
        self.assemblers.append(assembler)
        return len(self.assemblers) - 1

    def programs(self) -> tuple[RelationProgram, ...]:
        """Return the relations as the kernel reads them."""
        return tuple(
            RelationProgram(name, each.columns, each.ordinals(each.relation.key), each.view)
            for name, each in self.rows.items()
        )

    def _add(self, name: str, relation: Relation, needed: frozenset[str]) -> None:
        columns = tuple(
            Slot(each.name, each.type) for each in relation.columns if each.name in needed
        )
        derived = tuple(each for each in relation.derived if each.name in needed)
        row = columns + tuple(Slot(each.name, each.expression.type) for each in derived)
        slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
        view = self.assembler(
            Assembler(
                name=name,
                own=columns,
                inputs=(),
                steps=tuple(sql_over(each.expression, slots) for each in derived),
                where=sql_over(relation.where, slots) if relation.where else None,
                order=(),
                output=tuple(range(len(row))),
                type=struct_of(row),
            )
        )
        self.rows[name] = Rows(relation, len(self.rows), columns, row, view)


def struct_of(slots: Sequence[Slot]) -> Struct:
    """Return the type of a row."""
    return Struct(tuple(Field(slot.name, slot.type) for slot in slots))
