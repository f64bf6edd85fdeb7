"""What a run's progress says as text."""

from __future__ import annotations

from joinery.model.batch import BatchProgress
from joinery.model.progress import Progress, Waiting


def test_progress_prints_totals_each_product_and_what_is_waited_for() -> None:
    batch = BatchProgress(
        query="person",
        batch_id=0,
        relations={"user": {"read": 1200, "applied": 1200}},
        documents={"person": {"upserts": 1000, "tombstones": 20}},
        counters={},
        dead=0,
        seconds=1.0,
        ended_at=0.0,
    )
    waiting = Waiting(product="person", target="redis", reason="refused", attempts=1, since=0.0)

    progress = Progress().plus(batch).waits("redis", waiting)

    assert """\
1,200 changes read: 1,200 applied, 0 stale, 0 dead; 1,000 documents and 20 tombstones written \
in 1 batch
  product  documents  tombstones
  person       1,000          20
waiting for redis: refused""" == str(progress)


def test_what_logs_lose_during_a_run_is_added_to_what_they_had_lost_before() -> None:
    begun = Progress(relations={"user": {"read": 3, "lost": 1}})

    told = begun.losing({"user": 2, "order": 1})

    assert {"user": {"read": 3, "lost": 3}, "order": {"lost": 1}} == told.relations
