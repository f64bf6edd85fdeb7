"""The rows that the intervals of one product compare in time, but for those that came too late.

A record is judged by the watermark of its partition before it, as those of groups are: one that is
left out, or too late, is as if not in the log. What is kept goes by the watermarks of all of the
product's logs together, as they were before the batch.

To a change of it, a row is forgotten once the watermark before that change is far enough past its
time. It stays in the documents that it is in, and what comes for its key is a row of its own.

Invariant: a row leaves only once no record that still counts could meet it, and only after it is
forgotten to all changes of it that can come; so what documents hold does not go by when it leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial

from joinery.model.change import Change, Key, Row
from joinery.plan.lasting import (
    Lasting,
    held_us,
    judged_relations,
    lasting_of,
    meeting_us,
    time_columns,
)
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import LOG_TIME, Relation
from joinery.semantics.arrivals import Arrivals
from joinery.semantics.lateness import in_log_order, with_moved
from joinery.semantics.merge import KeptRow
from joinery.semantics.rows import time_of
from joinery.semantics.table import Table
from joinery.semantics.window import Bounds
from joinery.solutions.protocol import DeadDocument


class JudgedTables:
    """The relations of one product that its intervals compare, by name."""

    def __init__(self, product: Product, form: DocumentForm) -> None:
        lasting = lasting_of(form)
        self.tables = {
            each.name: _JudgedTable(each, product.name, form, lasting.get(each))
            for each in judged_relations(form)
        }
        self._root = form.relation.name
        self._horizon: int | None = None
        self._forgets = bool(lasting)

    def begin(self) -> Sequence[Key]:
        """Begin a batch: forget what is over; return the keys of the roots among it."""
        reached = [each.watermarks.relation for each in self.tables.values()]
        known = [each for each in reached if each is not None]
        if not self._forgets or len(known) < len(reached):
            return ()
        self._horizon = horizon = min(known)
        gone = {name: each.forget(horizon) for name, each in self.tables.items()}
        return gone[self._root]

    def apply(self, batch: Sequence[Change], now_us: int) -> Counter[str]:
        """Apply the changes of a batch; return what is counted of them."""
        counters: Counter[str] = Counter()
        for name, table in self.tables.items():
            changes = in_log_order([each for each in batch if each.relation == name])
            for change, moved in with_moved(changes):
                if moved is None or not table.is_moved_late(moved):
                    table.judge(change, now_us, self._horizon, counters)
            table.watermarks.end_batch(now_us)
        return counters

    def take_anew(self) -> set[Key]:
        """Return the keys under which other roots were seen since the last call than forgotten."""
        return self.tables[self._root].take_anew() if self._forgets else set()

    def end_logs(self) -> None:
        """Take all logs as ended: what waits is sent, and stays so."""
        for each in self.tables.values():
            each.watermarks.end_logs()

    def take_dead_letters(self) -> list[DeadDocument]:
        """Return the dead letters of the last batch."""
        return [one for each in self.tables.values() for one in each.arrivals.take_dead_letters()]


class _JudgedTable(Table):
    """One relation, whose records are judged."""

    def __init__(
        self, relation: Relation, product: str, form: DocumentForm, lasting: Lasting | None
    ) -> None:
        super().__init__(relation)
        self._lasting, self._is_root = lasting, relation == form.relation
        self._is_near = any(each.relation == relation for each in form.root.embeds)
        self._former_roots: dict[Key, KeptRow] = {}
        lifetimes = partial(_lifetimes, meeting_us(form, relation)) if form.waits else None
        self.arrivals = Arrivals(product, form.emit, self.watermarks, lifetimes)
        self._former, self._anew = 0, set[Key]()
        self._key_size = len(relation.key)
        self._held_us = held_us(form)
        self._timed = time_columns(relation) - {LOG_TIME}

    def judge(
        self, change: Change, now_us: int, horizon: int | None, counters: Counter[str]
    ) -> None:
        """Apply the next change of the log, unless it comes too late."""
        key = self.key_of(change)
        bound, watermark = self._bound(change, horizon), self.watermarks.of(change)
        known = self.standing.get(key, KeptRow())
        former = known if self._is_forgotten(known.row, bound) else None
        known = KeptRow() if former else known
        standing = copy(known)
        verdict = self.merge.apply(standing, change)
        self.note(change, now_us)
        counters[verdict] += 1
        if verdict == "ignored_deletes":
            return
        if verdict == "applied" and self._left_out(
            change, known.row, standing.row, watermark, bound, counters
        ):
            return
        counters["too_late"] += former is not None and change.after is None
        self._keep_apart(key, former, standing)
        self.standing[key] = standing

    def is_moved_late(self, upsert: Change) -> bool:
        """Return whether the record of an upsert is left out, and so the delete before it."""
        time_us = time_of(self._times.first(upsert), self.relation.time)
        return not upsert.snapshot and self.arrivals.is_out(time_us, self.watermarks.of(upsert))

    def take_anew(self) -> set[Key]:
        """Return the keys since the last call under which others were seen than the forgotten."""
        taken, self._anew = self._anew, set()
        return taken

    def _bound(self, change: Change, horizon: int | None) -> int | None:
        """Return the watermark that a change is judged by."""
        own = (self.watermarks.of(change), self.watermarks.relation)
        told = (horizon,) if change.snapshot else (*own, horizon)
        return max((each for each in told if each is not None), default=None)

    def _is_forgotten(self, row: Row | None, bound: int | None) -> bool:
        return self._lasting is not None and self._is_past(row, self._lasting.forgotten_us, bound)

    def _is_past(self, row: Row | None, lasts_us: int, bound: int | None) -> bool:
        time_us = None if row is None else self.time_of(row)
        return time_us is not None and bound is not None and time_us + lasts_us < bound

    def _left_out(
        self,
        change: Change,
        before: Row | None,
        after: Row | None,
        watermark: int | None,
        bound: int | None,
        counters: Counter[str],
    ) -> bool:
        time_us = None if after is None else self.time_of(after)
        if after is not None and time_us is None:
            told = self.merge.columns_of(change).keys()
            unplaced = self._lasting is not None and before is None and not self._timed <= told
            counters["event_without_time"] += 1
            return unplaced
        told_us = None if change.snapshot else time_us
        if told_us is not None and self.arrivals.left_out(change, told_us, watermark, counters):
            return True
        if self._lasting is None:
            return False
        row = before if after is None else after
        too_late = self._is_past(row, self._lasting.counts_us, bound)
        counters["too_late"] += too_late
        return too_late

    def _keep_apart(self, key: Key, former: KeptRow | None, standing: KeptRow) -> None:
        """Keep a forgotten row beside what has its key now, a root until another is seen."""
        if self._is_near and former is not None:
            self._add_former(key, former)
        if not self._is_root:
            return
        if former is not None and self._is_seen(former.row):
            self._former_roots[key] = former
        if self._is_seen(standing.row) and self._former_roots.pop(key, None) is not None:
            self._anew.add(key)

    def _is_seen(self, row: Row | None) -> bool:
        """Return whether there is a row that products see."""
        return row is not None and self._times.visible(self._times.derived(row))

    def roots(self) -> list[Row]:
        """Return the row of each key, or the forgotten one that has no other in its place yet."""
        kept = [each for key, each in self.standing.items() if len(key) == self._key_size]
        rows = (each.row for each in (*kept, *self._former_roots.values()))
        whole = [self._times.derived(row) for row in rows if row is not None]
        return [row for row in whole if self._times.visible(row)]

    def forget(self, horizon: int) -> list[Key]:
        """Let the rows go that are over; return the keys of roots among them."""
        assert self._lasting is not None  # as the product forgets
        over = horizon - self._lasting.kept_us
        gone = [key for key in self._over(self.standing, over) if len(key) == self._key_size]
        if self._is_near:
            for key in gone:
                self._add_former(key, self.standing[key])
        apart = self._over(self.standing, horizon - self._held_us)
        if left := [*gone, *(key for key in apart if len(key) > self._key_size)]:
            self.leave(left)
        former = self._over(self._former_roots, over)
        for key in former:
            del self._former_roots[key]
        return [*gone, *former]

    def _add_former(self, key: Key, row: KeptRow) -> None:
        """Keep a row for the roots that have it, but for none of its key's changes."""
        self._former += 1
        self.standing[(*key, self._former)] = row

    def _over(self, kept: Mapping[Key, KeptRow], over: int) -> list[Key]:
        """Return the keys of rows whose time is below one."""
        rows = {key: each.row for key, each in kept.items() if each.row is not None}
        times = {key: self.time_of(row) for key, row in rows.items()}
        return [key for key, time_us in times.items() if time_us is not None and time_us < over]


def _lifetimes(meeting: tuple[int, int], time_us: int) -> Sequence[Bounds]:
    before_us, after_us = meeting
    return ((time_us - before_us, time_us + after_us + 1),)


def judged_tables(products: Sequence[Product]) -> Mapping[str, JudgedTables]:
    """Return those of each product that has any, by its name."""
    forms = {each.name: (each, each.form) for each in products}
    return {
        name: JudgedTables(product, form)
        for name, (product, form) in forms.items()
        if isinstance(form, DocumentForm) and judged_relations(form)
    }
