"""A change as the line that a files source reads, in each format: the way back from decode.

Invariant: a column that the change leaves out is not in the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joinery.model.change import Change
from joinery.model.type import LONG, STRING, Field, Struct
from joinery.plan.nodes import Relation
from joinery.semantics.render import document_json


def change_line(change: Change, relation: Relation) -> str:
    """Return `change` in the relation's format, as one line without its end.

    Raises:
        ValueError: The format has no line form.

    Example:
        >>> from joinery.model.type import INT
        >>> t = Relation("t", "s", "t", "json", ("id",), (Field("id", INT), Field("a", STRING)))
        >>> change_line(Change("t", {"id": 1}, {"a": "x"}, 7), t)
        '{"id":1,"a":"x","__position":7}'
        >>> change_line(Change("t", {"id": 1}, None, tombstone=True), t)
        '{"key":{"id":1},"value":null}'
    """
    if relation.format not in ("json", "debezium-json"):
        raise ValueError(f'format "{relation.format}" has no line form')
    if change.tombstone:
        return f'{{"key":{_object(change.key, relation)},"value":null}}'
    if relation.format == "json":
        return _flat(change, relation)
    value = _envelope(change, relation)
    return f'{{"key":{_object(change.key, relation)},"value":{value}}}'


def _flat(change: Change, relation: Relation) -> str:
    deleted = ',"__deleted":true' if change.after is None else ""
    place = "" if change.position is None else f',"__position":{change.position}'
    row = {**(change.after or {}), **change.key}
    return f"{_object(row, relation)[:-1]}{deleted}{place}}}"


def _envelope(change: Change, relation: Relation) -> str:
    key, source = _object(change.key, relation), _source(change.position)
    if change.after is None:
        return f'{{"before":{key},"after":null,"source":{source},"op":"d"}}'
    row = {**change.after, **change.key}
    whole = all(column.name in row for column in relation.columns)
    after, op = _object(row, relation), "c" if whole else "u"
    return f'{{"before":null,"after":{after},"source":{source},"op":"{op}"}}'


def _source(position: int | None) -> str:
    type_ = Struct((Field("connector", STRING), Field("lsn", LONG)))
    if position is None:
        return '{"connector":"postgresql","snapshot":"incremental"}'
    return document_json({"connector": "postgresql", "lsn": position}, type_)


def _object(row: Mapping[str, Any], relation: Relation) -> str:
    """Return the told columns, in the relation's order."""
    told = tuple(column for column in relation.columns if column.name in row)
    return document_json(row, Struct(told))
