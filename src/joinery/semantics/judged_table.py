"""The rows that the intervals of one product compare in time, but for those that came too late.

A record is judged by the watermark of its partition before it, as those of groups are: one that is
left out, or too late, is as if not in the log. What is kept goes by the watermarks of all of the
product's logs together, as they were before the batch.

Invariant: a row is forgotten only once no record that still counts could meet it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial

from joinery.model.change import Change, Key, Row
from joinery.plan.lasting import Lasting, judged_relations, lasting_of, meeting_us
from joinery.plan.nodes import DocumentForm, Product, Relation
from joinery.semantics.arrivals import Arrivals
from joinery.semantics.lateness import in_log_order
from joinery.semantics.merge import KeptRow
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
            for change in in_log_order([each for each in batch if each.relation == name]):
                table.judge(change, now_us, self._horizon, counters)
            table.watermarks.end_batch(now_us)
        return counters

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
        self._lasting = lasting
        lifetimes = partial(_lifetimes, meeting_us(form, relation)) if form.waits else None
        self.arrivals = Arrivals(product, form.emit, self.watermarks, lifetimes)

    def judge(
        self, change: Change, now_us: int, horizon: int | None, counters: Counter[str]
    ) -> None:
        """Apply the next change of the log, unless it comes too late."""
        key = self.key_of(change)
        known = self.standing.get(key, KeptRow())
        standing, watermark = copy(known), self.watermarks.of(change)
        verdict = self.merge.apply(standing, change)
        self.note(change, now_us)
        counters[verdict] += 1
        if verdict == "applied" and self._left_out(
            change, known.row, standing.row, watermark, horizon, counters
        ):
            return
        self.standing[key] = standing

    def _left_out(
        self,
        change: Change,
        before: Row | None,
        after: Row | None,
        watermark: int | None,
        horizon: int | None,
        counters: Counter[str],
    ) -> bool:
        row = before if after is None else after
        time_us = None if row is None else self.time_of(row)
        if change.after is not None and not change.snapshot:
            if time_us is None:
                counters["event_without_time"] += 1
            elif self.arrivals.left_out(change, time_us, watermark, counters):
                return True
        told = (horizon,) if change.snapshot else (watermark, self.watermarks.relation, horizon)
        bound = max((each for each in told if each is not None), default=None)
        if self._lasting is None or time_us is None or bound is None:
            return False
        too_late = time_us + self._lasting.counts_us < bound
        counters["too_late"] += too_late
        return too_late

    def forget(self, horizon: int) -> list[Key]:
        """Forget the rows that are over; return their keys."""
        assert self._lasting is not None  # as the product forgets
        over = horizon - self._lasting.kept_us
        rows = {key: each.row for key, each in self.standing.items()}
        times = {key: self.time_of(row) for key, row in rows.items() if row is not None}
        gone = [key for key, time_us in times.items() if time_us is not None and time_us < over]
        if gone:
            self.leave(gone)
        return gone


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
