"""The reference of products that aggregate: every group computed again after each batch.

It is what solutions are compared with, so it is slow and plain: each group keeps its rows, and
each batch builds all groups anew and sends those whose text differs from what was last sent.

What a batch does with a record of the product's relation, in this order:
- judge it by the watermark of its partition before it: late, or in time;
- merge it into its row, unless it is left out as late;
- take the row out of the groups it was in, and put it into those of its new columns, but for
  windows that are forgotten, which stay as they were sent.

Invariant: what stands in the sink depends on the records of each partition and their order
there, never on how they were cut into batches, nor on how partitions were mixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from joinery.expression.order import row_key
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.aggregate import AggregateForm
from joinery.plan.nodes import Product
from joinery.semantics.document import NEVER_SENT, Built, SentDocument, judged, next_sent
from joinery.semantics.groups import Groups, Slot
from joinery.semantics.lateness import Watermarks, in_log_order
from joinery.semantics.merge import RowMerge, Standing
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings
from joinery.semantics.window import Bounds
from joinery.solutions.protocol import DeadDocument


@dataclass(slots=True)
class _Seen:
    """What is known of one row: what it is, and where it counts."""

    standing: Standing = field(default_factory=Standing)
    slots: set[Slot] = field(default_factory=set)


class AggregateReference:
    """Keeps the groups of one product.

    Args:
        product: Whose groups they are.
        form: What it aggregates.
        max_bytes: Above it a group's document is a dead letter; None sets no bound.
    """

    def __init__(self, product: Product, form: AggregateForm, max_bytes: int | None) -> None:
        self._name, self._form, self._max_bytes = product.name, form, max_bytes
        self._findings, self._before = Findings(), Findings()
        self._merge = RowMerge(form.relation, self._findings)
        self._clock = RowMerge(form.relation, Findings())
        self._groups = Groups(form, self._findings)
        self.watermarks = Watermarks(form.relation.watermark)
        self._rows: dict[Any, _Seen] = {}
        self._letters: list[DeadDocument] = []
        self._sent: dict[Key, tuple[Row, SentDocument]] = {}
        self._ended: set[Key] = set()
        self._ended_bounds: set[Bounds] = set()
        self._text = renderer(form.output)
        self._rank = row_key([(each.type, False) for each in form.key.fields])

    def apply(self, batch: Sequence[Change], now_us: int) -> Counter[str]:
        """Apply the changes of the product's relation; return what is counted of them."""
        counters: Counter[str] = Counter()
        changes = [each for each in batch if each.relation == self._form.relation.name]
        for number, change in enumerate(in_log_order(changes)):
            identity = self._identity(change, (now_us, number))
            self._change(identity, change, now_us, counters)
        if self._form.relation.product is None:
            self.watermarks.end_batch(now_us)
        return counters

    def send(
        self, timestamp_us: int, *, until_closed: bool = False
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now, in the order of the keys, and the dead letters.

        Args:
            timestamp_us: The batch's time.
            until_closed: Whether every partition counts as ended.
        """
        built = dict(self._built(until_closed=until_closed))
        documents: list[DocumentChange] = []
        dead, self._letters = self._letters, []
        for key in sorted(built.keys() | self._sent.keys(), key=lambda each: self._rank(each)):
            value = built.get(key)
            key_row, before = self._sent.get(key, (self._key_row(key, value), NEVER_SENT))
            document = self._document(value)
            sent, step = next_sent(before, document, timestamp_us)
            self._sent[key] = key_row, sent
            if step == "send":
                documents.append(DocumentChange(self._name, key_row, value, sent.version))
            elif step == "dead" and document is not None:
                reason = document.reason or ""
                dead.append(DeadDocument(self._name, key_row, reason, document.detail))
        return documents, dead

    def _document(self, value: dict[str, Any] | None) -> Built | None:
        if value is None:
            return None
        return judged(self._text(value), value, max_bytes=self._max_bytes)

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        before, self._before = self._before, self._findings.taken()
        return self._before.since(before)

    # One change

    def _identity(self, change: Change, arrived: tuple[int, int]) -> Any:
        """Return what identifies the row of a change: its key, or in a log its place."""
        if not self._form.relation.append:
            return tuple(change.key[column] for column in self._form.relation.key)
        return (change.partition, change.place) if change.place is not None else arrived

    def _change(self, identity: Any, change: Change, now_us: int, counters: Counter[str]) -> None:
        relation = self._form.relation
        if relation.append and change.after is None:
            counters["deletes_ignored"] += 1
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
        if change.after is not None and not change.snapshot and relation.time is not None:
            time_us = None if row is None else self._groups.time_of(row)
            if time_us is None:
                counters["event_without_time"] += 1
            elif self._left_out(change, time_us, watermark, counters):
                return
        seen.standing = standing
        self._rows[identity] = seen
        if self._move(identity, seen, row, None if change.snapshot else self._highest(watermark)):
            counters["too_late"] += 1

    def _highest(self, watermark: int | None) -> int | None:
        """Return by what windows are forgotten: what all others reached may be higher."""
        both = (watermark, self.watermarks.relation)
        return max((each for each in both if each is not None), default=None)

    def _left_out(
        self, change: Change, time_us: int, watermark: int | None, counters: Counter[str]
    ) -> bool:
        """Count a record that is late or overtaken; return whether it is as if not in the log."""
        emit = self._form.emit
        if watermark is not None and time_us < watermark - emit.allowed_us:
            reason, bound = "late", watermark
        elif self._overtaken(time_us):
            reason, bound = "overtaken", self.watermarks.relation or 0
        else:
            return False
        counters[reason] += 1
        if reason == "overtaken" and self._in_ended(time_us):
            return False
        if emit.late == "dead_letter":
            behind = (bound - emit.allowed_us - time_us) / 1_000_000
            detail = f"Its time is {behind:g} s below what the watermark allows."
            self._letters.append(DeadDocument(self._name, dict(change.key), reason, detail))
        return emit.late != "correct"

    def _overtaken(self, time_us: int) -> bool:
        """Return whether a record in time for its partition meets what others have closed."""
        bound = self.watermarks.relation
        below = bound is not None and time_us < bound - self._form.emit.allowed_us
        return below or self._in_ended(time_us)

    def _in_ended(self, time_us: int) -> bool:
        return bool(self._ended) and any(
            start <= time_us < end for start, end in self._ended_bounds
        )

    def _move(self, identity: Any, seen: _Seen, row: Row | None, watermark: int | None) -> bool:
        """Take a row from where it counts to where it should; return whether it is too late."""
        wanted: Sequence[Slot] = ()
        if row is not None and self._merge.visible(row):
            wanted = self._groups.slots_of(row)
        old = seen.slots
        if not old and not wanted:
            return False
        open_old = {each for each in old if not self._groups.forgotten(each, identity, watermark)}
        for slot in open_old:
            self._groups.remove(slot, identity)
        put = set()
        for slot in wanted:
            if slot in old - open_old:
                continue
            assert row is not None  # as it has slots
            self._groups.put(slot, identity, row)
            if self._groups.forgotten(slot, identity, watermark):
                self._groups.remove(slot, identity)
            else:
                put.add(slot)
        seen.slots = (old - open_old) | put
        return not open_old and not put

    # All groups

    def _built(self, *, until_closed: bool) -> Iterator[tuple[Key, dict[str, Any]]]:
        """Yield the key and the value of each group that the sink should have now."""
        closed = self._form.emit.when == "closed"
        watermark, allowed_us = self.watermarks.relation, self._form.emit.allowed_us
        for key, group, bounds, members in self._groups.windows(watermark):
            if closed and bounds is not None:
                due = watermark is not None and watermark >= bounds[1] + allowed_us
                if until_closed and not due:
                    self._ended.add(key)
                    self._ended_bounds.add(bounds)
                if not due and key not in self._ended:
                    continue
            yield key, self._groups.value(group, bounds, members)

    def _key_row(self, key: Key, value: Row | None) -> Row:
        names = [each.name for each in self._form.key.fields]
        return dict(zip(names, key, strict=True)) if value is None else {n: value[n] for n in names}
