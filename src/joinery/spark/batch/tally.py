"""What a batch did, put together from its summary and from what the sinks made of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joinery.model.batch import BatchProgress, Counts, split_columns, with_ages
from joinery.model.watermark import EventTimes
from joinery.sinks.protocol import Written


class BatchTally:
    """Counts one batch.

    Args:
        summary: What the kernel told of it.
    """

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._summary = summary
        self._counters: dict[str, dict[str, int]] = {
            name: dict(each) for name, each in summary.get("counters", {}).items()
        }
        self._by_tasks = Counter[str]()

    @property
    def documents(self) -> Mapping[str, Counts]:
        """By product, the documents that were staged."""
        documents: Mapping[str, Counts] = self._summary.get("documents", {})
        return documents

    def add(self, product: str, written: Written) -> None:
        """Add what one sink made of a product's documents."""
        mine = self._counters.setdefault(product, {})
        for name, more in (("refused", len(written.refused)), ("older", written.older)):
            if more:
                mine[name] = mine.get(name, 0) + more
        self._by_tasks[product] += written.by_tasks

    def progress(
        self,
        query: str,
        batch_id: int,
        *,
        sinks: Mapping[str, int],
        lost: Counts,
        dead: Sequence[Path],
        times: tuple[float, float, float],
        sinks_ms: Counts,
        event_times: Mapping[str, EventTimes],
    ) -> BatchProgress:
        """Return what the batch did.

        Args:
            query: Its query.
            batch_id: Its number.
            sinks: How many each product has.
            lost: By relation, records that the log lost before the run.
            dead: The files of its dead letters.
            times: When it began, was staged and was sent, in seconds of one clock.
            sinks_ms: How long each target took.
            event_times: By relation with a watermark, how far its times have come.
        """
        summary, (started, staged, written) = self._summary, times
        relations, columns = split_columns(summary.get("relations", {}))
        return BatchProgress(
            query=query,
            batch_id=batch_id,
            relations=_with_lost(with_ages(relations, round(time.time() * 1000)), lost),
            columns=columns,
            documents=self.documents,
            counters={product: counts for product, counts in self._counters.items() if counts},
            costs=summary.get("costs", {}),
            keys=summary.get("keys", ()),
            dead=sum(_count_lines(part) for part in dead),
            store=summary.get("store", {}),
            seconds=written - started,
            ended_at=time.time(),
            durations_ms={
                "stage": round((staged - started) * 1000),
                "sinks": round((written - staged) * 1000),
            },
            sinks_ms=sinks_ms,
            lookups=summary.get("lookups", {}),
            event_times=event_times,
            through_driver=self._through_driver(sinks),
        )

    def _through_driver(self, sinks: Mapping[str, int]) -> Counts:
        """Return by product how many documents the driver wrote or held, once a sink."""
        return {
            name: _count(self.documents.get(name, {})) * number - self._by_tasks[name]
            for name, number in sinks.items()
        }


def _with_lost(relations: Mapping[str, Counts], lost: Counts) -> Mapping[str, Counts]:
    """Return the counts of relations with what the log lost."""
    return {**relations, **{name: {**relations.get(name, {}), "lost": lost[name]} for name in lost}}


def _count(documents: Counts) -> int:
    return documents.get("upserts", 0) + documents.get("tombstones", 0)


def _count_lines(part: Path) -> int:
    with part.open("rb") as lines:
        return sum(1 for _ in lines)
