"""Personal columns in the reference: compared as they are, never shown, gone once erased.

The reference is in memory alone, so it needs no keys: a sealed value is a text that begins with its
subject, and rows are known by a personal key itself. It shows what a sink without `reveal` is
given, and keeps what a vault would: who was erased.

Invariant: a value of an erased subject is the same text, whenever its row comes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from joinery.expression.convert import moment_of
from joinery.model.change import Change, Row
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct, is_personal
from joinery.plan.relation import LOG_TIME, Personal, Relation
from joinery.semantics.rows import Findings, guarded

_ERASED = "erased"
"""What follows the subject in place of a value, which `repr` gives for none that is sealed."""
_SEAL = re.compile(r"jy[12]:[A-Za-z0-9_-]{22}:([A-Za-z0-9_-]*)")
"""A value in a row as a run decodes it."""
_LEAST_SEALED = 22
"""Sealing gives no fewer characters; less is of an erased subject."""


class Seals:
    """Who was erased.

    Args:
        relations: Those that are read.
        known_by: What rows are known by in place of a personal key: the key itself, which a
            document shows as its own; or what `indexed` gives, which a lookup compares.
    """

    def __init__(
        self, relations: Collection[Relation], known_by: Callable[[Any], Any] = lambda key: key
    ) -> None:
        self._known_by = known_by
        self._personal = {each.name: each.personal for each in relations if each.personal}
        self._derived = {each.name: _Derived(each) for each in relations if each.personal}
        self._erased: set[tuple[str, object]] = set()

    def news(self) -> Counter[str]:
        """Return what was counted of derived columns since the last call."""
        return sum((each.news() for each in self._derived.values()), Counter())

    def erase(self, relation: str, subject: object) -> None:
        """Erase a subject of a relation."""
        self._erased.add((relation, subject))

    def seen(self, change: Change) -> Change:
        """Return a change as it is decoded: with blind indexes, without what was erased."""
        personal = self._personal.get(change.relation)
        if personal is None:
            return change
        known = dict(personal.keys)
        key = {
            known.get(name, name): self._known_by(value) if name in known else value
            for name, value in change.key.items()
        }
        if change.after is None:
            return replace(change, key=key)
        after = self._derived[change.relation].told(change)
        subject = after.get(personal.subject, change.key.get(personal.subject))
        erased = (change.relation, subject) in self._erased
        after |= {by: self._known_by(after[name]) for name, by in known.items() if name in after}
        for field in personal.fields:
            if field not in after:
                continue
            clear, index = after[field], personal.index_of(field)
            if index is not None:
                after[index] = None if erased else indexed(clear)
            if clear is not None:
                after[field] = _of(subject) + (_ERASED if erased else repr(clear))
        return replace(change, key=key, after=after)


class _Derived:
    """What a relation derives from personal columns, computed while they are clear."""

    def __init__(self, relation: Relation) -> None:
        personal = relation.personal
        assert personal is not None, "a relation without personal columns seals nothing"
        self._logged = relation.logged
        self._findings = Findings()
        self._unknown = 0
        self._steps = [
            (each.name, guarded(each.expression, self._findings)) for each in personal.derived
        ]
        steps = {each.name for each in personal.derived}
        self._inputs = {
            each: personal.inputs_of((each,)) - steps for each in personal.fields if each in steps
        }

    def told(self, change: Change) -> dict[str, Any]:
        """Return what an upsert tells, with what is derived of it.

        What a change leaves out is not known here. A column that is derived of it alone is left
        out, too; one that is derived of it and of what the change tells is null.
        """
        told = dict(change.after or {})
        if not self._steps:
            return told
        known = {**told, **change.key}
        if self._logged and change.logged_us is not None:
            known[LOG_TIME] = moment_of(change.logged_us)
        missing = {name: inputs - known.keys() for name, inputs in self._inputs.items()}
        row = dict.fromkeys(set().union(*self._inputs.values()), None) | known
        for name, evaluate in self._steps:
            row[name] = evaluate(row)
        for name, lacking in missing.items():
            told.pop(name, None)
            if not lacking:
                told[name] = row[name]
            elif lacking != self._inputs[name]:
                told[name] = None
                self._unknown += 1
        return told

    def news(self) -> Counter[str]:
        """Return what was counted since the last call."""
        failures, unknown = self._findings.taken().failures, self._unknown
        self._unknown = 0
        return +Counter(expression_errors=failures, unavailable_values=unknown)


def indexed(clear: Any) -> str | None:
    """Return a value's index as the reference has it: by it, equal values are found equal."""
    return None if clear is None else repr(clear)


def without(row: Row, personal: Personal, subject: object) -> Row:
    """Return a row without what was sealed for a subject."""
    erased = dict(row)
    for field in personal.fields:
        held = row.get(field)
        if held is not None and held.startswith(_of(subject)):
            erased[field] = _of(subject) + _ERASED
            if (index := personal.index_of(field)) is not None:
                erased[index] = None
    return erased


def masked(text: str) -> str:
    """Return a text with words in place of sealed values.

    Example:
        >>> masked('{"email": "jy1:AAAAAAAAAAAAAAAAAAAAAA:"}')
        '{"email": "(erased)"}'
    """
    return _SEAL.sub(lambda seal: "(erased)" if _is_erased(seal) else "(personal)", text)


def _is_erased(seal: re.Match[str]) -> bool:
    return len(seal[1]) < _LEAST_SEALED


def _of(subject: object) -> str:
    return f"{subject!r} "


def has_erased(value: Any, kind: DataType) -> bool:
    """Return whether a document shows a value of an erased subject."""
    if value is None or not is_personal(kind):
        return False
    match kind:
        case Struct(fields):
            return any(has_erased(value.get(each.name), each.type) for each in fields)
        case Array(element):
            return any(has_erased(each, element) for each in value)
        case Map(_, of):
            return any(has_erased(each, of) for each in value.values())
        case Atomic() | Decimal():
            seal = _SEAL.fullmatch(value)
            gone = seal is not None and _is_erased(seal)
            return gone or bool(value.endswith(f" {_ERASED}"))


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
