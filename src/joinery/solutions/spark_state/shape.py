"""Shapes an event by the steps between two lookups: one assembler for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from joinery.model.type import BOOLEAN, DataType, Field, Struct
from joinery.plan.nodes import Computed
from joinery.plan.stream import Filter, Select, Step, WithColumns
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.program import Assembler, ScopeName, Slot, Sql

Scope = dict[str, tuple[int, DataType]]


class Shape:
    """Collects what an assembler computes, step by step.

    Args:
        name: The assembler's, below its stream.
        own: The columns that an event comes with.
        inputs: What the lookup before adds; it hides a column of the same name.
        mark: A last input that no step sees.
    """

    def __init__(
        self,
        name: str,
        own: Sequence[Slot],
        inputs: Sequence[Slot],
        mark: Slot | None = None,
    ) -> None:
        self._name = name
        self._own = tuple(own)
        self._mark = mark
        self._inputs = (*inputs, *(() if mark is None else (mark,)))
        self._computed: list[Sql] = []
        self._filters: list[Sql] = []
        self._scope: Scope = {
            slot.name: (index, slot.type) for index, slot in enumerate((*own, *inputs))
        }

    @property
    def columns(self) -> Mapping[str, tuple[int, DataType]]:
        """The columns after the steps so far."""
        return self._scope

    def take(self, steps: Sequence[Step]) -> None:
        """Add steps, none of which is a lookup."""
        for step in steps:
            match step:
                case Filter(where):
                    self._filters.append(sql_over(where, self._scope))
                case Select(fields):
                    self._scope = self._fields(fields)
                case WithColumns(fields):
                    self._scope = self._scope | self._fields(fields)
                case _:
                    raise AssertionError(step)

    def _fields(self, fields: Sequence[Computed]) -> Scope:
        """Return where the values of `fields` are, over the columns before the step."""
        return {each.name: self._place(each) for each in fields}

    def _place(self, field: Computed) -> tuple[int, DataType]:
        known = self._scope.get(field.expression.sql)
        if known is not None and known[1] == field.expression.type:
            return known
        return self._step(sql_over(field.expression, self._scope))

    def _step(self, sql: Sql) -> tuple[int, DataType]:
        self._computed.append(sql)
        return len(self._own) + len(self._inputs) + len(self._computed) - 1, sql.type

    def assembler(self, columns: Sequence[str]) -> Assembler:
        """Return the assembler that gives `columns`, then the mark where there is one."""
        where = self._where()
        shown = [self._scope[each] for each in columns]
        fields = [Field(name, kind) for name, (_, kind) in zip(columns, shown, strict=True)]
        output = [slot for slot, _ in shown]
        if self._mark is not None:
            fields.append(Field(self._mark.name, self._mark.type))
            output.append(len(self._own) + len(self._inputs) - 1)
        return Assembler(
            name=self._name,
            own=self._own,
            inputs=self._inputs,
            steps=tuple(self._computed),
            where=where,
            order=(),
            output=tuple(output),
            type=Struct(tuple(fields)),
        )

    def _where(self) -> Sql | None:
        if len(self._filters) < 2:
            return self._filters[0] if self._filters else None
        names = tuple(
            ScopeName(f"__filter_{number}", *self._step(each))
            for number, each in enumerate(self._filters)
        )
        return Sql(" and ".join(each.name for each in names), names, BOOLEAN)
