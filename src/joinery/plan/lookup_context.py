"""What building one lookup has at hand: its spec, its table, the events it is given."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from joinery.expression.context import Context
from joinery.model.type import DataType, Field
from joinery.plan.nodes import Relation
from joinery.project.location import Path
from joinery.project.stream import LookupSpec

Row = dict[str, DataType]


@dataclass(frozen=True, slots=True)
class Events:
    """The events that a lookup is given.

    Attributes:
        stream: The stream's name.
        relation: Where they come from.
        columns: What they have.
        lost: Columns whose own problem is noted.
    """

    stream: str
    relation: Relation
    columns: tuple[Field, ...]
    lost: Collection[str] = ()

    @property
    def row(self) -> Row:
        """The types of their columns."""
        return {each.name: each.type for each in self.columns}


@dataclass(frozen=True, slots=True)
class LookupContext:
    """One lookup under construction, whose table is there.

    Attributes:
        context: Takes the problems.
        path: Where it is declared.
        lost: Columns of the table whose own problem is noted.
    """

    context: Context
    spec: LookupSpec
    path: Path
    events: Events
    table: Relation
    lost: Collection[str] = ()

    @property
    def what(self) -> str:
        """The lookup, for messages."""
        return f'the lookup of "{self.table.name}"'

    @property
    def row(self) -> Row:
        """The types of the table's columns."""
        return {each.name: each.type for each in self.table.row.fields}

    def refuse(self, code: str, message: str, word: str, *, detail: str = "", hint: str) -> None:
        """Note a problem of the switch `word`."""
        self.context.refuse(code, message, (*self.path, word), detail=detail, hint=hint)
