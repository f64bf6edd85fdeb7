"""One batch through a store: rows read, roots found, rows written, documents assembled.

The steps, and why a batch that ended between two of them may run again, stand in
`joinery.solutions.stored.state`. A row that this batch has already written, on an earlier try, is
left as it is: its changes have been applied.

Limits: the rows of one batch, and those below `together` roots, are in memory at a time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from joinery.expression.order import is_ordered_itself, row_key
from joinery.model.change import Change, Key, Row
from joinery.plan.aggregate import AggregateForm
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.row_key import key_reader, key_values
from joinery.semantics.rows import Findings
from joinery.slices import slices
from joinery.solutions.stored.before import RowsBefore
from joinery.solutions.stored.crew import Team
from joinery.solutions.stored.emit import Answer, Request, emit, joined
from joinery.solutions.stored.fold import Find
from joinery.solutions.stored.groups import GroupTactic, stored_root
from joinery.solutions.stored.reading import Metered, not_collecting
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    Emitted,
    JoinState,
    PortableState,
    SharedState,
    StoredRow,
    visible_row,
)
from joinery.solutions.stored.tactic import Image, RowTactic, Tactic

_ALONE = 2_000
_ROUNDS = 4  # slices for each of a team, so that none waits long for another


class StoreDriver:
    """Keeps the documents of `products` in a store.

    Args:
        products: They share a query, and the store.
        state: Where rows are kept; closed with the driver.
        max_document_bytes: Above it a document is a dead letter; None sets no bound.
        together: How many roots are assembled at a time.
        tactic: How the roots and the documents of a product with a root are found.
        team: Who makes documents beside this process, where `state` is a `SharedState` and
            `tactic` the `RowTactic`; closed with the driver.
        alone: The most roots of a batch that are not worth a team.
    """

    def __init__(
        self,
        products: Sequence[Product],
        state: JoinState,
        *,
        max_document_bytes: int | None = None,
        together: int = 10_000,
        tactic: Callable[[Product, int | None], Tactic] = RowTactic,
        team: Team | None = None,
        alone: int = _ALONE,
    ) -> None:
        relations = dict.fromkeys(each for product in products for each in product.relations)
        self._meter = Metered(state)
        self._state = self._meter.state
        self._lists = isinstance(state, PortableState)
        self._tables = {each.name: _Table(each) for each in relations}
        self._outlets = [
            _Outlet(each, _tactic_of(each, tactic, max_document_bytes)) for each in products
        ]
        tactics = (each.tactic for each in self._outlets)
        self._groups = [each for each in tactics if isinstance(each, GroupTactic)]
        self._together, self._team, self._alone = together, team, alone

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        """Apply a batch, or tell again what it sent if it was acknowledged before."""
        if self._state.begin(batch):
            return BatchResult(self._state.emitted(batch))
        with not_collecting():
            return self._apply(changes, batch)

    def _apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        state = self._state
        pending = state.pending()
        net = self._net(changes, batch.timestamp_us)
        for each in self._groups:
            net.add(each.members, each.memberships(net.images), batch.timestamp_us)
        roots = {
            each.name: each.tactic.roots(net.images, state) | set(pending.get(each.name, ()))
            for each in self._outlets
        }
        state.mark({name: keys for name, keys in roots.items() if keys})
        for relation, rows in net.rows.items():
            state.write(relation, rows)
        emitted = self._emitted(roots, batch.timestamp_us)
        counters = self._counters(net)
        state.acknowledge(batch, emitted)
        return BatchResult(emitted, net.counts, counters, self._meter.usage())

    @property
    def state(self) -> JoinState:
        """The store."""
        return self._state

    @property
    def portable(self) -> PortableState | None:
        """The store, where it tells all that it holds."""
        return cast(PortableState, self._state) if self._lists else None

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and documents that went, before a time."""
        self._state.forget(before_us)

    def close(self) -> None:
        """Close the store."""
        if self._team is not None:
            self._team.close()
        self._state.close()

    def _emitted(
        self, roots: Mapping[str, Collection[Key]], timestamp_us: int
    ) -> dict[str, Emitted]:
        """Return what sinks receive by product, in the order of the keys."""
        team, shared = self._team, None
        if sum(map(len, roots.values())) <= self._alone:
            team = None
        if team is not None:
            shared = cast(SharedState, self._state).share()
        outlets = {each.name: each for each in self._outlets}
        requests = [
            Request(name, keys, timestamp_us, shared, outlet.settles)
            for name, outlet in outlets.items()
            for keys in slices(outlet.ordered(roots[name]), self._size(roots[name], team))
        ]

        def here(request: Request) -> Answer:
            return outlets[request.product].answer(request, self._state)

        answers = (
            [here(each) for each in requests] if team is None else team.answers(requests, here)
        )
        parts: dict[str, list[Emitted]] = {name: [] for name in outlets}
        for request, answer in zip(requests, answers, strict=True):
            parts[request.product].append(answer.emitted)
            outlets[request.product].note(request, answer)
            self._meter.add(answer.usage)
        return {name: joined(some) for name, some in parts.items()}

    def _size(self, roots: Collection[Key], team: Team | None) -> int:
        """Return how many roots are assembled at a time."""
        if team is None:
            return self._together
        return max(1, min(self._together, len(roots) // (_ROUNDS * team.size)))

    def _net(self, changes: Sequence[Change], timestamp_us: int) -> _Net:
        """Return what the changes, one after the other, make of the stored rows."""
        net = _Net()
        for name, keyed in self._by_key(changes).items():
            stored = self._state.rows(name, keyed.keys())
            self._tables[name].net(keyed, stored, timestamp_us, net)
        return net

    def _by_key(self, changes: Sequence[Change]) -> Mapping[str, dict[Key, list[Change]]]:
        parted: dict[str, list[Change]] = {name: [] for name in self._tables}
        for change in changes:
            if change.relation in parted:
                parted[change.relation].append(change)
        return {name: self._tables[name].by_key(some) for name, some in parted.items() if some}

    def _counters(self, net: _Net) -> dict[str, Mapping[str, int]]:
        """Return the counters of the batch by product."""

        def before() -> Find:
            relations = [each.relation for each in self._tables.values()]
            relations += [each.members for each in self._groups]
            return RowsBefore(self._state, relations, net.images).matching

        counted = {
            each.name: each.tactic.counters(self._state.matching, before) for each in self._outlets
        }
        return {name: dict(each) for name, each in counted.items() if each}


@dataclass(slots=True)
class _Net:
    """What a batch makes of the stored rows, by relation."""

    rows: dict[str, dict[Key, StoredRow]] = field(default_factory=dict)
    images: dict[str, list[Image]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, members: Relation, images: Iterable[Image], timestamp_us: int) -> None:
        """Add memberships, to be written before the rows: only rows that change tell of them."""
        key_of, noted = key_reader(members), self.images[members.name]
        rows: dict[Key, StoredRow] = {}
        for old, new in images:
            noted.append((old, new))
            if old is None and new is not None:
                rows[key_of(new)] = StoredRow(new, True, None, False, timestamp_us)
            elif old is not None and new is None:
                rows[key_of(old)] = StoredRow(None, False, None, True, timestamp_us)
        self.rows = {members.name: rows, **self.rows}


class _Table:
    """One relation: its changes into its stored rows."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self._name = relation.name
        self._findings, self._began = Findings(), 0
        self._merge = RowMerge(relation, self._findings)
        self._key_of: Callable[[Row], Key] = key_reader(relation)

    def by_key(self, changes: Iterable[Change]) -> dict[Key, list[Change]]:
        """Return the changes of each key, in their order."""
        keyed: dict[Key, list[Change]] = {}
        key_of = self._key_of
        for change in changes:
            key = key_of(change.key)
            if (some := keyed.get(key)) is None:
                keyed[key] = [change]
            else:
                some.append(change)
        return keyed

    def net(
        self,
        keyed: Mapping[Key, Sequence[Change]],
        stored: Mapping[Key, StoredRow],
        timestamp_us: int,
        net: _Net,
    ) -> None:
        """Add what `keyed` changes make of `stored` rows to `net`."""
        rows, images = net.rows.setdefault(self._name, {}), net.images[self._name]
        apply, verdicts = self._merge.apply, list[str]()
        first, seen = self._first, 0
        for key, changes in keyed.items():
            old = stored.get(key)
            if old is None and len(changes) == 1 and changes[0].after is not None:
                new = rows[key] = first(changes[0], timestamp_us)
                images.append((None, new.row if new.visible else None))
                seen += 1
                if self._findings.failures:
                    self._count_failures(None)
                continue
            standing = _standing(old)
            applied = [apply(standing, change) for change in changes]
            verdicts += applied
            if old is not None and old.changed_us == timestamp_us:
                continue
            if "applied" not in applied and (
                self.relation.append or (old and old.after_delete == standing.after_delete)
            ):
                continue
            new = rows[key] = self._stored(standing, timestamp_us)
            images.append((visible_row(old), visible_row(new)))
            if self._findings.failures:
                self._count_failures(old)
        counts = net.counts.setdefault(self._name, Counter())
        counts.update(verdicts)
        if seen:
            counts["applied"] += seen
        if self._began:
            counts["expression_errors"], self._began = self._began, 0

    def _count_failures(self, old: StoredRow | None) -> None:
        """Count the expressions that failed over a new row, and did not over the old one."""
        failed = self._findings.taken().failures
        if failed and old is not None and old.row is not None:
            self._merge.visible(self._merge.derived(old.row))
            failed -= self._findings.taken().failures
        self._began += max(0, failed)

    def _first(self, change: Change, timestamp_us: int) -> StoredRow:
        """Return what the only change of a new key makes of it: most rows of a first load."""
        row = self._merge.first(change)
        visible = self._merge.visible(row)
        return StoredRow(row, visible, change.position, False, timestamp_us, change.place)

    def _stored(self, standing: KeptRow, timestamp_us: int) -> StoredRow:
        row = None if standing.row is None else self._merge.derived(standing.row)
        visible = row is not None and self._merge.visible(row)
        return StoredRow(
            row, visible, standing.position, standing.after_delete, timestamp_us, standing.place
        )


def _standing(stored: StoredRow | None) -> KeptRow:
    if stored is None:
        return KeptRow()
    return KeptRow(stored.row, stored.position, stored.after_delete, stored.place)


class _Outlet:
    """One product: from affected roots to what its sinks receive."""

    def __init__(self, product: Product, tactic: Tactic) -> None:
        self.name = product.name
        self.settles = product.settle_ms is not None
        self.tactic = tactic
        relation = stored_root(product).relation
        types = [relation.type_of(column) for column in relation.key]
        values, rank = key_values(relation), row_key([(each, False) for each in types])
        plain = all(map(is_ordered_itself, types))
        self._rank: Callable[[Key], Any] | None = None if plain else lambda key: rank(values(key))

    def ordered(self, roots: Iterable[Key]) -> list[Key]:
        """Return roots in the order of their keys."""
        return sorted(roots, key=self._rank)

    def answer(self, request: Request, state: JoinState) -> Answer:
        """Return what the documents of some roots came to."""
        return Answer(emit(request, self.tactic.documents(request.keys, state), state))

    def note(self, request: Request, answer: Answer) -> None:
        """Count what was found where an answer was made."""
        if isinstance(self.tactic, RowTactic):
            self.tactic.add(answer.findings, request.keys)


def _tactic_of(
    product: Product, tactic: Callable[[Product, int | None], Tactic], max_bytes: int | None
) -> Tactic:
    if isinstance(product.form, AggregateForm):
        return GroupTactic(product, product.form, max_bytes)
    return tactic(product, max_bytes)
