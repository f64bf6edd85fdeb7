"""What a batch did is put together from its summary and what its sinks made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.delivery.batches import row

from joinery.sinks.protocol import Refusal, Written
from joinery.spark.batch.tally import BatchTally

SUMMARY: dict[str, Any] = {
    "relations": {"order": {"read": 5}},
    "documents": {"page": {"upserts": 3, "tombstones": 1}, "card": {"upserts": 2}},
    "counters": {"page": {"refused": 1}, "card": {}},
}


def test_a_batch_is_told_with_what_its_sinks_made_of_it(tmp_path: Path) -> None:
    (tmp_path / "letters.jsonl").write_text("one\ntwo\n")
    tally = BatchTally(SUMMARY)
    tally.add("page", Written(refused=(Refusal(row(1, 7), "document_refused", "no"),), by_tasks=3))
    tally.add("card", Written(older=2))

    told = tally.progress(
        "shop",
        4,
        sinks={"page": 2, "card": 1, "quiet": 1},
        lost={"order": 6, "visit": 1},
        dead=[tmp_path / "letters.jsonl"],
        times=(10.0, 12.0, 12.5),
        sinks_ms={"files out": 500},
        event_times={},
    )

    assert ("shop", 4, 2, 2.5) == (told.query, told.batch_id, told.dead, told.seconds)
    assert {"stage": 2000, "sinks": 500} == told.durations_ms
    assert {"page": {"refused": 2}, "card": {"older": 2}} == told.counters
    assert {"page": 5, "card": 2, "quiet": 0} == told.through_driver
    assert {"order": {"read": 5, "lost": 6}, "visit": {"lost": 1}} == told.relations
    assert {"refused": 1} == SUMMARY["counters"]["page"], "the summary is left as it is"
