"""Personal columns in the reference: compared as they are, never shown, gone once erased.

The reference is in memory alone, so it seals nothing; it shows what a sink without `reveal` is
given, and keeps what a vault would: who was erased.

Invariant: a value of an erased subject is null, whenever its row comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from joinery.model.change import Change, Row
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct, is_personal
from joinery.plan.nodes import Personal, Relation


class Seals:
    """Who was erased.

    Args:
        relations: Those that are read.
    """

    def __init__(self, relations: Iterable[Relation]) -> None:
        self._personal = {each.name: each.personal for each in relations if each.personal}
        self._erased: set[tuple[str, object]] = set()

    def erase(self, relation: str, subject: object) -> None:
        """Erase a subject of a relation."""
        self._erased.add((relation, subject))

    def seen(self, change: Change) -> Change:
        """Return a change as it is decoded: with blind indexes, without what was erased."""
        personal = self._personal.get(change.relation)
        if personal is None or change.after is None:
            return change
        after = dict(change.after)
        subject = after.get(personal.subject, change.key.get(personal.subject))
        if (change.relation, subject) in self._erased:
            after |= {each: None for each in personal.fields if each in after}
        for field, index in personal.indexes:
            if field in after:
                after[index] = after[field]
        return replace(change, after=after)


def without(row: Row, personal: Personal) -> Row:
    """Return a row of an erased subject."""
    gone = (*personal.fields, *(index for _, index in personal.indexes))
    return {**row, **dict.fromkeys(gone)}


def hidden(value: Any, kind: DataType) -> Any:
    """Return a document as a sink is given it that does not reveal.

    Example:
        >>> from joinery.model.type import LONG, PERSONAL, Field, Struct
        >>> kind = Struct((Field("id", LONG), Field("email", PERSONAL)))
        >>> hidden({"id": 1, "email": "a@b.c"}, kind)
        {'id': 1, 'email': None}
    """
    if value is None or not is_personal(kind):
        return value
    match kind:
        case Struct(fields):
            return {each.name: hidden(value.get(each.name), each.type) for each in fields}
        case Array(element):
            return [hidden(each, element) for each in value]
        case Map(_, of):
            return {name: hidden(each, of) for name, each in value.items()}
        case Atomic() | Decimal():
            return None
