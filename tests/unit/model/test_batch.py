"""How old changes are, from sums that the kernel keeps in 64 bits."""

from __future__ import annotations

from joinery.model.batch import BatchProgress, with_ages

NOW_MS = 1_795_250_400_000


def test_a_sum_of_times_that_wrapped_gives_the_ages() -> None:
    changes = 12_000_000
    times = changes * (NOW_MS - 250)
    wrapped = (times + 2**63) % 2**64 - 2**63
    assert wrapped != times

    aged = with_ages({"user": {"timed": changes, "commit_times_ms": wrapped}}, NOW_MS)

    assert aged == {"user": {"timed": changes, "age_ms": changes * 250}}


def test_a_source_whose_clock_is_ahead_gives_no_negative_age() -> None:
    aged = with_ages({"user": {"timed": 1, "commit_times_ms": NOW_MS + 5}}, NOW_MS)

    assert aged["user"]["age_ms"] == 0


def test_freshness_is_the_mean_over_all_relations() -> None:
    told = {"user": {"timed": 1, "age_ms": 100}, "repo": {"timed": 3, "age_ms": 500}, "star": {}}
    batch = BatchProgress(
        query="q",
        batch_id=0,
        relations=told,
        documents={},
        counters={},
        dead=0,
        seconds=1.0,
        ended_at=0.0,
    )

    assert batch.freshness_ms == 150
