"""How far a run is: counts by relation and product, batch by batch and in total.

Invariant: every change read is counted once as applied, stale, repeated, ignored or dead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from joinery.model.audit import AuditProgress
from joinery.model.batch import BatchProgress, Counts
from joinery.model.frontier import SourceFrontier
from joinery.model.lookup import LookupProgress
from joinery.model.marks import KeptMarks
from joinery.model.staleness import Staleness
from joinery.model.warning import RunWarning
from joinery.text.columns import aligned
from joinery.text.figure import counted_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a run did so far, over all its queries."""

    read: int = 0
    applied: int = 0
    stale: int = 0
    dead: int = 0
    documents: int = 0
    tombstones: int = 0
    batches: int = 0

    def __str__(self) -> str:
        """Return what was done, as text.

        Example:
            >>> print(Totals(read=3, applied=2, dead=1, documents=2))
            3 changes read: 2 applied, 0 stale, 1 dead; 2 documents and 0 tombstones written
            >>> str(Totals(read=4, applied=2, dead=1, documents=1)).partition(";")[0]
            '4 changes read: 2 applied, 0 stale, 1 dead, 1 without effect'
        """
        idle = self.read - self.applied - self.stale - self.dead  # such as a tombstone
        return (
            f"{counted_text(self.read, 'change')} read: {self.applied:,} applied,"
            f" {self.stale:,} stale, {self.dead:,} dead"
            f"{f', {idle:,} without effect' if idle > 0 else ''};"
            f" {counted_text(self.documents, 'document')} and"
            f" {counted_text(self.tombstones, 'tombstone')} written"
        )

    def plus(self, batch: BatchProgress) -> Totals:
        """Return the totals with one more batch."""
        counts = batch.relations.values()
        return Totals(
            read=self.read + batch.read,
            applied=self.applied + sum(_applied(each) for each in counts),
            stale=self.stale + sum(each.get("stale", 0) for each in counts),
            dead=self.dead + batch.dead,
            documents=self.documents + _sum(batch.documents, "upserts"),
            tombstones=self.tombstones + _sum(batch.documents, "tombstones"),
            batches=self.batches + (0 if batch.live else 1),
        )

    def to_json(self) -> dict[str, int]:
        """Return the totals as one JSON object."""
        return {
            "read": self.read,
            "applied": self.applied,
            "stale": self.stale,
            "dead": self.dead,
            "documents": self.documents,
            "tombstones": self.tombstones,
            "batches": self.batches,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a run waits for before it can go on.

    Attributes:
        product: Whose documents wait, or the query; empty where `source` tells it.
        target: The sink's target, or the sources of a query.
        reason: Why it cannot be written, or read, now.
        attempts: How often it was tried.
        since: Seconds since 1970.
        grace_s: For how long a run counts as ready all the same.
        source: The source that is waited for, where all that read it wait.
    """

    product: str
    target: str
    reason: str
    attempts: int
    since: float
    grace_s: float = 30.0
    source: str = ""

    def is_of(self, names: Collection[str], sources: Collection[str]) -> bool:
        """Return whether it holds up one of these products or queries, or who reads a source."""
        return self.product in names or self.source in sources

    def to_json(self) -> dict[str, object]:
        """Return the wait as one JSON object, for machines."""
        return {
            "product": self.product,
            "target": self.target,
            "reason": self.reason,
            "attempts": self.attempts,
            "since": round(self.since, 3),
            "source": self.source,
            "silent": False,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A source of which nothing is heard, though the run reads all that its log has, and goes on.

    Attributes:
        source: Its name.
        reason: What is missing, in words.
        since: Seconds since 1970.
    """

    source: str
    reason: str
    since: float

    @property
    def target(self) -> str:
        """What is silent, for messages."""
        return silent_target(self.source)

    def to_json(self) -> dict[str, object]:
        """Return the silence as one JSON object, for machines: an event of what is waited for."""
        return {
            "product": "",
            "target": self.target,
            "reason": self.reason,
            "attempts": 1,
            "since": round(self.since, 3),
            "source": self.source,
            "silent": True,
        }


def silent_target(source: str) -> str:
    """Return what messages call a source of which nothing is heard."""
    return f'source "{source}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A run as it stands.

    Attributes:
        totals: Over the whole run.
        relations: By relation, the counts of the whole run.
        documents: By product, the counts of the whole run.
        counters: By product, what else was counted over the whole run.
        costs: By product, what its nodes took over the whole run.
        latest: By query, its last batch.
        waiting: By target, what is waited for now.
        silences: By target, the sources of which nothing is heard now.
        lookups: By stream and table, what lookups in stores did over the whole run.
        warnings: What someone should look at, each once.
        staleness: By relation, how many of its latest changes were stale.
        through_driver: By product, documents that the driver wrote or held, once a sink; those
            that tasks write do not pass it.
        partitions: By query, in how many its state is kept.
        ignored_bytes: By relation, what was added to its change files after they were seen.
        building: By query, the products that joined it and that its first batch is building.
        audits: By product and target, what comparing its documents has found.
        marks: By query, the earlier batches whose state is kept, where there are some.
        frontiers: By query, up to where everything of each of its sources is applied and sent.
    """

    totals: Totals = Totals()
    relations: Mapping[str, Counts] = field(default_factory=dict)
    documents: Mapping[str, Counts] = field(default_factory=dict)
    counters: Mapping[str, Counts] = field(default_factory=dict)
    latest: Mapping[str, BatchProgress] = field(default_factory=dict)
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    silences: Mapping[str, Silence] = field(default_factory=dict)
    lookups: Mapping[str, LookupProgress] = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()
    staleness: Mapping[str, Staleness] = field(default_factory=dict)
    through_driver: Counts = field(default_factory=dict)
    partitions: Counts = field(default_factory=dict)
    costs: Mapping[str, Counts] = field(default_factory=dict)
    ignored_bytes: Counts = field(default_factory=dict)
    building: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    audits: Mapping[tuple[str, str], AuditProgress] = field(default_factory=dict)
    marks: Mapping[str, KeptMarks] = field(default_factory=dict)
    frontiers: Mapping[str, tuple[SourceFrontier, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return it as text: the totals, what every product sent, what is waited for."""
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"{self.totals} in {counted_text(self.totals.batches, 'batch', 'batches')}"
        rows = [
            (f"  {name}", f"{counts.get('upserts', 0):,}", f"{counts.get('tombstones', 0):,}")
            for name, counts in self.documents.items()
        ]
        if rows:
            yield from aligned([("  product", "documents", "tombstones"), *rows], right=(1, 2))
        yield from (f"building {', '.join(each)}" for each in self.building.values())
        for target, waiting in self.waiting.items():
            yield f"waiting for {target}: {waiting.reason}"
        yield from (f"{each.target} is silent: {each.reason}" for each in self.silences.values())
        yield from (f"warning: {each}" for each in self.warnings)

    def plus(self, batch: BatchProgress) -> Progress:
        """Return the progress with one more batch."""
        return replace(
            self,
            staleness={**self.staleness, **self._staleness_after(batch)},
            totals=self.totals.plus(batch),
            relations=_added(self.relations, batch.relations),
            documents=_added(self.documents, batch.documents),
            counters=_added(self.counters, batch.counters),
            costs=_added(self.costs, batch.costs),
            latest={**self.latest, batch.query: batch},
            lookups={**self.lookups, **batch.lookups},
            through_driver=_summed(self.through_driver, batch.through_driver),
            building={name: each for name, each in self.building.items() if name != batch.query},
        )

    def waits(self, target: str, told: Waiting | Silence | None) -> Progress:
        """Return the progress with what is waited for, or silent; None where it is no more."""
        waiting = {name: each for name, each in self.waiting.items() if name != target}
        silences = {name: each for name, each in self.silences.items() if name != target}
        match told:
            case Waiting():
                waiting[target] = told
            case Silence():
                silences[target] = told
            case None:
                pass
        return replace(self, waiting=waiting, silences=silences)

    def audited(self, told: AuditProgress) -> Progress:
        """Return the progress with what comparing documents has found by now."""
        return replace(self, audits={**self.audits, (told.product, told.target): told})

    def losing(self, lost: Counts) -> Progress:
        """Return the progress with records that logs lost, by relation."""
        counts = {name: {"lost": count} for name, count in lost.items()}
        return replace(self, relations=_added(self.relations, counts))

    def _staleness_after(self, batch: BatchProgress) -> dict[str, Staleness]:
        return {
            name: self.staleness.get(name, Staleness()).plus(
                _applied(counts), counts.get("stale", 0)
            )
            for name, counts in batch.relations.items()
        }

    def timed(self, batch: BatchProgress) -> Progress:
        """Return the progress with a batch it has counted, now that its times are known."""
        latest = self.latest.get(batch.query)
        if latest is None or latest.batch_id != batch.batch_id:
            return self
        return replace(self, latest={**self.latest, batch.query: batch})


def _applied(counts: Counts) -> int:
    not_applied = (
        "stale",
        "repeated",
        "tombstones",
        "tombstones_without_key",
        "ignored_messages",
        "dead",
    )
    rest = counts.get("read", 0) - sum(counts.get(each, 0) for each in not_applied)
    return counts.get("applied", rest)


def _sum(products: Mapping[str, Counts], name: str) -> int:
    return sum(each.get(name, 0) for each in products.values())


def _summed(first: Counts, second: Counts) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def _added(first: Mapping[str, Counts], second: Mapping[str, Counts]) -> dict[str, dict[str, int]]:
    added = {name: dict(counts) for name, counts in first.items()}
    for name, counts in second.items():
        standing = added.setdefault(name, {})
        for counter, count in counts.items():
            standing[counter] = standing.get(counter, 0) + count
    return added
