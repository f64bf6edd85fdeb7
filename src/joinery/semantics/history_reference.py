"""The reference of products that keep versions: every version computed again after each batch.

A version of a key is valid from its time until the next one's. Of one time the later position
stands; where a delete tells a time, no version is valid from then until the next. A version that
shows what the one before it shows is part of that one's row.

Invariant: the rows follow from the changes of each key in the order of their log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from joinery.expression.convert import micros_of, moment_of
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.history import (
    IS_CURRENT,
    KNOWN_FROM,
    KNOWN_TO,
    VALID_FROM,
    VALID_TO,
    HistoryForm,
)
from joinery.plan.product import Product
from joinery.semantics.lateness import Watermarks
from joinery.semantics.merge import RowMerge
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings
from joinery.semantics.sending import SentRows
from joinery.semantics.versions import Version, VersionLog
from joinery.solutions.protocol import DeadDocument

_Compare = Callable[[Row, Row], bool]
"""Whether two rows show the same, until the same time."""


@dataclass(frozen=True, slots=True)
class _KnownRow:
    """A row, from when it was known, and until when; None while it is."""

    value: Row
    from_us: int
    until_us: int | None = None


class _Known:
    """What was known of the versions of one key, and when.

    Attributes:
        over: The rows that no change can alter any more.
    """

    def __init__(self) -> None:
        self.over: list[_KnownRow] = []
        self._at_us: int | None = None
        self._before: list[_KnownRow] = []

    def reach(self, at_us: int, now: Sequence[Row], is_one: _Compare) -> None:
        """Note that a change became known, before which the rows were these.

        Times of knowing never fall: what is told of an earlier one became known at the last.
        """
        if self._at_us is not None and at_us <= self._at_us:
            return
        standing = list(self.standing(now, is_one))
        self.over += [each for each in standing if each.until_us is not None]
        self._before = [each for each in standing if each.until_us is None]
        self._at_us = at_us

    def standing(self, now: Sequence[Row], is_one: _Compare) -> Iterator[_KnownRow]:
        """Yield the rows that are known now, and those that were until the last change."""
        if self._at_us is None:
            return
        at_us, left = self._at_us, {each.value[VALID_FROM.name]: each for each in self._before}
        for value in now:
            known = left.get(value[VALID_FROM.name])
            if known is not None and is_one(known.value, value):
                yield left.pop(value[VALID_FROM.name])
            else:
                yield _KnownRow(value, at_us)
        yield from (replace(each, until_us=at_us) for each in left.values())


class HistoryReference:
    """Keeps the versions of one product.

    Args:
        product: Whose versions they are.
        form: What is kept.
        max_bytes: Above it a version is a dead letter; None sets no bound.
    """

    def __init__(self, product: Product, form: HistoryForm, max_bytes: int | None) -> None:
        self._form = form
        self._findings = Findings()
        self._log = VersionLog(form.relation, form.valid, self._findings, form.known)
        self._known: dict[Key, _Known] = {}
        self._clock = RowMerge(form.relation, Findings())
        self._sent = SentRows(product, max_bytes)
        self._text = renderer(form.tracked)
        self.watermarks = Watermarks(form.relation.watermark)

    def apply(self, batch: Sequence[Change], now_us: int) -> Counter[str]:
        """Apply the changes of the product's relation; return what is counted of them."""
        counters: Counter[str] = Counter()
        for change in batch:
            if change.relation == self._form.relation.name:
                self._note(change, now_us)
                counters[self._apply(change)] += 1
        if self._form.relation.product is None:
            self.watermarks.end_batch(now_us)
        return counters

    def send(
        self, timestamp_us: int, *, until_closed: bool = False
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now, in the order of the keys, and the dead letters.

        Args:
            timestamp_us: The batch's time.
            until_closed: Whether every partition counts as ended: versions wait for none.
        """
        if self._form.known is None:
            rows = (row for versions in self._log.shown() for row in self._rows(versions))
            return self._sent.send(dict(rows), timestamp_us)
        built: dict[Key, dict[str, Any]] = {}
        for key, known in self._known.items():
            for row in (*known.over, *known.standing(self._now(key), self._is_one)):
                value = self._with_known(row)
                built[tuple(value[name.name] for name in self._form.key.fields)] = value
        return self._sent.send(built, timestamp_us)

    def erase(self, relation: str, subject: object) -> None:
        """Take what is personal of a subject out of all versions of a relation."""
        if relation == self._form.relation.name:
            self._log.erase(subject)

    def _apply(self, change: Change) -> str:
        """Apply a change, and note what was known before it where that is kept."""
        told = self._log.read(change)
        if isinstance(told, str):
            return told
        before = [] if told.known_us is None else self._now(told.key)
        verdict = self._log.put(told, change)
        if told.known_us is not None and verdict == "applied":
            self._known.setdefault(told.key, _Known()).reach(told.known_us, before, self._is_one)
        return verdict

    def _now(self, key: Key) -> list[dict[str, Any]]:
        """Return the rows of a key as they are known now, without since when."""
        return [value for _, value in self._rows(self._log.versions_of(key))]

    def _is_one(self, one: Row, other: Row) -> bool:
        return one[VALID_TO.name] == other[VALID_TO.name] and self._is_same(one, other)

    def _with_known(self, row: _KnownRow) -> dict[str, Any]:
        ended = None if row.until_us is None else moment_of(row.until_us)
        told = {KNOWN_FROM.name: moment_of(row.from_us), KNOWN_TO.name: ended}
        current = row.value[IS_CURRENT.name] and ended is None
        whole = {**row.value, **told, IS_CURRENT.name: current}
        return {each.name: whole[each.name] for each in self._form.output.fields}

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        return self._findings.news()

    def _note(self, change: Change, now_us: int) -> None:
        """Take the time by which products over this one go."""
        time = self._form.relation.time
        if time is not None and change.after is not None:
            at = self._clock.first(change)[time]
            self.watermarks.note(change, None if at is None else micros_of(at), now_us)

    def _rows(self, versions: Sequence[Version]) -> Iterator[tuple[Key, dict[str, Any]]]:
        """Yield the rows of one key, by their key."""
        begun: tuple[int, Row] | None = None
        for time_us, shown in versions:
            if begun is not None and shown is not None and self._is_same(begun[1], shown):
                continue
            if begun is not None:
                yield self._row(*begun, until_us=time_us)
            begun = None if shown is None else (time_us, shown)
        if begun is not None:
            yield self._row(*begun, until_us=None)

    def _is_same(self, one: Row, other: Row) -> bool:
        return self._text(one) == self._text(other)

    def _row(self, from_us: int, row: Row, *, until_us: int | None) -> tuple[Key, dict[str, Any]]:
        key = tuple(row[name] for name in self._form.relation.key)
        value = {name: row[name] for name in self._form.relation.key}
        value[VALID_FROM.name] = moment_of(from_us)
        value |= {name: row[name] for name in self._form.track}
        value[VALID_TO.name] = None if until_us is None else moment_of(until_us)
        value[IS_CURRENT.name] = until_us is None
        return (*key, value[VALID_FROM.name]), value
