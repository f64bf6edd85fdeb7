"""The reference of groups and of patterns: each is computed again after each batch.

It is what solutions are compared with, so it is slow and plain: each group keeps its rows, and
each batch builds all groups again and sends those whose text differs from what was last sent.

What a batch does with a record of the product's relation, in this order:
- judge it by the watermark of its partition before it: late, or in time;
- merge it into its row, unless it is left out as late;
- take the row out of the groups it was in, and put it into those of its new columns, but for
  windows that are forgotten, which stay as they were sent.

What is forgotten to a row once stays so: it goes by the highest watermark of its changes.

Invariant: what stands in the sink depends on the records of each partition and their order
there, never on how they were cut into batches, nor on how partitions were mixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from joinery.expression.group_aggregate import MOST_VALUES
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.aggregate import AggregateForm
from joinery.plan.pattern import PatternForm
from joinery.plan.product import Product
from joinery.semantics.arrivals import Arrivals
from joinery.semantics.groups import Groups, Slot
from joinery.semantics.lateness import Watermarks, in_log_order, with_moved
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.patterns import Patterns
from joinery.semantics.rows import Findings, Matching
from joinery.semantics.sending import SentRows
from joinery.solutions.protocol import DeadDocument


@dataclass(slots=True)
class _Seen:
    """What is known of one row: what it is, and where it counts."""

    standing: KeptRow = field(default_factory=KeptRow)
    slots: set[Slot] = field(default_factory=set)
    touched: set[Slot] = field(default_factory=set)
    watermark: int | None = None
    """By which windows are forgotten to it."""


class AggregateReference:
    """Keeps the groups of one product, or the matches of its pattern.

    Args:
        product: Whose they are.
        form: What it aggregates, or looks for.
        max_bytes: Above it a group's document is a dead letter; None sets no bound.
    """

    def __init__(
        self, product: Product, form: AggregateForm | PatternForm, max_bytes: int | None
    ) -> None:
        self._name, self._form = product.name, form
        self._findings = Findings()
        self._merge = RowMerge(form.relation, self._findings)
        self._clock = RowMerge(form.relation, Findings())
        self._groups: Groups | Patterns
        if isinstance(form, PatternForm):
            self._groups = Patterns(form, self._findings)
        else:
            self._groups = Groups(form, self._findings)
        self.watermarks = Watermarks(form.relation.watermark)
        self._rows: dict[Any, _Seen] = {}
        lifetimes = self._groups.lifetimes if form.waits else None
        self._arrivals = Arrivals(product.name, form.emit, self.watermarks, lifetimes)
        self._sent = SentRows(product, max_bytes)
        self._ended: set[Key] = set()

    def apply(self, batch: Sequence[Change], now_us: int) -> Counter[str]:
        """Apply the changes of the product's relation; return what is counted of them."""
        counters: Counter[str] = Counter()
        if isinstance(self._groups, Patterns):
            self._leave_settled(self._groups)
        changes = [each for each in batch if each.relation == self._form.relation.name]
        for number, (change, moved) in enumerate(with_moved(in_log_order(changes))):
            identity = self.identity_of(change, (now_us, number))
            if moved is None or not self._is_moved_late(moved):
                self._change(identity, change, now_us, counters)
        if self._form.relation.product is None:
            self.watermarks.end_batch(now_us)
        return counters

    def see(self, rows: Matching) -> None:
        """Take the rows that the rules of a pattern are looked up in."""
        if isinstance(self._groups, Patterns):
            self._groups.see(rows)

    def send(
        self, timestamp_us: int, *, until_closed: bool = False
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now, in the order of the keys, and the dead letters.

        Args:
            timestamp_us: The batch's time.
            until_closed: Whether every partition counts as ended.
        """
        if until_closed:
            self.watermarks.end_logs()
        built: dict[Key, dict[str, Any]] = {}
        limited: set[Key] = set()
        for key, value in self._built(until_closed=until_closed):
            built[key] = value
            if isinstance(self._groups, Groups) and self._groups.limited:
                limited.add(key)
        self._findings.limited |= limited
        late = self._arrivals.take_dead_letters()
        late += [self._too_many(built[key]) for key in self._findings.newly(limited)]
        documents, dead = self._sent.send(built, timestamp_us)
        return documents, late + dead

    def _leave_settled(self, patterns: Patterns) -> None:
        """Leave the matches as they were sent that are over by the watermark before a batch."""
        failures = self._findings.failures
        patterns.begin(self.watermarks.relation)
        if not patterns.settles:
            return
        standing = {key for key, _ in self._standing(until_closed=False)}
        for key in set(patterns.settled) - standing:
            self._sent.leave(key)
        patterns.settled.clear()
        self._findings.failures = failures  # They were found before.

    def _too_many(self, value: Row) -> DeadDocument:
        names = (each.name for each in self._form.key.fields)
        detail = f"A value counts more than {MOST_VALUES} different ones, and is null."
        return DeadDocument(self._name, {n: value[n] for n in names}, "instance_limit", detail)

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        return self._findings.news()

    def row_of(self, identity: Any) -> Row | None:
        """Return a row as it counts; None where none does."""
        seen = self._rows.get(identity)
        return None if seen is None else seen.standing.row

    def behind(self, key: Key) -> Sequence[tuple[str, Any]]:
        """Return what identifies the rows that a group, or a match, is made of, in its order.

        Before each stands what it is there: `row`, or a variable of the pattern.
        """
        if isinstance(self._groups, Patterns):
            return self._groups.behind(key)
        found = self._groups.behind(key, self.watermarks.relation)
        return [("row", each) for each in found]

    # One change

    def identity_of(self, change: Change, arrived: tuple[int, int] = (0, 0)) -> Any:
        """Return what identifies the row of a change: its key, or in a log its place."""
        if not self._form.relation.append:
            return tuple(change.key[column] for column in self._form.relation.key)
        return (change.partition, change.place) if change.place is not None else arrived

    def _is_moved_late(self, upsert: Change) -> bool:
        """Return whether the record of an upsert is left out, and so the delete before it."""
        if self._form.relation.time is None or upsert.snapshot:
            return False
        time_us = self._groups.time_of(self._clock.first(upsert))
        return self._arrivals.is_out(time_us, self.watermarks.of(upsert))

    def _change(self, identity: Any, change: Change, now_us: int, counters: Counter[str]) -> None:
        relation = self._form.relation
        if relation.append and change.after is None:
            counters["ignored_deletes"] += 1
            return
        seen = self._rows.get(identity) or _Seen()
        standing = copy(seen.standing)
        verdict = self._merge.apply(standing, change)
        row = None if standing.row is None else self._merge.derived(standing.row)
        watermark = self.watermarks.of(change)
        if change.after is not None and relation.time is not None:
            told = self._groups.time_of(self._clock.first(change))
            self.watermarks.note(change, told, now_us)
        counters[verdict] += 1
        if verdict != "applied":
            seen.standing = standing
            self._rows[identity] = seen
            return
        if change.after is not None and relation.time is not None:
            time_us = None if row is None else self._groups.time_of(row)
            if time_us is None:
                counters["event_without_time"] += self._asks_times
            elif self._is_left_out(change, time_us, watermark, counters):
                return
        seen.standing = standing
        self._rows[identity] = seen
        seen.watermark = self._highest(change, seen, watermark)
        if self._move(identity, seen, row) and not change.snapshot:
            counters["too_late"] += 1

    @property
    def _asks_times(self) -> bool:
        """Whether it is told which rows have no time: of a product's only where they go by it."""
        groups = isinstance(self._form, AggregateForm) and self._form.window is None
        return self._form.relation.product is None or not groups

    def _is_left_out(
        self, change: Change, time_us: int, watermark: int | None, counters: Counter[str]
    ) -> bool:
        late = self._arrivals.left_out
        return not change.snapshot and late(change, time_us, watermark, counters)

    def _highest(self, change: Change, seen: _Seen, watermark: int | None) -> int | None:
        """Return by what windows are forgotten: what all others reached may be higher.

        A row of a snapshot forgets none: only what was forgotten to the row before is.
        """
        if self._form.relation.product is not None or change.snapshot:
            return seen.watermark
        both = (watermark, self.watermarks.relation, seen.watermark)
        return max((each for each in both if each is not None), default=None)

    def _move(self, identity: Any, seen: _Seen, row: Row | None) -> bool:
        """Take a row from where it counts to where it should; return whether it is too late.

        That is where it touches windows, and all that it touches are forgotten.
        """
        before, seen.touched = seen.touched, set()
        if row is not None and self._merge.visible(row):
            seen.touched = set(self._groups.slots_of(row))
        for slot in self._open(seen.slots, seen):
            self._groups.remove(slot, identity)
            seen.slots.remove(slot)
        for slot in self._open(seen.touched, seen):
            assert row is not None  # as it touches something
            self._groups.put(slot, identity, row)
            seen.slots.add(slot)
        touched = before | seen.touched
        return bool(touched) and not self._open(touched, seen)

    def _open(self, slots: set[Slot], seen: _Seen) -> list[Slot]:
        return [each for each in slots if not self._groups.forgotten(each, seen.watermark)]

    # All groups

    def _built(self, *, until_closed: bool) -> Iterator[tuple[Key, dict[str, Any]]]:
        """Yield the key and the value of each group that the sink should have now."""
        for key, value in self._standing(until_closed=until_closed):
            yield key, value()

    def _standing(
        self, *, until_closed: bool
    ) -> Iterator[tuple[Key, Callable[[], dict[str, Any]]]]:
        """Yield the key of each, and what gives its value."""
        watermark, allowed_us = self.watermarks.relation, self._form.emit.allowed_us
        for key, bounds, value in self._groups.shown(watermark):
            if self._form.waits and bounds is not None:
                due = watermark is not None and watermark >= bounds[1] + allowed_us
                if until_closed and not due:
                    self._ended.add(key)
                if not due and key not in self._ended:
                    continue
            yield key, value
