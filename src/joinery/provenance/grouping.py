"""Which records a row of a product without a root can be made of: those of its group.

A **group** is what `by` shows of a row, or of `history` a row's own key. The key of what a product
shows begins with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from joinery.model.change import Change, Key, Row
from joinery.plan.history import HistoryForm
from joinery.plan.relation import Relation
from joinery.provenance.told import asked_text, names_texts, names_values
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.render import map_key_text
from joinery.semantics.rows import Findings, equal_value, guarded

if TYPE_CHECKING:
    from joinery.provenance.row_maker import RowForm

_DECODE = json.JSONDecoder(parse_float=Decimal).decode
SHOWN = 3
"""How many groups, or rows of one, are named when one is asked for that is not there."""


def identity_of(relation: Relation, change: Change) -> Any:
    """Return what identifies the row of a change: its key, or in a log its place."""
    if relation.append:
        return change.partition, change.place
    return tuple(change.key[column] for column in relation.key)


class Grouping:
    """The groups of one product.

    Args:
        form: Its form.

    Attributes:
        known: The first groups that were met, for those who name none.
        begins: Whether keys have more behind their group, such as the start of a window.
    """

    def __init__(self, form: RowForm) -> None:
        self._relation = form.relation
        self._columns: Sequence[str] = ()
        if isinstance(form, HistoryForm):
            self._columns = form.relation.key
            count = len(self._columns)
        else:
            self._by = [guarded(each.expression, Findings()) for each in form.by]
            count = len(self._by)
        fields = form.key.fields
        self._types = [each.type for each in fields[:count]]
        self.begins = len(fields) > count
        self.known: list[str] = []

    def of(self, row: Row) -> Key:
        """Return the group of a row."""
        if self._columns:
            return tuple(row[each] for each in self._columns)
        return tuple(equal_value(each(row)) for each in self._by)

    def identities(self, changes: Iterable[Change], text: str) -> set[Any]:
        """Return what identifies the rows that were ever in a group that a key's text names."""
        named: dict[Key, bool] = {}
        found = set[Any]()
        for identity, row in self._rows(changes):
            group = self.of(row)
            if group not in named:
                named[group] = self._is_named(text, group)
                if len(self.known) < SHOWN:
                    self.known.append(asked_text(group, self._types) if group else "[]")
            if named[group]:
                found.add(identity)
        return found

    def _rows(self, changes: Iterable[Change]) -> Iterator[tuple[Any, Row]]:
        """Yield the rows that records make, with what identifies each."""
        merge, standing = RowMerge(self._relation, Findings()), dict[Any, KeptRow]()
        for change in changes:
            identity = identity_of(self._relation, change)
            if self._columns:
                yield identity, change.key
            elif self._relation.append:
                if change.after is not None:
                    yield identity, merge.first(change)
            else:
                kept = standing.setdefault(identity, KeptRow())
                if merge.apply(kept, change) == "applied" and kept.row is not None:
                    yield identity, merge.derived(kept.row)

    def _is_named(self, text: str, group: Key) -> bool:
        """Return whether a text may be that of a key which begins with a group."""
        typed = list(zip(group, self._types, strict=True))
        parts = [map_key_text([value], [type_]) for value, type_ in typed]
        told = _array(text)
        if told is not None and names_values(told[: len(typed)], group, self._types):
            return True
        texts = text.split(",")
        if self.begins:
            if text.startswith("".join(f"{each}," for each in parts)):
                return True
            return len(texts) > len(typed) and names_texts(texts[: len(typed)], group, self._types)
        return text == ",".join(parts) or names_texts(texts, group, self._types)


def _array(text: str) -> list[Any] | None:
    """Return the values of a key that is written as an array; None for another text."""
    try:
        told = _DECODE(text)
    except ValueError:
        return None
    return told if isinstance(told, list) else None


def records(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield the changes of each record: two where it moves a row to another key."""
    frame: list[Change] = []
    for change in changes:
        if frame and (change.place is None or _place(change) != _place(frame[-1])):
            yield frame
            frame = []
        frame.append(change)
    if frame:
        yield frame


def _place(change: Change) -> tuple[object, ...]:
    return change.relation, change.partition, change.place
