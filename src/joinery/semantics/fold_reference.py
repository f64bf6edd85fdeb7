"""The reference of products that fold events: every state computed again after each batch.

An event has a number in its key. Of two events of one number the one that stands first in the log
stands; the other is a repeat, or a conflict where its columns differ. Events apply in the order of
their numbers. Those behind a gap wait, until the watermark has come past the time of one of them
by `wait`, or until so many wait from one of them on: then no number before that one is waited for
any more.

Invariant: states follow from the set of events and from how far the watermark has come, never from
the order in which events arrived, nor from how they were cut into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, assert_never

from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.fold import EVENT, FoldForm
from joinery.plan.product import Product
from joinery.project.form import WaitEvents, WaitTime
from joinery.semantics.lateness import Watermarks
from joinery.semantics.merge import RowMerge
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings, equal_value, guarded, time_of
from joinery.semantics.sending import SentRows
from joinery.solutions.protocol import DeadDocument

SEQUENCE_CONFLICT = "sequence_conflict"
SEQUENCE_GAPS = "sequence_gaps"
WITHOUT_SEQUENCE = "event_without_sequence"
_Place = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Event:
    """The event that stands under a number.

    Attributes:
        place: Where it stands in the log.
        since_us: The earliest time that was told of its number; without times in the log, that of
            the batch that brought it.
    """

    row: Row
    place: _Place
    since_us: int | None


@dataclass(slots=True)
class _Log:
    """The events of one key.

    Attributes:
        shown: What its `by` shows.
        given_up: The highest number before which no number is waited for.
    """

    shown: Row
    events: dict[int, _Event] = field(default_factory=dict)
    given_up: int = 0


class FoldReference:
    """Keeps the states of one product.

    Args:
        product: Whose states they are.
        form: What is folded.
        max_bytes: Above it a state is a dead letter; None sets no bound.
    """

    def __init__(self, product: Product, form: FoldForm, max_bytes: int | None) -> None:
        self._name, self._form = product.name, form
        self._findings = Findings()
        self._merge = RowMerge(form.relation, self._findings)
        self._by = [(each.name, guarded(each.expression, self._findings)) for each in form.by]
        self._initial = [
            (each.name, guarded(each.initial, self._findings) if each.initial else None)
            for each in form.state
        ]
        self._when = {
            kind.kind: [
                (one.name, guarded(one.expression, self._findings)) for one in kind.assigned
            ]
            for kind in form.when
        }
        self._text = renderer(form.compared)
        self._logs: dict[Key, _Log] = {}
        self._sent = SentRows(product, max_bytes)
        self._letters: list[DeadDocument] = []
        self._gaps = self._arrived = self._now_us = 0
        self.watermarks = Watermarks(form.relation.watermark)

    def apply(self, batch: Sequence[Change], now_us: int) -> Counter[str]:
        """Apply the changes of the product's relation; return what is counted of them."""
        counters: Counter[str] = Counter()
        self._now_us = now_us
        for change in batch:
            if change.relation == self._form.relation.name:
                counters.update(self._take(change, now_us))
        self.watermarks.end_batch(now_us)
        return counters

    def send(
        self, timestamp_us: int, *, until_closed: bool = False
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now, in the order of the keys, and the dead letters.

        Args:
            timestamp_us: The batch's time.
            until_closed: Whether every partition counts as ended: nothing waits any more.
        """
        built: dict[Key, dict[str, Any]] = {}
        for key, log in self._logs.items():
            self._give_up(log, until_closed=until_closed)
            state = self._state(log)
            if state is not None:
                built[key] = state
        letters, self._letters = self._letters, []
        documents, dead = self._sent.send(built, timestamp_us)
        return documents, letters + dead

    def behind(self, key: Key) -> Sequence[tuple[int, tuple[int, int]]]:
        """Return the number of each event that a state is made of, and where it stands."""
        log = self._logs.get(key)
        if log is None:
            return ()
        last = self._last(log)
        return [(each, log.events[each].place[1:]) for each in sorted(log.events) if each <= last]

    def waiting(self, key: Key) -> Sequence[int]:
        """Return the numbers of events that do not apply yet, since one before is missing."""
        log = self._logs.get(key)
        return [] if log is None else sorted(each for each in log.events if each > self._last(log))

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        gaps, self._gaps = self._gaps, 0
        return self._findings.news() + Counter({SEQUENCE_GAPS: gaps})

    # One event

    def _take(self, change: Change, now_us: int) -> Iterator[str]:
        """Take a change; yield the counters that tell of it."""
        if change.after is None:
            yield "ignored_deletes"
            return
        row, timed = self._merge.first(change), self._form.relation.time is not None
        time_us = time_of(row, self._form.relation.time)
        if timed:
            self.watermarks.note(change, time_us, now_us)
        if not self._merge.visible(row):
            yield "applied"
            return
        if timed and time_us is None:
            yield "event_without_time"
        number = row[self._form.sequence]
        if number is None or number < 1:
            yield WITHOUT_SEQUENCE
            return
        event = _Event(row, self._place(change), time_us if timed else now_us)
        yield self._put(number, event)

    def _place(self, change: Change) -> _Place:
        """Return where a change stands in its log; after all that tell it where it tells none."""
        self._arrived += 1
        return (0, *change.place) if change.place is not None else (1, 0, self._arrived)

    def _put(self, number: int, event: _Event) -> str:
        """Put an event under its number; return the counter that tells of it."""
        shown = {name: equal_value(evaluate(event.row)) for name, evaluate in self._by}
        key = tuple(shown.values())
        log = self._logs.setdefault(key, _Log(shown))
        standing = log.events.setdefault(number, event)
        if standing is event:
            return "applied"
        first = min(standing, event, key=lambda each: each.place)
        told = [each.since_us for each in (standing, event) if each.since_us is not None]
        log.events[number] = replace(first, since_us=min(told, default=None))
        same = self._text(standing.row) == self._text(event.row)
        if same or event.place == standing.place:
            return "repeated"
        detail = f"Two events that differ have the number {number}; the first in the log counts."
        self._letters.append(DeadDocument(self._name, log.shown, SEQUENCE_CONFLICT, detail))
        return "applied"

    # All events of a key

    def _give_up(self, log: _Log, *, until_closed: bool) -> None:
        """Find up to which number none is waited for any more, and count the gaps before it."""
        begun = self._last(log)
        waiting = sorted(each for each in log.events if each > begun)
        over = self._over(log, waiting, until_closed=until_closed)
        if over:
            log.given_up = over[-1]
            passed = (begun, *(each for each in waiting if each <= over[-1]))
            self._gaps += sum(after - before > 1 for before, after in pairwise(passed))

    def _over(self, log: _Log, waiting: Sequence[int], *, until_closed: bool) -> Sequence[int]:
        """Return the numbers, of those that wait, before which none is waited for any more."""
        match self._form.wait:
            case WaitEvents(count):
                return waiting[: max(0, len(waiting) - count + 1)]
            case WaitTime(us):
                return [e for e in waiting if until_closed or self._has_waited(log.events[e], us)]
            case _:
                assert_never(self._form.wait)

    def _has_waited(self, event: _Event, wait_us: int) -> bool:
        if wait_us == 0:
            return True
        by_clock = self._form.relation.time is None
        reached = self._now_us if by_clock else self.watermarks.relation
        if reached is None or event.since_us is None:
            return False
        return reached > event.since_us + wait_us

    def _last(self, log: _Log) -> int:
        """Return the last number whose event applies."""
        number = log.given_up
        while number + 1 in log.events:
            number += 1
        return number

    def _state(self, log: _Log) -> dict[str, Any] | None:
        """Return the row of a key; None where no event applies yet."""
        last = self._last(log)
        numbers = sorted(each for each in log.events if each <= last)
        if not numbers:
            return None
        state = {name: None if make is None else make({}) for name, make in self._initial}
        for number in numbers:
            event = log.events[number].row
            scope = {**state, EVENT: event}
            changed = self._when.get(event[self._form.kind], ())
            state |= {name: evaluate(scope) for name, evaluate in changed}
        return {**log.shown, **state}
