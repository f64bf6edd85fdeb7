"""What a store holds, as rows of the table's declared types, or refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from joinery.expression.python_value import MISFITS, reader, type_name
from joinery.lookups.protocol import Answer, Key, Row, Unfit
from joinery.model.type import Field


class RowReader:
    """Reads rows of a table, given by name or in order.

    Args:
        columns: Of the table.
    """

    def __init__(self, columns: Sequence[Field]) -> None:
        self._columns = [(each.name, each.type, reader(each.type)) for each in columns]
        self._names = [each.name for each in columns]
        self._reads = [read for _, _, read in self._columns]

    def named(self, values: Mapping[str, Any]) -> Row | Unfit:
        """Return a row from values by column; one that is not there is null."""
        return self.ordered([values.get(name) for name in self._names])

    def ordered(self, values: Sequence[Any]) -> Row | Unfit:
        """Return a row from values in the order of the columns."""
        pairs = zip(self._reads, values, strict=True)
        try:
            return tuple([None if value is None else read(value) for read, value in pairs])
        except MISFITS:
            return self._misfit(values)

    def _misfit(self, values: Sequence[Any]) -> Unfit:
        """Return what the first value is that is none of its column."""
        for (name, type, read), value in zip(self._columns, values, strict=True):
            try:
                _ = None if value is None else read(value)
            except MISFITS:
                return Unfit(
                    f'column "{name}" holds {type_name(value)}, which is not of type {type}'
                )
        raise ValueError("all values fit")


def answers_of(
    key: RowReader, row: RowReader, objects: Sequence[Mapping[str, Any]]
) -> dict[Key, Answer]:
    """Return rows by key from objects that hold both; one whose key is unreadable is left out."""
    answers: dict[Key, Answer] = {}
    for each in objects:
        found = key.named(each)
        if not isinstance(found, Unfit):
            answers[found] = row.named(each)
    return answers


def json_value(value: object) -> object:
    """Return a key's value as it stands in JSON and in the documents of sinks.

    Example:
        >>> json_value(datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC))
        '2026-02-03T04:05:06Z'
        >>> json_value(datetime(2026, 2, 3, 4, 5, 6))  # of timestamp_ntz
        '2026-02-03T04:05:06'
    """
    match value:
        case datetime(tzinfo=None):
            return value.isoformat()
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value
