"""Counts of a query that never ends reach the board as they grow."""

from __future__ import annotations

import threading
from pathlib import Path

from joinery.model.progress import BatchProgress
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.watermarks import QueryTimes
from joinery.spark.real_time.run import Counts, Ticker, since


def test_what_was_counted_between_two_tellings_is_their_difference() -> None:
    before: Counts = {"relations": {"user": {"read": 2, "dead": 1}}}
    now: Counts = {
        "relations": {"user": {"read": 5, "dead": 1}, "star": {"read": 1}},
        "documents": {"profile": {"upserts": 3}},
    }

    assert {
        "relations": {"user": {"read": 3}, "star": {"read": 1}},
        "documents": {"profile": {"upserts": 3}},
    } == since(before, now)


def test_nothing_new_is_nothing() -> None:
    counts: Counts = {"relations": {"user": {"read": 2}}}

    assert {} == since(counts, counts)


def test_a_ticker_tells_each_count_once_and_the_last_at_its_end(tmp_path: Path) -> None:
    told: list[BatchProgress] = []
    ticked = threading.Event()
    counts: dict[str, dict[str, dict[str, int]]] = {"relations": {"user": {"read": 2}}}

    def note(tick: BatchProgress) -> None:
        told.append(tick)
        if tick.read:
            ticked.set()

    times = QueryTimes((), checkpoint=tmp_path)
    ticker = Ticker(
        "profile",
        lambda: {name: dict(each) for name, each in counts.items()},
        times,
        ProgressBoard(note),
    )
    assert ticked.wait(30)
    counts["relations"] = {"user": {"read": 7}}
    counts["dead_letters"] = {"": {"count": 1}}
    ticker.close()

    assert [0, 2, 5] == [each.read for each in told]
    assert [0, 0, 1] == [each.dead for each in told]
    assert all(each.live for each in told)
