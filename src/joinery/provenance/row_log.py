"""One row of a product without a root while the log is told: what it is, what altered it last.

The reference makes the rows of its group after each record. Where a group has very many records,
all but the last of them are applied at once, so that only their changes are counted. Of each record
of the logs a byte is in memory: changes are made again at each walk.

Invariant: the row after each record is what the reference makes of the same records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from joinery.model.change import Change, Key, Row
from joinery.plan.pattern import PatternForm
from joinery.plan.product import Product
from joinery.provenance.grouping import SHOWN, Grouping, identity_of, records
from joinery.provenance.row_maker import RowForm, RowMaker, RowPart, row_maker
from joinery.provenance.told import asked_text, names_key
from joinery.semantics.render import document_json

_REFUSED = frozenset(("document_too_large", "overflow"))
"""Why a row is kept from the sinks; other dead letters are of records."""
_EACH = 2_000
_TESTS = 4_000_000


@dataclass(frozen=True, slots=True)
class RowAlteration:
    """A record that altered a row.

    Attributes:
        before: The row's text as it stood; None where there was none.
        after: Its text as it stood then; None where there was none.
    """

    change: Change
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ToldRow:
    """What was told of one row.

    Attributes:
        key: Its own.
        text: As it should stand; None where there is none.
        refused: Why it is a dead letter; empty where it is sent.
        parts: What it is made of.
        notes: What is not in it, and why.
        altered: How many records altered it, of those after which it was looked at.
        since: How many records of its group there were before those.
        last: The record that altered it last; None where none did.
    """

    key: Key
    text: str | None
    refused: str
    parts: Sequence[RowPart]
    notes: Sequence[str]
    altered: int
    since: int
    last: RowAlteration | None


class RowLog:
    """Follows the row of one key.

    Args:
        product: Of a form with one relation.
        form: That form.
        max_document_bytes: Above it a row is a dead letter.

    Attributes:
        known: Some groups, for those who name none.
        begins: Whether a group is only what keys begin with.
        near: Some rows of the group, for those who name its group but none of its rows.
    """

    def __init__(self, product: Product, form: RowForm, *, max_document_bytes: int | None) -> None:
        self._product, self._form, self._most = product, form, max_document_bytes
        self._fields = product.key.fields
        self.known: Sequence[str] = ()
        self.begins = False
        self.near: Sequence[str] = ()

    def tell(self, changes: Sequence[Change], text: str) -> ToldRow | None:
        """Return what the logs tell of the row that a text names; None where they tell of none."""
        relation, grouping = self._form.relation, Grouping(self._form)
        own = (each for each in changes if each.relation == relation.name)
        identities = grouping.identities(own, text)
        self.known, self.begins = grouping.known, grouping.begins
        beside = {each.name for each in self._product.form.relations} - {relation.name}

        def concerns(change: Change) -> bool:
            return change.relation in beside or identity_of(relation, change) in identities

        own_records = bytes(any(map(concerns, each)) for each in records(changes))
        count = sum(own_records)
        each = count
        if count > _EACH and not isinstance(self._form, PatternForm):
            each = max(1, _TESTS // count)
        while True:
            steps = zip(map(bool, own_records), records(changes), strict=True)
            found = self._followed(steps, text, skipped=max(0, count - each))
            # A row that came and went among the records that are skipped is not found.
            if each >= count or (found is not None and found.last is not None):
                return found
            each *= 16

    def _followed(
        self, steps: Iterable[tuple[bool, list[Change]]], text: str, *, skipped: int
    ) -> ToldRow | None:
        """Follow the rows of a group, from the record on before which some are skipped."""
        maker = row_maker(self._product, self._form, self._most)
        follow = Following(maker, self._product, text)
        left = skipped
        last: Change | None = None
        heard = False
        for is_own, record in steps:
            if not is_own:
                maker.hear(record[-1])
                heard = True
                continue
            if heard and left < 0:
                follow.take(last)  # What the watermark has reached meanwhile.
            maker.apply(record)
            last, left, heard = record[-1], left - 1, False
            if left <= 0:
                follow.take(last if left < 0 else None)
        follow.take(last)
        self.near = follow.standing()
        return follow.told(skipped)


class Following:
    """The rows of a group as they are sent, and what altered the one that a text names.

    Args:
        maker: Makes them.
        product: Of the form that the maker is of.
        text: The key of that row.
    """

    def __init__(self, maker: RowMaker, product: Product, text: str) -> None:
        self._maker, self._product, self._text = maker, product, text
        self._types = [each.type for each in product.key.fields]
        self._names = [each.name for each in product.key.fields]
        self._standing: dict[Key, str | None] = {}
        self._refused: dict[Key, str] = {}
        self._altered: dict[Key, tuple[int, RowAlteration]] = {}

    def take(self, change: Change | None) -> None:
        """Take what is sent now as what a record has altered; None where it only stands so."""
        documents, dead = self._maker.send()
        for each in documents:
            value = each.value
            text = None if value is None else document_json(value, self._product.output)
            self._note(self._key_of(each.key), text, "", change)
        for letter in dead:
            if letter.reason not in _REFUSED:
                continue
            self._note(self._key_of(letter.key), None, f"{letter.reason}: {letter.detail}", change)

    def told(self, since: int) -> ToldRow | None:
        """Return what was told of the row; None where there never was one."""
        key = self._key()
        if key is None:
            return None
        text, refused = self._standing.get(key), self._refused.get(key, "")
        altered, last = self._altered.get(key, (0, None))
        there = text is not None or bool(refused)
        parts = list(self._maker.parts(key)) if there else []
        gone = [] if there else ["there is no such row any more"]
        notes = [*gone, *self._maker.notes(key)]
        return ToldRow(key, text, refused, parts, notes, altered, since, last)

    def standing(self) -> list[str]:
        """Return the keys of some rows that stand, as they are asked for."""
        keys = (each for each, text in self._standing.items() if text is not None)
        return [asked_text(each, self._types) for each in islice(keys, SHOWN)]

    def _key(self) -> Key | None:
        """Return the key that the text names: of several the one that stands."""
        named = [
            each
            for each in (*self._standing, *self._refused)
            if names_key(self._text, each, self._types)
        ]
        standing = [each for each in named if self._standing.get(each) is not None]
        return next(iter((*standing, *named)), None)

    def _note(self, key: Key, text: str | None, refused: str, change: Change | None) -> None:
        before = self._standing.get(key)
        self._standing[key] = text
        self._refused.pop(key, None)
        if refused:
            self._refused[key] = refused
        if change is not None and (text != before or refused):
            count, _ = self._altered.get(key, (0, None))
            self._altered[key] = count + 1, RowAlteration(change, before, text)

    def _key_of(self, row: Row) -> Key:
        return tuple(row[each] for each in self._names)
