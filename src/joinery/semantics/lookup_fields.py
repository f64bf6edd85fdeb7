"""What a lookup adds to an event: its fields over a table's row, and which key it asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joinery.model.change import Row
from joinery.model.type import Field, Struct
from joinery.plan.stream import Lookup
from joinery.semantics.render import document_json
from joinery.semantics.rows import Findings, guarded, join_value, relation_scope

Key = tuple[Any, ...]


class LookupFields:
    """The fields of one lookup."""

    def __init__(self, lookup: Lookup, findings: Findings) -> None:
        scope = relation_scope(lookup.table)
        self._on = [pair.parent for pair in lookup.on]
        self._fields = [
            (each.name, guarded(each.expression, scope, findings)) for each in lookup.fields
        ]
        self._type = Struct(tuple(Field(e.name, e.expression.type) for e in lookup.fields))

    def key(self, event: Row) -> Key | None:
        """Return the table's key that an event asks for, None where a column is null."""
        return join_value(event, self._on)

    def of(self, row: Row | None) -> dict[str, Any]:
        """Return the fields over a table's row; all null where there is none."""
        if row is None:
            return {name: None for name, _ in self._fields}
        return {name: evaluate(row) for name, evaluate in self._fields}

    def text(self, fields: Mapping[str, Any]) -> str:
        """Return the text by which two results are equal."""
        return document_json(fields, self._type)
