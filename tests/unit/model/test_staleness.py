"""Nearly all changes of a relation are stale, or some are."""

from __future__ import annotations

from joinery.model.batch import BatchProgress, Counts
from joinery.model.progress import Progress
from joinery.model.staleness import Staleness


def batch(number: int, **counts: int) -> BatchProgress:
    relations: dict[str, Counts] = {"user": counts}
    return BatchProgress(
        query="profile",
        batch_id=number,
        relations=relations,
        documents={},
        counters={},
        dead=0,
        seconds=1.0,
        ended_at=0.0,
    )


def nearly_all(*batches: BatchProgress) -> list[bool]:
    """Return, after each batch, whether nearly all changes are stale."""
    progress, found = Progress(), []
    for each in batches:
        progress = progress.plus(each)
        found.append(progress.staleness["user"].nearly_all)
    return found


def test_some_stale_changes_are_as_they_should_be() -> None:
    assert [False, False] == nearly_all(batch(0, read=1000, stale=500), batch(1, read=20, stale=20))


def test_a_few_changes_tell_nothing_yet() -> None:
    assert [False, True] == nearly_all(batch(0, read=30, stale=30), batch(1, read=30, stale=30))


def test_a_long_good_history_does_not_hide_that_positions_began_anew() -> None:
    history = batch(0, read=10_000_000)

    found = nearly_all(history, *(batch(number, read=60, stale=60) for number in range(1, 12)))

    assert (False, True) == (found[0], found[-1])


def test_tombstones_and_dead_letters_are_not_counted_as_applied() -> None:
    assert [True] == nearly_all(batch(0, read=150, stale=60, tombstones=60, dead=30))


def test_real_time_hears_that_a_change_was_stale_after_it_was_read() -> None:
    assert [False, True] == nearly_all(batch(0, read=80), batch(1, stale=80))


def test_the_ratio_is_that_of_the_latest_changes() -> None:
    assert 0.0 == Staleness().ratio
    assert 0.25 == Staleness().plus(75, 25).ratio
    assert 1.0 == Staleness().plus(1000, 0).plus(0, 300).ratio
