"""A batch through a store: changes decoded by the kernel, documents by the store's solution.

What it stages is what the kernel stages for `spark-state`: lines by product, dead letters,
counts.

Invariant: a batch that runs again after its store acknowledged it stages the same.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from joinery.delivery.held_row import told_line
from joinery.plan.product import Product
from joinery.semantics.document import text_hash
from joinery.solutions.stored.groups import key_text
from joinery.solutions.stored.reading import not_collecting
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    Emitted,
)
from joinery.spark.batch.store_thread import StoreThread
from joinery.spark.source.feed import ChangeFeed
from joinery.spark.source.source import BatchLabel, Topic, batch_time_us

if TYPE_CHECKING:
    from joinery.spark.real_time.uncommitted import PendingRoots


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORGET_EVERY = 100
_COUNTERS = {"tombstones_ignored": "tombstones"}
_UNTOLD = "applied"
_PART = "part-00000.jsonl"
Counts = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True, slots=True)
class StoreKernel:
    """The kernel of one query whose join state is in a store.

    Attributes:
        feed: Decodes records.
        store: Turns changes into documents.
        products: Of the query.
        checkpoint: Of the query.
        retention_us: How long deletes are remembered.
    """

    feed: ChangeFeed
    store: StoreThread
    products: Sequence[Product]
    checkpoint: Path
    retention_us: int

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return the decoded changes; to be given to `stage`."""
        return self.feed.chain(raw, topics, pending)

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> Mapping[str, Any]:
        """Run a batch once, through the store, and write what sinks receive below `folder`."""
        if label is None:
            raise ValueError("a store must know which batch it is given")
        counts: Counts = self.feed.stage(batch, folder)
        time_us = batch_time_us(self.checkpoint, label.number)
        at = Batch(label.query_id, label.number, label.epoch, time_us)
        with not_collecting():
            outcome = self.store.apply(self.feed.changes(folder), at)
            write_outcome(outcome, self.products, folder, time_us=time_us)
        if label.number % _FORGET_EVERY == _FORGET_EVERY - 1:
            self.store.forget(time_us - self.retention_us)
        return {**counted(counts, outcome, folder), "store": dict(outcome.usage)}


def write_outcome(
    outcome: BatchResult, products: Sequence[Product], folder: Path, *, time_us: int
) -> None:
    """Write documents as lines of the files sink, a folder per product, and dead letters.

    Args:
        outcome: What a batch gave.
        products: Those of the query.
        folder: Where the batch is staged.
        time_us: The time of the batch, which is that of its dead letters.
    """
    letters: list[str] = []
    at = (_EPOCH + timedelta(microseconds=time_us)).isoformat().replace("+00:00", "Z")
    for product in products:
        emitted = outcome.emitted.get(product.name, Emitted())
        text, before = key_text(product), emitted.before
        if emitted.documents:
            _write(
                folder / product.name / _PART,
                (
                    told_line(
                        f'{{"key":{text(key)},'
                        f'"value":{sent.text or "null"},"version":{sent.version}}}\n',
                        before.get(key),
                        text_hash(sent.text) if before else None,
                    )
                    for key, sent in emitted.documents.items()
                ),
            )
        for key, (reason, detail) in emitted.dead.items():
            told = {"reason": reason, "detail": detail, "time": at, "product": product.name}
            told["key"] = text(key)
            letters.append(json.dumps(told, ensure_ascii=False) + "\n")
    if letters:
        _write(folder / "dead_letters" / "part-store.jsonl", letters)


def counted(counts: Counts, outcome: BatchResult, folder: Path) -> Counts:
    """Return the feed's counts with those of the store, whose lines are below `folder`."""
    documents = {
        name: {
            "upserts": sum(each.text is not None for each in emitted.documents.values()),
            "tombstones": sum(each.text is None for each in emitted.documents.values()),
            "bytes": (folder / name / _PART).stat().st_size,
        }
        for name, emitted in outcome.emitted.items()
        if emitted.documents
    }
    relations = {name: dict(each) for name, each in counts.get("relations", {}).items()}
    for name, told in outcome.relations.items():
        mine = relations.setdefault(name, {})
        for counter, count in told.items():
            if counter != _UNTOLD:
                counter = _COUNTERS.get(counter, counter)
                mine[counter] = mine.get(counter, 0) + count
    counters = {name: dict(each) for name, each in outcome.counters.items()}
    return {**counts, "documents": documents, "relations": relations, "counters": counters}


def _write(file: Path, lines: Iterable[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="\n") as text:
        text.writelines(lines)
